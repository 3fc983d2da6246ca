"""Each page at each size: nothing sticks out of it, and a picture for a person to look at.

The pictures go into the folder that SCREENSHOTS names. README_PICTURES names the folder of the README's
pictures, which are made anew where it is given.
"""

import os
from pathlib import Path

import pytest
from driving import ROOT, live_lab, page_names

SIZES = {
    "wide": {"viewport": {"width": 1280, "height": 900}},
    # A projector with large text: the browser's zoom at 125%.
    "projector": {"viewport": {"width": 819, "height": 614}, "device_scale_factor": 1.25},
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "print": {"viewport": {"width": 794, "height": 1123}, "media": "print"},
}
# What is wider than the place it has, and neither wraps nor scrolls there.
STICKS_OUT = """() => {
  const wide = document.documentElement.clientWidth;
  const cuts = (node) => /auto|scroll|hidden|clip/.test(getComputedStyle(node).overflowX);
  const inside = (node) => node && (cuts(node) || inside(node.parentElement));
  return [...document.querySelectorAll("article *")]
    .filter((node) => node.checkVisibility() && node.getBoundingClientRect().right > wide + 1)
    .filter((node) => !inside(node.parentElement))
    .map((node) => node.outerHTML.slice(0, 120));
}"""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", page_names())
def test_a_page_fits(site, name, size):
    page = site.open(name, **SIZES[size])
    if os.environ.get("SCREENSHOTS"):
        folder = ROOT / os.environ["SCREENSHOTS"]
        page.screenshot(path=folder / f"{Path(name).stem}-{size}.png", full_page=True, animations="disabled")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 1
    assert page.evaluate(STICKS_OUT) == []


def masking_lab(page):
    lab = live_lab(page, "Masking lab")
    lab.get_by_role("button", name="RoBERTa").click()
    return lab


def attention_lab(page):
    lab = live_lab(page, "Attention lab")
    lab.locator(".bl-looker input").nth(2).check()
    return lab


README = {
    "masking_lab.png": ("02_mask_at_the_right_rate.html", masking_lab),
    "attention_lab.png": ("05_read_both_ways.html", attention_lab),
}


@pytest.mark.parametrize("name", README)
def test_the_readme_has_pictures_of_running_labs(site, name, tmp_path):
    chapter, play = README[name]
    page = site.open(chapter, viewport={"width": 1280, "height": 900}, color_scheme="light")
    lab = play(page)
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    folder = Path(os.environ.get("README_PICTURES") or tmp_path)
    lab.screenshot(path=ROOT / folder / name, animations="disabled")
    assert f"notebooks/images/{name}" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert (ROOT / "notebooks" / "images" / name).is_file()
