"""The lab base: one look, an error line, a bundle that says in text what the widget shows."""

import ipywidgets as widgets
import pytest

import bert_lab.labs as labs
from bert_lab.labs import base


class Doubler(base.Lab):
    """A lab of the smallest kind: twice a number, and an error for numbers below zero."""

    def __init__(self):
        self.number = widgets.IntText(1)
        self.answer = widgets.HTML()
        super().__init__("Doubler <b>", "type a `number` & look", [self.number], [self.answer])
        self.watch(self.number)
        self.refresh()

    def draw(self):
        if self.number.value < 0:
            raise ValueError(f"number: expected at least 0, got <{self.number.value}>")
        self.answer.value = str(2 * self.number.value)


def test_a_control_changes_the_result():
    lab = Doubler()
    assert lab.answer.value == "2"
    lab.number.value = 21
    assert lab.answer.value == "42"


def test_an_error_is_shown_inside_the_lab_and_goes_when_it_is_mended():
    lab = Doubler()
    lab.number.value = -1
    assert 'role="alert"' in lab.error.value
    assert "ValueError: number: expected at least 0, got &lt;-1&gt;" in lab.error.value
    lab.number.value = 3
    assert lab.error.value == ""
    assert lab.answer.value == "6"


def test_a_lab_must_say_what_it_draws():
    with pytest.raises(NotImplementedError):
        base.Lab("title", "how", [], []).draw()


def test_header_escapes_text_and_marks_code():
    header = Doubler().children[0].value
    assert "Doubler &lt;b&gt;" in header
    assert "<code>number</code> &amp; look" in header
    assert header.startswith("<style ")
    assert "data-lm-suppress-shortcuts" in header  # else arrow keys move the notebook's selection


def test_bundle_holds_the_widget_and_the_same_text_each_time():
    first, second = Doubler()._repr_mimebundle_(), Doubler()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in first
    for kind in ("text/plain", "text/html"):
        assert first[kind] == second[kind]
    assert first["text/plain"] == "Doubler <b>: type a number & look"
    assert "<code>number</code>" in first["text/html"]
    assert "style>" not in first["text/html"]


def test_no_lab_holds_an_output_widget():
    def walk(widget):
        yield widget
        for child in getattr(widget, "children", ()):
            yield from walk(child)

    shown = [Doubler(), labs.predict("q?", [("a", "x"), ("b", "y")], right="a"), labs.DrawMicroscope()]
    assert not [w for lab in shown for w in walk(lab) if isinstance(w, widgets.Output)]


@pytest.mark.parametrize(
    ("u", "thresholds", "least", "text"),
    [
        (0.25, [0.15], 4, "0.2500"),
        (0.1499999, [0.15], 4, "0.1499999"),
        (0.15, [0.15], 4, "0.1500"),  # equal is on the upper side, and so is what is printed
        (0.1500001, [0.15], 4, "0.1500"),
        (1 - 2.0**-32, [], 4, "0.9999999998"),
        (0.5, [0.8, 0.9], 1, "0.5"),
    ],
)
def test_digits_keep_a_uniform_on_its_side(u, thresholds, least, text):
    assert base.digits(u, thresholds, least) == text


def test_table_marks_code_and_escapes():
    assert "<code>&lt;x&gt;</code>" in base.as_table([("name", "`<x>`")])


def test_the_face_loads_on_first_use():
    assert set(labs.__all__) <= set(dir(labs))
    assert callable(labs.predict) and callable(labs.check) and callable(labs.worksheet)
    with pytest.raises(AttributeError, match=r"No bert_lab\.labs attribute nothing"):
        _ = labs.nothing
