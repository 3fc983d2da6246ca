"""The browser for tests/browser, and the message if these tests are left out."""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def find_chromium() -> str | None:
    """The path of the browser: that in BERT_LAB_CHROMIUM, or the first of `NAMES` on the PATH."""
    found = (shutil.which(name) for name in (os.environ.get("BERT_LAB_CHROMIUM"), *NAMES) if name)
    return next(filter(None, found), None)


def left_out(chromium: str | None) -> str:
    """A line that says which tests `make test` does not run."""
    line = "Left out: the labs and the site in a real browser (make test-browser)"
    return line if chromium else f"{line}; it needs Chromium or Chrome, and none was found here"
