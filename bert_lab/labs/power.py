"""The power lab: how much data a test needs to detect a wrong recipe."""

import html

import ipywidgets as widgets
import numpy as np

from bert_lab import figures
from bert_lab.labs.base import Lab
from bert_lab.masking import BERT_SPLIT
from bert_lab.measuring.rates import exact_shares, power, power_curve, required_picks, tokens_for
from bert_lab.measuring.recipes import WRONG

VOCAB = 30522  # of BERT's English uncased vocabulary
PICKS = np.unique(np.geomspace(10, 1e6, 101).round().astype(np.int64))  # at which the curves are computed


class PowerLab(Lab):
    """Choose a wrong recipe, a false-alarm rate and a power; see how many picks the test needs.

    The test is the chi-square test of the picks against the exact shares of 80/10/10 at V = 30522. `recipe`
    (a name of `recipes.WRONG`), `alpha`, `target` (the power) and `p` are the values of the controls. `picks`
    and `tokens` are the answer.
    """

    def __init__(self):
        layout = widgets.Layout(width="440px", max_width="100%")
        menu = {"style": {"description_width": "130px"}, "layout": layout}
        slider = {**menu, "continuous_update": False}
        self.recipe_menu = widgets.Dropdown(
            options=list(WRONG), value="81/10/9", description="wrong recipe", **menu
        )
        rates = [(f"{rate:g}", rate) for rate in (0.05, 0.01, 0.001, 0.0001)]
        self.alpha_slider = widgets.SelectionSlider(
            options=rates, value=0.001, description="false alarms", **slider
        )
        powers = [(f"{chance:g}", chance) for chance in (0.5, 0.8, 0.9, 0.95, 0.99)]
        self.target_slider = widgets.SelectionSlider(
            options=powers, value=0.95, description="power", **slider
        )
        self.p_slider = widgets.FloatSlider(0.15, min=0.01, max=1.0, step=0.01, description="p", **slider)
        self.answer, self.figure = widgets.HTML(""), widgets.HTML("")
        row = widgets.Layout(flex_flow="row wrap", align_items="center")
        super().__init__(
            "Power lab",
            "How many picks until the chi-square test notices a wrong recipe, and how many tokens is that?",
            [
                widgets.HBox([self.recipe_menu, self.p_slider], layout=row),
                widgets.HBox([self.alpha_slider, self.target_slider], layout=row),
            ],
            [self.answer, self.figure],
        )
        self.picks = self.tokens = self.tenth = None
        self.watch(self.recipe_menu, self.alpha_slider, self.target_slider, self.p_slider)
        self.refresh()

    @property
    def recipe(self) -> str:
        """The name of the wrong recipe."""
        return self.recipe_menu.value

    @property
    def alpha(self) -> float:
        """The false-alarm rate of the test."""
        return self.alpha_slider.value

    @property
    def target(self) -> float:
        """The wanted power: the chance to detect the recipe."""
        return self.target_slider.value

    @property
    def p(self) -> float:
        """The picking probability."""
        return self.p_slider.value

    def draw(self) -> None:
        """Compute the picks and tokens needed, and draw the curve."""
        right = exact_shares(VOCAB)
        wrong = {name: exact_shares(VOCAB, recipe.shares(BERT_SPLIT)) for name, recipe in WRONG.items()}
        self.picks = required_picks(right, wrong[self.recipe], self.alpha, self.target)
        self.tokens = tokens_for(self.picks, self.p)
        self.tenth = power(max(1, self.picks // 10), right, wrong[self.recipe], self.alpha)
        story = f"{self.recipe} in {WRONG[self.recipe].source}: {WRONG[self.recipe].story}."
        self.answer.value = (
            f'<div role="status"><b>{html.escape(self.summary())}</b><br>{html.escape(story)}</div>'
        )
        curves = {name: power_curve(right, shares, PICKS, self.alpha) for name, shares in wrong.items()}
        fig = figures.power_curves(
            PICKS, curves, target=self.target, alpha=self.alpha, mark=(self.picks, self.recipe)
        )
        self.figure.value = figures.html_image(fig)

    def summary(self) -> str:
        """The answer in a sentence or two."""
        if self.tenth is None:
            return "no answer"
        return (
            f"{self.recipe}: {self.picks:,} picks, that is about {self.tokens:,} tokens at p = {self.p:.2f}."
            f" With a tenth of that it is noticed with chance {self.tenth:.4f}."
        )

    def settings(self) -> str:
        """The values of the controls, in a line."""
        rates = f"false-alarm rate {self.alpha:g}, power {self.target:g}"
        return f"wrong recipe {self.recipe}, {rates}, p {self.p:.2f}"

    def as_text(self) -> str:
        """The settings and the answer, as plain text."""
        return f"Power lab: {self.settings()}\n{self.summary()}"

    def as_html(self) -> str:
        """The settings and the answer, as HTML."""
        return f"{self.caption(self.settings())}<p>{html.escape(self.summary())}</p>"
