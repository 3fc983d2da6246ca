"""The other recipes: the shares they claim, the draws they make, and what sets their rows apart."""

import numpy as np
import pytest

from bert_lab import PCG32, ScriptedDraws, mlm_mask
from bert_lab.measuring.rates import chi_square, count_shown, exact_shares, pick_pmf
from bert_lab.measuring.recipes import WRONG, exact_count, four_matrices

RECIPES = [exact_count, four_matrices, *WRONG.values()]
CLS, SEP, MASK, V = 2, 3, 4, 40


def names(recipe):
    return getattr(recipe, "name", getattr(recipe, "__name__", None))


@pytest.fixture
def batch():
    """2000 rows of [CLS], 20 tokens, [SEP], [PAD]."""
    ids = np.tile(np.array([CLS, *range(5, 25), SEP, 0]), (2000, 1))
    return ids, np.isin(ids, (0, CLS, SEP))


@pytest.mark.parametrize("recipe", RECIPES, ids=names)
def test_only_candidates_change_and_labels_are_the_originals(recipe, batch):
    ids, special = batch
    before = ids.copy()
    inputs, labels = recipe(ids, special, MASK, V, 0.5, PCG32(1))
    picked = labels != -100
    assert (ids == before).all()
    assert inputs.dtype == labels.dtype == np.int64
    assert inputs.shape == labels.shape == ids.shape
    assert not (picked & special).any()
    assert (labels[picked] == ids[picked]).all()
    assert (inputs[~picked] == ids[~picked]).all()
    assert not np.shares_memory(inputs, ids)


@pytest.mark.parametrize("recipe", [exact_count, four_matrices], ids=names)
@pytest.mark.parametrize(
    "split", [(0.8, 0.1, 0.1), (0.3, 0.5, 0.2), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
)
def test_right_recipes_show_the_exact_shares(recipe, split, batch):
    ids, special = batch
    inputs, labels = recipe(ids, special, MASK, V, 0.15, PCG32(2), split=split)
    counts = count_shown(inputs, labels, MASK)
    assert abs(counts.sum() - 6000) < 4 * np.sqrt(6000 * 0.85)
    assert chi_square(counts, exact_shares(V, split)).p_value > 0.001


@pytest.mark.parametrize("recipe", WRONG.values(), ids=names)
def test_wrong_recipes_show_the_shares_they_are_called_after(recipe):
    ids = np.full((400, 100), 7)
    inputs, labels = recipe(ids, np.zeros_like(ids), MASK, V, 1.0, PCG32(3))
    counts = count_shown(inputs, labels, MASK)
    shares = [int(part) / 100 for part in recipe.name.split("/")]
    assert recipe.shares() == pytest.approx(shares)
    assert chi_square(counts, exact_shares(V, shares)).p_value > 0.001
    assert chi_square(counts, exact_shares(V)).p_value < 0.001


@pytest.mark.parametrize("split", [(0.8, 0.1, 0.1), (0.5, 0.3, 0.2), (1.0, 0.0, 0.0)])
def test_wrong_shares_follow_from_the_coins_in_their_story(split):
    # Play each story with two coins a pick, as its code did.
    m, r, _ = split
    first, second = np.random.default_rng(7).random((2, 200_000))
    played = {
        "80/2/18": np.where(first < m, 0, np.where(second < r, 1, 2)),
        "90/1/9": np.where(second < m + r, 0, np.where(first < r, 1, 2)),
        "81/10/9": np.where(first < r, 1, np.where(second < m + r, 0, 2)),
    }
    for name, actions in played.items():
        shares = WRONG[name].shares(split)
        assert sum(shares) == pytest.approx(1, abs=1e-12)
        assert np.bincount(actions, minlength=3) / 200_000 == pytest.approx(shares, abs=0.005)


def test_each_wrong_recipe_says_where_it_was_seen():
    assert list(WRONG) == ["80/2/18", "90/1/9", "81/10/9"]
    assert all(recipe.story and "#" in recipe.source for recipe in WRONG.values())


def test_exact_count_picks_the_same_number_in_every_row(batch):
    ids, special = batch
    for p, count in ((0.15, 3), (0.0, 1), (0.01, 1), (1.0, 20)):
        labels = exact_count(ids, special, MASK, V, p, PCG32(4))[1]
        assert set((labels != -100).sum(axis=1).tolist()) == {count}


def test_exact_count_picks_every_candidate_equally_often(batch):
    ids, special = batch
    labels = exact_count(ids, special, MASK, V, 0.15, PCG32(5))[1]
    times = (labels != -100).sum(axis=0)[1:21]
    assert chi_square(times, np.full(20, 0.05)).p_value > 0.001


def test_exact_count_draws_by_hand():
    # Candidates 1, 2, 3. The shuffle draws below(3) = 0, below(2) = 1: it leaves 3, 2, 1. Then one action.
    class Scripted(PCG32):
        def __init__(self, uniforms, belows):
            super().__init__(0)
            self.script = ScriptedDraws(uniforms, belows)

        def uniform(self):
            return self.script.uniform()

        def below(self, n):
            return self.script.below(n)

    rng = Scripted([0.85], [0, 1, 9])
    inputs, labels = exact_count([2, 5, 6, 7, 3], [1, 0, 0, 0, 1], MASK, V, 0.15, rng)
    rng.script.finish()
    assert rng.script.calls[:2] == [("below", 3, 0), ("below", 2, 1)]
    assert inputs.tolist() == [2, 5, 6, 9, 3]
    assert labels.tolist() == [-100, -100, -100, 7, -100]


def test_exact_count_of_rows_without_candidates_and_of_no_rows():
    rng = PCG32(6)
    inputs, labels = exact_count([[2, 3]], [[1, 1]], MASK, V, 1.0, rng)
    assert inputs.tolist() == [[2, 3]] and labels.tolist() == [[-100, -100]]
    assert rng == PCG32(6)  # nothing was drawn
    assert exact_count(np.zeros((3, 0), int), np.zeros((3, 0)), MASK, V, 0.5, rng)[0].shape == (3, 0)
    assert (
        exact_count(np.array(5), np.array(0), MASK, V, 0.5, rng)[1].tolist() == 5
    )  # a single token is a row


def test_four_matrices_always_makes_four_draws_a_position(batch):
    ids, special = batch
    for p in (0.0, 0.15, 1.0):
        rng, other = PCG32(8), PCG32(8)
        four_matrices(ids, special, MASK, V, p, rng)
        other.advance(4 * ids.size)
        assert rng == other


def test_four_matrices_draw_by_draw():
    ids, special = np.array([[2, 5, 6], [7, 8, 3]]), np.array([[1, 0, 0], [0, 0, 1]])
    inputs, labels = four_matrices(ids, special, MASK, V, 0.6, PCG32(9))
    raws = PCG32(9).block(24).reshape(4, 2, 3)
    u = raws * 2.0**-32
    for t in np.ndindex(ids.shape):
        picked = not special[t] and u[0][t] < 0.6
        assert labels[t] == (ids[t] if picked else -100)
        shown = ids[t]
        if picked and u[1][t] < 0.8:
            shown = MASK
        elif picked and u[2][t] < 0.5:  # half of the remaining fifth
            shown = raws[3][t] % V
        assert inputs[t] == shown


def test_same_share_of_picks_other_rows(batch):
    ids, special = batch
    picks = {
        names(recipe): (recipe(ids, special, MASK, V, 0.15, PCG32(10))[1] != -100).sum(axis=1)
        for recipe in (mlm_mask, exact_count, four_matrices)
    }
    assert picks["exact_count"].var() == 0
    for name in ("mlm_mask", "four_matrices"):
        assert picks[name].var() == pytest.approx(20 * 0.15 * 0.85, rel=0.15)
        assert (picks[name] == 0).mean() == pytest.approx(pick_pmf(20, 0.15)[0], abs=0.02)


@pytest.mark.parametrize("recipe", RECIPES, ids=names)
def test_bad_arguments_are_refused_as_mlm_mask_does(recipe):
    good = {
        "ids": [[2, 5]],
        "special_mask": [[1, 0]],
        "mask_id": MASK,
        "vocab": V,
        "p": 0.15,
        "rng": PCG32(1),
    }
    bad = {
        TypeError: [{"ids": [[2.0, 5.0]]}, {"p": True}, {"rng": None}, {"mask_id": 4.0}, {"split": 0.8}],
        ValueError: [
            {"ids": [[2, 40]]},
            {"special_mask": [1, 0]},
            {"mask_id": 40},
            {"p": 15},
            {"vocab": 0},
            {"split": (0.8, 0.1, 0.2)},
        ],
    }
    for error, cases in bad.items():
        for case in cases:
            with pytest.raises(error, match="expected"):
                recipe(**(good | case))
    assert good["rng"] == PCG32(1)  # a refused call draws nothing


@pytest.mark.parametrize("recipe", [exact_count, four_matrices], ids=names)
def test_other_generators_are_refused(recipe):
    with pytest.raises(TypeError, match="expected a PCG32, got ScriptedDraws"):
        recipe([5], [0], MASK, V, 0.15, ScriptedDraws())
