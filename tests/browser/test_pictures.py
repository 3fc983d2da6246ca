"""Each page at each size: nothing sticks out of it, and a picture for a person to look at.

The pictures go into the folder that SCREENSHOTS names. README_PICTURES names the folder of the README's
pictures, which are made anew where it is given.
"""

import os
from pathlib import Path

import pytest
from driving import ROOT, live_lab, page_names

# Name -> width, height, and what else is asked of the page.
SIZES = {
    "wide": (1280, 900, {}),
    "projector": (819, 614, {}),  # 1024 x 768 with large text: the browser's zoom at 125%
    "phone": (390, 844, {}),
    "dark": (1280, 900, {"color_scheme": "dark"}),
    "print": (794, 1123, {"media": "print"}),
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


@pytest.mark.parametrize("name", page_names())
def test_a_page_fits_at_every_size(site, name):
    page = site.open(name, color_scheme="light", reduced_motion="reduce")
    faults = {}
    for size, (width, height, media) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(**{"media": "screen", "color_scheme": "light"} | media)
        if os.environ.get("SCREENSHOTS"):
            picture = ROOT / os.environ["SCREENSHOTS"] / f"{Path(name).stem}-{size}.png"
            page.screenshot(path=picture, full_page=True, animations="disabled")
        scrolls = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        out = page.evaluate(STICKS_OUT)
        if out or scrolls > 1:
            faults[size] = (scrolls, out)
    assert faults == {}


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
    page = site.open(chapter, viewport={"width": 1280, "height": 1600}, color_scheme="light")
    lab = play(page)
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    folder = Path(os.environ.get("README_PICTURES") or tmp_path)
    lab.screenshot(path=ROOT / folder / name, animations="disabled")
    assert f"notebooks/images/{name}" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert (ROOT / "notebooks" / "images" / name).is_file()
