"""JupyterLab as a reader has it: the start page, the chapters, each lab by mouse and by keyboard."""

import json

import numpy as np
import pytest
from driving import Lab, letters, live_lab, plain, slide, until, words, words_in
from playwright.sync_api import expect

from bert_lab import PCG32, labs, mlm_mask
from bert_lab.cli.copy_book import copy_book
from bert_lab.labs.base import inline_text
from bert_lab.training.shipped import manual_bert


def shown_by(lab) -> list[str]:
    """What the text parts of a lab of ipywidgets say, without its header."""

    def texts(widget):
        for child in getattr(widget, "children", ()):
            yield from texts(child)
        if type(widget).__name__ == "HTML":
            yield plain(widget.value)

    header, *parts = texts(lab)
    assert lab.title.split()[0] in header
    return [part for part in parts if part]


def shown_in(old_lab) -> list[str]:
    """The same of a lab in the browser."""
    return [part for part in words_in(old_lab.locator(".widget-html-content"))[1:] if part]


def agrees(notebook, old_lab, by_python) -> None:
    until(notebook.page, lambda: shown_in(old_lab), shown_by(by_python))
    assert not old_lab.get_by_role("alert").count()


def press(notebook, control, *keys: str) -> None:
    control.focus()
    for key in keys:
        notebook.page.keyboard.press(key)


# ---- the start page


def test_make_lab_opens_the_start_page_as_it_is_meant_to_be_read(browser, tmp_path):
    copy_book(tmp_path / "book")
    server = Lab(tmp_path)
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(server.url)
        page.wait_for_url("**/tree/00_start_here.ipynb")
        expect(page.get_by_role("heading", name="Start here")).to_be_visible()
        expect(page.get_by_role("tab", name="00_start_here.ipynb")).to_be_visible()
        expect(page.locator(".jp-RenderedHTMLCommon table").first).to_be_visible()
        assert page.locator(".jp-Toast, .Toastify__toast, .jp-Dialog, .jp-Launcher").count() == 0
        # Its links open pages as they are meant to be read, too.
        page.get_by_role("link", name="the masking contract").first.click()
        expect(page.locator(".jp-MarkdownViewer").get_by_role("heading", level=1)).to_be_visible()
        page.get_by_role("tab", name="00_start_here.ipynb").click()
        page.get_by_role("link", name="01 Mask by hand").first.click()
        expect(page.get_by_role("heading", name="Mask by hand")).to_be_visible()
    finally:
        context.close()
        server.close()


# ---- labs with one view for both places: in Jupyter the view is tied to Python


def test_the_masking_lab_is_tied_to_python(notebook):
    ours = notebook(
        "masking.ipynb",
        "from bert_lab.labs import MaskingLab\nlab = MaskingLab()\nlab",
        "lab.seed = 7; lab.vocab = 40",
        "import json\nrows = [array[:64].tolist() for array in (lab.ids, lab.labels, lab.inputs)]\n"
        "print(json.dumps([lab.p, lab.seed, lab.vocab, *rows, lab.summary()]))",
        "def broken(): raise RuntimeError('out of order')\nlab.draw = broken\nlab.refresh()",
        "del lab.draw",
        "lab.batches = 3",
    )
    ours.run(0)
    lab = live_lab(ours.page, "Masking lab")
    expect(lab.get_by_label("seed")).to_have_value("1")
    ours.run(1)  # a cell sets, the controls move
    expect(lab.get_by_label("seed")).to_have_value("7")
    expect(lab.get_by_label("V", exact=True).locator("option:checked")).to_have_text("40")
    press(ours, lab.get_by_label("seed"), "ArrowRight", "ArrowRight")  # the controls move, Python knows
    slide(ours.page, lab.get_by_label("p", exact=True), 0.6)
    p = float(lab.get_by_label("p", exact=True).input_value())
    assert 0.5 < p < 0.7
    until(ours.page, lambda: json.loads(ours.run(2))[:3], [p, 9, 40])
    *_, ids, labels, inputs, said = json.loads(ours.run(2))
    special = np.array(ids) < 5
    ours_inputs, ours_labels = mlm_mask(np.array(ids), special, 4, 40, p, PCG32(9))
    assert (ours_labels.tolist(), ours_inputs.tolist()) == (labels, inputs)
    until(ours.page, lambda: letters(lab), list(labs.fates_of(ids[0], special[0], inputs[0], labels[0], 4)))
    kinds = {True: "fits", False: "does not fit", None: "note"}
    verdict = [words(f"{kinds[fits]}: {text}") for fits, text in said]
    assert [words(text) for text in lab.locator("[role=status] li").all_inner_texts()] == verdict
    # Python's error shows in the lab, which stays usable.
    ours.run(3)
    expect(lab.get_by_role("alert")).to_have_text("RuntimeError: out of order")
    ours.run(4)
    press(ours, lab.get_by_label("seed"), "Home")
    expect(lab.locator(".bl-error")).to_be_empty()
    ours.run(5)
    expect(lab.get_by_label("batches")).to_have_value("3")
    assert json.loads(ours.run(2))[:2] == [p, 0]


def test_the_microscope_is_tied_to_python(notebook):
    ours = notebook(
        "microscope.ipynb",
        "from bert_lab.labs import DrawMicroscope\nlab = DrawMicroscope('a small test', seed=3, p=0.5)\nlab",
        "lab.step = 2",
        "import json; print(json.dumps([lab.text, lab.seed, lab.p, lab.step, lab.inputs, lab.labels]))",
    )
    ours.run(0)
    lab = live_lab(ours.page, "Draw microscope")
    ours.run(1)
    expect(lab.get_by_label("draw", exact=True)).to_have_value("2")
    lab.get_by_role("button", name="Next").click()
    expect(lab.get_by_label("draw", exact=True)).to_have_value("3")
    lab.get_by_label("sentence").fill("déjà vu, the naïve owl")  # letters that Python alone can split
    press(ours, lab.get_by_label("sentence"), "Enter")
    press(ours, lab.get_by_label("seed"), "ControlOrMeta+a", "8", "Enter")
    by_python = labs.DrawMicroscope("déjà vu, the naïve owl", seed=8, p=0.5)
    expect(lab.locator(".bl-box")).to_have_count(len(by_python.tokens))
    press(ours, lab.get_by_label("draw", exact=True), "End")
    by_python.step = len(by_python.steps)
    rows = [words(f"{name} {inline_text(said)}") for name, said in by_python.current_rows()]
    shown = lab.locator("[role=status] tr")
    until(ours.page, lambda: [words(text) for text in shown.all_inner_texts()], rows)
    assert letters(lab) == list(by_python.current_strip().fates)
    wanted = [by_python.text, 8, 0.5, by_python.step, by_python.inputs, by_python.labels]
    until(ours.page, lambda: json.loads(ours.run(2)), wanted)
    press(ours, lab.get_by_label("p", exact=True), "ControlOrMeta+a", "7", "Enter")
    expect(lab.get_by_role("alert")).to_contain_text("p: expected")
    press(ours, lab.get_by_label("p", exact=True), "ControlOrMeta+a", "0", "Enter")
    expect(lab.locator(".bl-error")).to_be_empty()
    until(ours.page, lambda: json.loads(ours.run(2))[2], 0)


# ---- the chapters


def test_chapter_00(notebook):
    chapter = notebook("00_start_here.ipynb")
    chapter.run_all()
    first = live_lab(chapter.page, "Predict")
    press(chapter, first.get_by_role("radio").first, "Space", "Enter")
    expect(first.get_by_role("status")).to_contain_text("Right: [5, 7]")
    second = live_lab(chapter.page, "Predict", 1)
    second.locator(".bl-choice", has_text="ids[1, 31]").click()
    second.get_by_role("button", name="Commit").click()
    expect(second.get_by_role("status")).to_contain_text("Not so")
    expect(second.get_by_role("status")).to_contain_text("That goes down a column.")
    lab = live_lab(chapter.page, "Draw microscope")
    lab.get_by_role("button", name="Next").click()
    by_python = labs.DrawMicroscope("fill in the blank", seed=7, p=0.15, step=2)
    until(chapter.page, lambda: letters(lab), list(by_python.current_strip().fates))


def test_chapter_01(notebook):
    chapter = notebook("01_mask_by_hand.ipynb")
    chapter.run_all()
    lab = live_lab(chapter.page, "Draw microscope")
    press(chapter, lab.get_by_label("draw", exact=True), "End")
    by_python = labs.DrawMicroscope("the cat sat on the mat", seed=322, p=0.15)
    by_python.step = len(by_python.steps)
    until(chapter.page, lambda: letters(lab), list(by_python.current_strip().fates))


def test_chapter_02(notebook):
    chapter = notebook("02_mask_at_the_right_rate.ipynb")
    chapter.run_all()
    lab = live_lab(chapter.page, "Masking lab")
    lab.get_by_role("button", name="40%").click()
    by_python = labs.MaskingLab()
    by_python.preset("40%")
    until(chapter.page, lambda: letters(lab), list(by_python.first_row().fates))
    power, by_python = chapter.old_lab("Power lab"), labs.PowerLab()
    agrees(chapter, power, by_python)
    names = [name for name, *_ in by_python.recipe_menu._options_full]
    power.get_by_label("recipe").select_option(index=len(names) - 1)
    by_python.recipe_menu.index = len(names) - 1
    agrees(chapter, power, by_python)
    press(chapter, power.get_by_role("slider").first, "ArrowRight", "ArrowRight", "ArrowRight")
    by_python.p_slider.value = 0.18
    agrees(chapter, power, by_python)


def test_chapter_03(notebook):
    chapter = notebook("03_from_text_to_batches.ipynb")
    chapter.run_all()
    lab, by_python = chapter.old_lab("Batch lab"), labs.BatchLab()
    agrees(chapter, lab, by_python)
    sliders = lab.get_by_role("slider")
    press(chapter, sliders.nth(0), "ArrowRight", "ArrowRight")
    by_python.max_len_slider.value = 14
    agrees(chapter, lab, by_python)
    slide(chapter.page, lab.locator(".noUi-target").nth(2), 0.5)
    until(chapter.page, lambda: float(sliders.nth(2).get_attribute("aria-valuenow")) > 100, True)
    by_python.seed_slider.value = int(float(sliders.nth(2).get_attribute("aria-valuenow")))
    agrees(chapter, lab, by_python)
    box, text = lab.locator("textarea"), "Two more lines.\nThey come at once || as a pair."
    box.fill(text)
    box.press("Tab")
    by_python.box.value = text
    agrees(chapter, lab, by_python)
    press(chapter, sliders.nth(0), "Home")  # too little room: an error in the callback
    expect(lab.get_by_role("alert")).to_contain_text("ValueError: max_len: expected")
    press(chapter, sliders.nth(0), "End")
    by_python.max_len_slider.value = by_python.max_len_slider.max
    agrees(chapter, lab, by_python)


def test_chapter_05(notebook):
    chapter = notebook("05_read_both_ways.ipynb")
    chapter.run_all(120)
    lab = live_lab(chapter.page, "Attention lab")
    by_python = labs.AttentionLab(text=lab.get_by_label("sentence").input_value())
    lab.get_by_role("radio", name="position 2,").check()
    said = lab.locator(".bl-said")
    expect(said).to_contain_text("position 2")
    press(chapter, lab.get_by_label("head", exact=True), "Home", "ArrowRight")
    expect(said).to_contain_text("head 1")
    press(chapter, lab.get_by_label("layer", exact=True), "End")
    layer = by_python.model.config.n_layers - 1
    expect(said).to_contain_text(f"layer {layer}, head 1: position 2")
    text = "the function returns a list of names"
    lab.get_by_label("sentence").fill(text)
    press(chapter, lab.get_by_label("sentence"), "Enter")
    by_python = labs.AttentionLab(text=text, layer=layer, head=1, token=2)
    expect(lab.locator(".bl-looker")).to_have_count(len(by_python.tokens))
    shown = lab.locator("table.bl-looks tbody tr td.bl-digits:nth-last-child(2)")
    weights = [float(text) for text in shown.all_inner_texts()]
    assert np.abs(np.array(weights) - by_python.weights).max() < 0.0051


def test_chapter_06(notebook):
    chapter = notebook("06_predict_the_blank.ipynb")
    chapter.run_all(120)
    lab, by_python = chapter.old_lab("Two blanks"), labs.TwoBlanksLab()
    agrees(chapter, lab, by_python)
    press(chapter, lab.get_by_role("slider").first, "ArrowRight")
    by_python.share_slider.value += by_python.share_slider.step
    agrees(chapter, lab, by_python)
    lab.get_by_role("slider").nth(1).click()
    by_python.fit_slider.value = float(lab.get_by_role("slider").nth(1).get_attribute("aria-valuenow"))
    agrees(chapter, lab, by_python)


def test_chapter_07(notebook):
    chapter = notebook("07_load_a_real_bert.ipynb")
    chapter.run_all(120)
    clinic = chapter.old_lab("Checkpoint clinic")
    press(chapter, clinic.get_by_role("combobox").first, "ArrowDown")
    expect(clinic).to_contain_text("CheckpointError: B:")
    clinic.get_by_role("combobox").first.select_option(label="A")
    expect(clinic).to_contain_text("CheckpointError: A:")
    for diagnosis, verdict in (
        ("the weights are a pickle", "Not so"),
        ("a weight matrix is transposed", "Right"),
    ):
        clinic.get_by_role("combobox").nth(1).select_option(label=diagnosis)
        clinic.get_by_role("button", name="Commit").click()
        expect(clinic).to_contain_text(f"{verdict}.")
    expect(clinic).to_contain_text("1 of 12 patients diagnosed.")
    ladder = chapter.old_lab("Ladder lab")
    before = shown_in(ladder)
    press(chapter, ladder.get_by_role("combobox").first, "ArrowDown")
    until(chapter.page, lambda: shown_in(ladder) != before, True)


def test_chapter_08(notebook):
    chapter = notebook("08_train_your_own_bert.ipynb")
    chapter.run_all(240)
    lab, by_python = chapter.old_lab("Fill-in"), labs.FillInLab(*manual_bert(), words=0, word="import")
    agrees(chapter, lab, by_python)
    press(chapter, lab.get_by_role("slider"), "ArrowRight", "ArrowRight")
    by_python.words_slider.value = 2
    agrees(chapter, lab, by_python)
    box = lab.get_by_role("textbox").first
    box.fill("the [MASK] returns a list")
    box.press("Tab")
    by_python.box.value = "the [MASK] returns a list"
    agrees(chapter, lab, by_python)


def test_chapter_09(notebook):
    chapter = notebook("09_catch_the_mutants.ipynb")
    chapter.run_all(120)
    lab, by_python = chapter.old_lab("Pitfall"), labs.PitfallLab("b06")
    agrees(chapter, lab, by_python)
    lab.get_by_role("button", name="Next").click()
    by_python.next.click()
    agrees(chapter, lab, by_python)
    lab.get_by_role("combobox").nth(1).select_option(index=0)
    by_python.fault_menu.index = 0
    agrees(chapter, lab, by_python)
    press(chapter, lab.get_by_role("button", name="Previous"), "Space", "Space")
    by_python.previous.click()
    by_python.previous.click()
    agrees(chapter, lab, by_python)


def test_chapter_10(notebook):
    chapter = notebook("10_beyond_bert.ipynb")
    chapter.run_all(240)
    lab, by_python = chapter.old_lab("ModernBERT"), labs.ModernLab()
    agrees(chapter, lab, by_python)
    lab.get_by_role("checkbox", name="RoPE").click()
    by_python.boxes["rope"].value = False
    agrees(chapter, lab, by_python)
    press(chapter, lab.get_by_role("checkbox", name="GeGLU", exact=True), "Space")
    by_python.boxes["geglu"].value = False
    agrees(chapter, lab, by_python)
    length, window, _ = lab.get_by_role("slider").all()
    press(chapter, length, "ArrowRight")
    by_python.length_slider.value = 1024
    agrees(chapter, lab, by_python)
    press(chapter, window, "ArrowLeft", "ArrowLeft")
    by_python.window_slider.value = 32
    agrees(chapter, lab, by_python)
    lab.get_by_role("combobox").select_option(index=1)
    by_python.size_menu.index = 1
    agrees(chapter, lab, by_python)


@pytest.mark.parametrize("name", ["04_build_the_encoder.ipynb"])
def test_a_chapter_without_labs_runs_too(notebook, name):
    notebook(name).run_all(120)
