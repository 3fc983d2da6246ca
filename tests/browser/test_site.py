"""The built book, opened from its folder without a network: its labs run, and show what Python computes."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from driving import ROOT, letters, live_lab, page_names, plain, slide, until, words
from playwright.sync_api import expect

from bert_lab import PCG32, mlm_mask
from bert_lab.labs import AttentionLab, DrawMicroscope, MaskingLab, fates_of
from bert_lab.labs.base import inline_text
from bert_lab.wordpiece import book_tokenizer, special_ids

VERDICTS = {True: "fits", False: "does not fit", None: "note"}


def test_the_book_has_the_pages_that_its_sources_promise(book):
    assert sorted(path.name for path in book.glob("*.html")) == page_names()


@pytest.mark.parametrize("name", page_names())
def test_a_page_opens_without_a_network(site, name):
    page = site.open(name)
    assert page.title() and page.locator("h1:visible").count() == 1
    broken = "() => [...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)"
    assert page.evaluate(broken) == []
    assert page.locator("mjx-container").count() == page.locator(".math").count()


# ---- the masking lab


def masking_shown(lab) -> dict:
    return {
        "letters": letters(lab),
        "verdict": [words(t) for t in lab.locator("[role=status] li").all_inner_texts()],
    }


def masking_by_python(**settings) -> dict:
    """What the lab is to show, from mlm_mask itself and from the Python side of the lab."""
    lab = MaskingLab()
    for name, value in settings.items():
        setattr(lab, name, value)
    mask, row = lab.given["mask"], lab.given["row"]
    if lab.code == "mlm_mask":
        ids = np.array([row])
        special = ids < lab.given["specials"]
        inputs, labels = mlm_mask(ids, special, mask, lab.vocab, lab.p, PCG32(lab.seed), split=lab.split)
        first = fates_of(ids[0], special[0], inputs[0], labels[0], mask)
    else:
        first = lab.first_row().fates
    verdict = [words(f"{VERDICTS[fits]}: {text}") for fits, text in lab.summary()]
    return {"letters": list(first), "verdict": verdict}


def test_the_masking_lab_by_mouse(site):
    page = site.open("02_mask_at_the_right_rate.html")
    lab = live_lab(page, "Masking lab")
    until(page, lambda: masking_shown(lab), masking_by_python())
    lab.get_by_role("button", name="40%").click()
    until(page, lambda: masking_shown(lab), masking_by_python(p=0.4, fresh=True))
    expect(lab.get_by_role("button", name="40%")).to_have_attribute("aria-pressed", "true")
    slide(page, lab.get_by_label("p", exact=True), 0.7)
    p = float(lab.get_by_label("p", exact=True).input_value())
    assert 0.6 < p < 0.8
    until(page, lambda: masking_shown(lab), masking_by_python(p=p, fresh=True))
    lab.get_by_label("V", exact=True).select_option(label="40")
    lab.get_by_label("new masks in every batch").uncheck()
    until(page, lambda: masking_shown(lab), masking_by_python(p=p, vocab=40))
    lab.get_by_role("button", name="wrong", exact=False).first.click()
    name = lab.get_by_label("code").evaluate("menu => menu.selectedOptions[0].text").removeprefix("wrong: ")
    until(page, lambda: masking_shown(lab), masking_by_python(vocab=40, fresh=True, code=name))
    assert any(said.startswith("does not fit") for said in masking_shown(lab)["verdict"])


def test_the_masking_lab_by_keyboard(site):
    page = site.open("02_mask_at_the_right_rate.html")
    lab = live_lab(page, "Masking lab")
    lab.get_by_label("p", exact=True).focus()
    page.keyboard.press("Home")
    until(page, lambda: masking_shown(lab), masking_by_python(p=0.0))
    page.keyboard.press("ArrowRight")
    page.keyboard.press("PageUp")
    p = float(lab.get_by_label("p", exact=True).input_value())
    assert 0.01 < p < 0.5
    page.keyboard.press("Tab")  # the vocabulary
    page.keyboard.press("End")
    page.keyboard.press("Tab")  # the seed
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")  # the first handle of the split
    page.keyboard.press("ArrowLeft")
    until(
        page, lambda: masking_shown(lab), masking_by_python(p=p, vocab=30522, seed=7, split=(0.79, 0.11, 0.1))
    )


# ---- the draw microscope


def microscope_shown(lab) -> dict:
    rows = lab.locator("[role=status] tr").all_inner_texts()
    return {"letters": letters(lab), "rows": [words(row) for row in rows]}


def microscope_by_python(text: str, seed: int, p: float, step: int) -> dict:
    lab = DrawMicroscope(text, seed=seed, p=p, step=step)
    assert lab.step == step
    rows = [words(f"{name} {inline_text(said)}") for name, said in lab.current_rows()]
    return {"letters": list(lab.current_strip().fates), "rows": rows}


def test_the_microscope_by_mouse(site):
    page = site.open("01_mask_by_hand.html")
    lab = live_lab(page, "Draw microscope")
    text, seed = (lab.get_by_label(name).input_value() for name in ("sentence", "seed"))
    given = {"text": text, "seed": int(seed), "p": float(lab.get_by_label("p", exact=True).input_value())}
    start = int(lab.get_by_label("draw", exact=True).input_value())
    until(page, lambda: microscope_shown(lab), microscope_by_python(**given, step=start))
    for _ in range(4):
        lab.get_by_role("button", name="Next").click()
    until(page, lambda: microscope_shown(lab), microscope_by_python(**given, step=start + 4))
    lab.get_by_role("button", name="Back").click()
    until(page, lambda: microscope_shown(lab), microscope_by_python(**given, step=start + 3))
    slide(page, lab.get_by_label("draw", exact=True), 0.99)
    last = int(lab.get_by_label("draw", exact=True).get_attribute("max"))
    until(page, lambda: microscope_shown(lab), microscope_by_python(**given, step=last))


def test_the_microscope_by_keyboard_on_a_sentence_of_ones_own(site):
    page = site.open("01_mask_by_hand.html")
    lab = live_lab(page, "Draw microscope")
    lab.get_by_label("sentence").focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("Bright owls can't nap; the [MASK] 42 unbelievables hum")
    page.keyboard.press("Tab")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("12345678901234567890")  # more than a double holds exactly
    page.keyboard.press("Tab")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("0.5")
    page.keyboard.press("Enter")
    lab.get_by_label("draw", exact=True).focus()
    page.keyboard.press("End")
    last = int(lab.get_by_label("draw", exact=True).get_attribute("max"))
    text, seed = "Bright owls can't nap; the [MASK] 42 unbelievables hum", 12345678901234567890
    until(page, lambda: microscope_shown(lab), microscope_by_python(text, seed, 0.5, last))
    tok = book_tokenizer()
    ids = np.array(tok.encode(text))
    special = np.isin(ids, special_ids(tok))
    inputs, labels = mlm_mask(ids, special, tok.mask_id, tok.vocab_size, 0.5, PCG32(seed))
    assert microscope_shown(lab)["rows"][-2:] == [f"inputs {inputs.tolist()}", f"labels {labels.tolist()}"]
    assert letters(lab) == list(fates_of(ids, special, inputs, labels, tok.mask_id))


def test_what_is_being_typed_stays_while_the_lab_shows_another_value(site):
    page = site.open("01_mask_by_hand.html")
    lab = live_lab(page, "Draw microscope")
    seed, slider = lab.get_by_label("seed"), lab.get_by_label("draw", exact=True)
    seed.fill("8")
    # A value comes from elsewhere, as Python's do in JupyterLab, and the focus stays in the field.
    slider.evaluate("(input) => { input.value = 2; input.dispatchEvent(new Event('input')); }")
    until(page, lambda: microscope_shown(lab)["rows"][0].split(":")[0].split(" of ")[0], "draw 2")
    expect(seed).to_have_value("8")
    expect(seed).to_be_focused()
    page.keyboard.press("Enter")
    text, p = (lab.get_by_label(name, exact=True).input_value() for name in ("sentence", "p"))
    until(page, lambda: microscope_shown(lab), microscope_by_python(text, 8, float(p), 2))


def test_an_error_shows_in_the_lab_and_the_lab_stays_usable(site):
    page = site.open("01_mask_by_hand.html")
    lab = live_lab(page, "Draw microscope")
    before = microscope_shown(lab)
    for wrong, said in (("2", r"ValueError: p"), ("much", r"ValueError: p: expected a number, got 'much'")):
        lab.get_by_label("p", exact=True).fill(wrong)
        page.keyboard.press("Enter")
        expect(lab.get_by_role("alert")).to_have_text(re.compile(said))
        assert lab.locator(".bl-box").count() == 0, "a result of older values"
    lab.get_by_label("p", exact=True).fill("0.15")
    page.keyboard.press("Enter")
    expect(lab.locator(".bl-error")).to_be_empty()
    until(page, lambda: microscope_shown(lab), before)


# ---- the attention lab


def test_the_attention_lab_by_mouse_and_keyboard(site):
    """What it shows of a stored sentence is what the shipped model computes, to the digits that are shown."""
    page = site.open("05_read_both_ways.html")
    lab = live_lab(page, "Attention lab")
    choice = lab.get_by_label("sentence")
    choice.select_option(index=4)
    text = choice.locator("option").nth(4).inner_text()
    lab.get_by_role("radio", name="position 2,").check()
    lab.get_by_label("head", exact=True).focus()
    for key in ("Home", "ArrowRight"):
        page.keyboard.press(key)
    lab.get_by_label("layer", exact=True).focus()
    page.keyboard.press("End")
    expect(lab.locator(".bl-said")).to_contain_text("layer 3, head 1: position 2")
    by_python = AttentionLab(text=text, layer=3, head=1, token=2)
    digits = "table.bl-looks tbody tr td.bl-digits:nth-last-child({})"
    expect(lab.locator(digits.format(2))).to_have_count(len(by_python.tokens))
    weights = [float(text) for text in lab.locator(digits.format(2)).all_inner_texts()]
    assert np.abs(np.array(weights) - by_python.weights).max() < 0.0101  # stored and shown in hundredths
    with page.expect_download() as saved:
        lab.get_by_role("button", name="Save as PNG").click()
    assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG")


# ---- predictions


def predictions(page):
    return page.locator('.bert-lab-static[data-lab="prediction"]')


def test_a_prediction_by_keyboard_is_kept_and_can_be_answered_again(site):
    page = site.open("00_start_here.html")
    one = predictions(page).first
    state = json.loads(one.get_attribute("data-state"))
    expect(one.locator(".bl-truth")).to_be_empty()
    one.get_by_role("radio").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    status = one.get_by_role("status")
    verdict = "Right" if state["options"][1][0] == state["right"] else "Not so"
    expect(status).to_contain_text(verdict)
    told = words(status.inner_text())
    for choice, sentence in state["options"]:
        says = "is right" if choice == state["right"] else "is wrong"
        assert words(f"{inline_text(choice)} {says}: {inline_text(sentence)}") in told
    page.reload()
    expect(one.get_by_role("status")).to_contain_text(verdict)
    assert one.get_by_role("radio").nth(1).is_checked()
    one.get_by_role("button", name="Answer again").click()
    one.locator(".bl-choice", has_text=inline_text(state["right"])).click()
    one.get_by_role("button", name="Commit").click()
    expect(one.get_by_role("status")).to_contain_text("Right")


def test_predictions_of_a_page_do_not_disturb_each_other(site):
    page = site.open("00_start_here.html")
    for i in range(3):
        predictions(page).nth(i).get_by_role("radio").nth(i % 2).check()
    for i in range(3):
        one = predictions(page).nth(i)
        assert one.get_by_role("radio").nth(i % 2).is_checked()
        one.get_by_role("button", name="Commit").click()
        expect(one.get_by_role("status")).to_contain_text(re.compile("Right|Not so"))
    expect(predictions(page).nth(3).locator(".bl-truth")).to_be_empty()


# ---- search, pictures, print


def test_search_finds_a_word(site):
    page = site.open("index.html")
    page.keyboard.press("ControlOrMeta+k")
    page.keyboard.type("chi-square")
    page.keyboard.press("Enter")
    page.locator("#search-results a", has_text="Mask at the right rate").first.click()
    page.wait_for_url("**/02_mask_at_the_right_rate.html*")
    expect(page.locator("article h1")).to_contain_text("Mask at the right rate")
    # From a disk a page may not read others: the list of hits then comes without their first lines.
    site.errors = [error for error in site.errors if not re.search("CORS|ERR_FAILED|Failed to fetch", error)]


def old_pictures() -> list[tuple[str, str]]:
    """Labs that need JupyterLab: the chapter, and the words of the picture that is stored in it."""
    found = []
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", []):
                picture = "".join(output.get("data", {}).get("text/html", ""))
                if "Run this cell in JupyterLab to use it" in picture and "data-lab" not in picture:
                    found.append((path.stem, plain(picture)))
    return found


@pytest.mark.parametrize("chapter", sorted({chapter for chapter, _ in old_pictures()}))
def test_labs_that_need_jupyterlab_show_their_picture(site, chapter):
    page = site.open(f"{chapter}.html")
    shown = words(page.locator("main").inner_text())
    for name, picture in old_pictures():
        if name == chapter:
            assert picture in shown


CHAPTERS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("name", ["01_mask_by_hand", "02_mask_at_the_right_rate"])
def test_without_scripts_and_in_print_a_lab_is_a_picture(site, name):
    quiet = site.open(f"{name}.html", settle=False, java_script_enabled=False)
    pictures = quiet.locator(".bert-lab-static[data-lab]")
    assert pictures.count() > 1 and quiet.locator(".bl-lab").count() == 0
    said = [words(text) for text in pictures.all_inner_texts()]
    assert all(said)
    live = site.open(f"{name}.html")
    assert live.locator(".bl-live").count() == len(said)
    assert all(place.is_visible() for place in live.locator(".bl-live").all())
    assert not any(place.is_visible() for place in live.locator(".bl-static").all())
    live.emulate_media(media="print")
    assert not any(place.is_visible() for place in live.locator(".bl-live").all())
    assert [words(text) for text in live.locator(".bl-static").all_inner_texts()] == said
