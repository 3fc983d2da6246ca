"""Predictions: a question the reader answers before seeing the result.

    predict(
        "How many uniforms does a special position draw?",
        [
            ("none", "Nothing can happen to it, so nothing is drawn."),
            ("one", "That would shift every draw that follows."),
        ],
        right="none",
    )

is the last statement of a cell. The cell's source has the right answer, so it is folded away.
"""

import traitlets

from bert_lab.labs.base import inline_html, inline_text
from bert_lab.labs.js_lab import JsLab, Setting


def _choice(lab, name, value):
    """None, or one of the prediction's choices."""
    choices = [choice for choice, _ in lab.options]
    if value not in (None, *choices):
        raise ValueError(f"{name}: expected one of {choices!r}, got {value!r}")
    return value


class Prediction(JsLab):
    """The question, its choices as radio buttons, and a button that commits the reader to one of them.

    `choice` is the reader's committed choice, or None. `correct` says whether it is right; None before the
    commit. A notebook does not store them: run the cell again to answer again. On a page of the book, the
    reader's browser keeps the choice.

    Setting `choice` commits to it; None resets it. Raises ValueError for anything that is not a choice.
    """

    module = "prediction"
    title = "Predict"
    options = traitlets.List().tag(sync=True)
    right = traitlets.Unicode().tag(sync=True)
    choice = Setting(None, _choice).tag(sync=True)

    def __init__(self, question: str, options: list[tuple[str, str]], right: str):
        self.question = self.how_to = question
        super().__init__(options=options, right=right)
        self.watch("choice")

    @property
    def correct(self) -> bool | None:
        """Whether the committed choice is right; None before the commit."""
        return None if self.choice is None else self.choice == self.right

    def state(self) -> dict:
        """The state before the commit."""
        return super().state() | {"choice": None}

    def as_text(self) -> str:
        """The question and its choices, without the answer."""
        choices = "\n".join(f"  ( ) {inline_text(choice)}" for choice, _ in self.options)
        return f"Predict: {inline_text(self.question)}\n{choices}"

    def as_html(self) -> str:
        """The question and its choices, without the answer, which the state has for the page's script."""
        return self.placed(
            f"<p>{self.caption()}</p>{self.picture()}"
            "<p><i>Run this cell in JupyterLab to choose and to see the truth.</i></p>"
        )

    def picture(self) -> str:
        """The choices."""
        return f"<ul>{''.join(f'<li>{inline_html(choice)}</li>' for choice, _ in self.options)}</ul>"


def predict(question: str, options: list[tuple[str, str]], *, right: str) -> Prediction:
    """Ask the reader to predict a result, and show the right answer after they commit to a choice.

    question: one or two sentences. options: at least two pairs (choice, sentence). The sentence says why the
    choice is right or wrong, and is shown after the commit. right: the right choice. In all of them
    `backticks` mark code, and the choices must differ. The call must be the last line of its cell. In a test
    run, and on paper, it shows the question and the choices.

    Raises TypeError if a part is no text or options is no list of pairs; ValueError if a text is blank, a
    choice occurs twice, there are fewer than two choices, or `right` is none of them.
    """
    _text("question", question)
    if not isinstance(options, (list, tuple)):
        raise TypeError(f"options must be a list of (choice, sentence) pairs, got {type(options).__name__}")
    for i, option in enumerate(options):
        if not isinstance(option, (list, tuple)) or len(option) != 2:
            raise TypeError(f"options[{i}] must be a pair (choice, sentence), got {option!r}")
        _text(f"options[{i}] choice", option[0])
        _text(f"options[{i}] sentence", option[1])
    if len(options) < 2:
        raise ValueError(f"a prediction needs at least two options, got {len(options)}")
    labels = [inline_text(choice).strip() for choice, _ in options]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise ValueError(f"choices must differ, got more than once: {', '.join(map(repr, twice))}")
    _text("right", right)
    if right not in [choice for choice, _ in options]:
        raise ValueError(f"right must be one of the choices {labels!r}, got {right!r}")
    return Prediction(question, [(choice, sentence) for choice, sentence in options], right)


def _text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, got {type(value).__name__}")
    if not value.strip():
        raise ValueError(f"{name} must not be blank")
