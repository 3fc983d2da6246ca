"""Predictions: a question the reader answers before seeing the result.

    predict(
        "How many uniforms does a special position draw?",
        [
            ("none", "Nothing can happen to it, so nothing is drawn."),
            ("one", "That would shift every draw that follows."),
        ],
        right="none",
    )

stands at the end of a cell. The cell's source holds the truth, hence it is folded away.
"""

import ipywidgets as widgets

from bert_lab.labs.base import Lab, bad, good, inline_html, inline_text


class Prediction(Lab):
    """The question, its choices as radio buttons, and a button that commits the reader to one of them.

    `choice` is what the reader committed to, or None; `correct` is True, False or, before that, None. Both
    live in the running notebook alone: run the cell again to answer anew.
    """

    def __init__(self, question: str, options: list[tuple[str, str]], right: str):
        self.question = question
        self.options = options
        self.right = right
        self.choice = None
        self.correct = None
        labels = [inline_text(choice) for choice, _ in options]
        self.radio = widgets.RadioButtons(
            options=list(zip(labels, [choice for choice, _ in options], strict=True)),
            value=None,
            layout=widgets.Layout(width="auto", max_width="100%"),
        )
        self.button = widgets.Button(
            description="Commit", tooltip="Commit to the choice above and see the truth"
        )
        self.button.on_click(self.commit)
        self.result = widgets.HTML("")
        super().__init__("Predict", question, [self.radio, self.button], [self.result])

    def commit(self, _button=None) -> None:
        """Keep the reader's choice, lock it, and show the truth."""
        if self.radio.value is None:
            self.result.value = '<div role="status">Choose one first.</div>'
            return
        self.choice = self.radio.value
        self.correct = self.choice == self.right
        self.radio.disabled = self.button.disabled = True
        self.button.description = "Committed"
        self.result.value = self.truth()

    def truth(self) -> str:
        """HTML shown after the commit: the verdict, then a sentence for each choice, the right one first."""
        chosen = inline_html(self.choice)
        verdict = f"{good('Right')}: {chosen}." if self.correct else f"{bad('Not so')}: you said {chosen}."
        ordered = sorted(
            self.options, key=lambda option: option[0] != self.right
        )  # stable: the others keep order
        rows = "".join(
            f"<li><b>{inline_html(choice)}</b> {'is right' if choice == self.right else 'is wrong'}:"
            f" {inline_html(sentence)}</li>"
            for choice, sentence in ordered
        )
        return f'<div role="status">{verdict}<ul>{rows}</ul></div>'

    def as_text(self) -> str:
        """The question and its choices, without the answer."""
        choices = "\n".join(f"  ( ) {inline_text(choice)}" for choice, _ in self.options)
        return f"Predict: {inline_text(self.question)}\n{choices}"

    def as_html(self) -> str:
        """The question and its choices, without the answer."""
        choices = "".join(f"<li>{inline_html(choice)}</li>" for choice, _ in self.options)
        return (
            f"<div><p><b>Predict</b>: {inline_html(self.question)}</p><ul>{choices}</ul>"
            "<p><i>Run this cell in JupyterLab to choose and to see the truth.</i></p></div>"
        )


def predict(question: str, options: list[tuple[str, str]], *, right: str) -> Prediction:
    """Ask the reader to predict a result, and show the truth after they commit to a choice.

    question: one or two sentences. options: at least two pairs (choice, sentence), where the sentence says
    why the choice is right or wrong, shown after the commit. right: the choice that is right. In all of them
    `backticks` mark code, and the choices must differ. Let the call be the last line of its cell; in a test
    run, and printed, it shows the question and the choices.

    Raises TypeError if a part is no text or options is no list of pairs; ValueError if a text is blank, a
    choice comes twice, fewer than two are given, or `right` is none of them.
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
