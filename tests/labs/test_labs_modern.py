"""The ModernBERT lab: its numbers, what each control does, and what it shows when something breaks."""

import pytest

from bert_lab.beyond.modern import CHANGES, allowed, work
from bert_lab.labs import ModernLab
from bert_lab.labs import modern_lab as module

BASE, BOOK = module.SIZES


@pytest.fixture
def lab():
    lab = ModernLab()
    yield lab
    assert lab.error.value == ""


def test_what_it_starts_with(lab):
    assert (lab.changes, lab.size, lab.length) == (tuple(CHANGES), BASE, 512)
    assert (lab.window, lab.every, lab.narrow) == (128, 3, True)
    assert lab.as_text() == (
        "ModernBERT lab: base, 12 layers x 768, T = 512; RoPE, GeGLU narrowed to 2/3, pre-norm, no biases, "
        "local attention (window 128, one layer in 3 global)\n"
        "This one has 0.9954 times BERT's parameters, and does 0.9594 times its work at T = 512. Attention "
        "is 0.0797 of BERT's work and 0.0408 of this one's. In layers 1, 4, 7, 10 each position sees all "
        "512, in the 8 others from 65, at the ends, to 129.\n"
        "parameters                               BERT     this one\n"
        "  together                        109,514,298  109,015,866\n"
        "  words                            23,440,896   23,440,896\n"
        "  positions and types                 394,752            0\n"
        "  attention                        28,311,552   28,311,552\n"
        "  feed-forward                     56,623,104   56,623,104\n"
        "  head                                589,824      589,824\n"
        "  norms and biases                    154,170       50,490\n"
        "multiply-adds a token at T = 512         BERT     this one\n"
        "  together                        118,402,560  113,596,416\n"
        "  linear                           84,934,656   84,934,656\n"
        "  attention                         9,437,184    4,631,040\n"
        "  head                             24,030,720   24,030,720"
    )


def test_without_changes_it_is_bert(lab):
    for box in lab.boxes.values():
        box.value = False
    assert lab.changes == () and lab.configs[0] == lab.configs[1]
    assert lab.parameters[0] == lab.parameters[1] and lab.work[0] == lab.work[1]
    assert "no change: this is BERT" in lab.result.value and "no change" in lab.settings()
    assert "has 1.0000 times BERT's parameters, and does 1.0000 times its work" in lab.summary()
    assert "In every layer each position sees all 512." in lab.summary()
    assert ModernLab(()).as_html() == lab.as_html()


@pytest.mark.parametrize(
    ("change", "parameters", "work"),
    [
        ("rope", {"positions and types"}, set()),
        ("geglu", {"norms and biases"}, set()),  # of W1 and W3 together: two thirds of the width, twice
        ("pre_norm", set(), set()),  # one norm less in the first layer, one more at the end
        ("no_biases", {"norms and biases", "positions and types"}, set()),
        ("local", set(), {"attention"}),
    ],
)
def test_what_each_change_changes(change, parameters, work):
    lab = ModernLab((change,))
    for (bert, this), changed in ((lab.parameters, parameters), (lab.work, work)):
        assert {part for part in bert if bert[part] != this[part]} == changed
    assert f"<li>{module.LABELS[change]}: " in lab.result.value


def test_a_geglu_of_equal_width_costs_parameters_and_work(lab):
    narrow, at_equal_work = lab.parameters[1]["feed-forward"], lab.work[1]["linear"]
    lab.narrow_box.value = False
    assert lab.parameters[1]["feed-forward"] == narrow * 3 / 2
    assert lab.work[1]["linear"] == at_equal_work * 4 / 3
    assert "GeGLU at BERT's width" in lab.settings()
    assert not lab.narrow_box.disabled
    lab.boxes["geglu"].value = False
    assert lab.narrow_box.disabled and lab.parameters[1]["feed-forward"] == narrow


def test_local_attention_matters_when_the_text_is_long(lab):
    saved = []
    for length in module.LENGTHS:
        lab.length_slider.value = length
        bert, this = lab.work
        saved.append(1 - sum(this.values()) / sum(bert.values()))
        assert round(work(lab.configs[1], [length]) / length) == pytest.approx(sum(this.values()), abs=1)
    assert saved == sorted(saved) and saved[:3] == [0, 0, 0] and saved[-1] > 0.35
    assert lab.parameters[0]["positions and types"] == (8192 + 2) * 768  # the table has grown with T
    lab.length_slider.value = 16
    assert lab.parameters[0]["positions and types"] == (512 + 2) * 768


def test_the_window_and_the_layers_that_see_all(lab):
    lab.window_slider.value, lab.length_slider.value = 16, 16
    config = lab.configs[1]
    assert "in the 8 others from 9, at the ends, to 16." in lab.summary()
    seen = allowed(config, 1, 16).sum(1)
    assert (seen.min(), seen.max()) == (9, 16)
    lab.every_slider.value = 5
    assert "In layers 1, 6, 11 each position sees all 16, in the 9 others" in lab.summary()
    assert lab.result.value.count("local</span>") == 9 and lab.result.value.count("global</span>") == 3
    lab.every_slider.value = 1
    assert "In every layer each position sees all 16." in lab.summary()
    lab.boxes["local"].value = False
    assert lab.window_slider.disabled and lab.every_slider.disabled
    assert lab.result.value.count("global</span>") == 12


def test_the_squares_show_what_is_seen(lab):
    half = "polygon(0% 0%, 12.5% 0%, 100% 87.5%, 100% 100%, 87.5% 100%, 0% 12.5%)"  # 64 of 512
    assert lab.result.value.count(half) == 8
    assert lab.result.value.count("polygon(0% 0%, 100% 0%, 100% 0%, 100% 100%, 0% 100%, 0% 100%)") == 4
    assert (
        f'aria-label="Who sees whom, a square for each layer. {lab.attention_summary()}"' in lab.result.value
    )


def test_the_bars_of_a_block_share_a_scale(lab):
    assert "width:12.00em" in lab.result.value
    part = 12 * 9_437_184 / 118_402_560  # of attention in BERT's work
    assert f'9,437,184<span aria-hidden="true" style="display:block;height:.35em;width:{part:.2f}em' in (
        lab.result.value
    )


def test_the_other_size(lab):
    lab.size_menu.value, lab.length_slider.value = BOOK, 128
    assert lab.configs[0].d_model == 96 and lab.parameters[0]["words"] == 384_000
    assert ModernLab(size=BOOK, length=128).as_text() == lab.as_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"changes": ["alibi"]}, "changes: expected one of rope, geglu, .*, got 'alibi'"),
        ({"changes": [["rope"]]}, r"got \['rope'\]"),
        ({"size": "huge"}, "size: expected one of base, .*, got 'huge'"),
        ({"length": 100}, "length: expected one of 16, .*, got 100"),
        ({"window": 3}, "window: expected one of 4, .*, got 3"),
        ({"every": 7}, "every: expected one of 1, .*, got 7"),
        ({"narrow": None}, "narrow: expected one of True, False, got None"),
    ],
)
def test_what_it_refuses(arguments, said):
    with pytest.raises(ValueError, match=said):
        ModernLab(**arguments)


def test_what_a_notebook_stores_is_the_same_every_time(lab):
    bundle, other = lab._repr_mimebundle_(), ModernLab()._repr_mimebundle_()
    for kind in ("text/plain", "text/html"):
        assert bundle[kind] == other[kind]
    assert "<img" not in bundle["text/html"] and "<svg" not in bundle["text/html"]


def test_an_error_shows_inside_and_the_lab_goes_on(lab, monkeypatch):
    monkeypatch.setattr(module, "work_of", lambda *args: 1 / 0)
    lab.length_slider.value = 64
    assert "ZeroDivisionError" in lab.error.value
    assert "no answer" in lab.as_text() and "no answer" in lab.as_html()
    monkeypatch.undo()
    lab.length_slider.value = 32
    assert "at T = 32" in lab.summary()


def test_it_can_be_used_from_the_keyboard(lab):
    sliders = [lab.length_slider, lab.window_slider, lab.every_slider]
    controls = [*lab.boxes.values(), lab.narrow_box, lab.size_menu, *sliders]
    assert all(control.description and control.tabbable is not False for control in controls)
    assert not any(control.continuous_update for control in sliders)
