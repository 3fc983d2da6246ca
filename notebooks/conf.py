"""How the book becomes a site: `make book` runs Sphinx with these settings.

The pages come from the notebooks as they are stored: nothing is executed. All that they need is copied beside
them, so that the built folder works on a web server, on a disk or on a memory stick, without a network.
"""

import importlib.metadata
import shutil
import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bert_lab import __version__
from bert_lab.labs import js_lab

project = "bert_lab"
version = release = __version__
language = "en"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinxcontrib.bibtex"]
exclude_patterns = ["_build", "**.ipynb_checkpoints"]
bibtex_bibfiles = ["references.bib"]
nitpicky = True
# Names of other libraries: without a network there is no inventory of theirs to look them up in.
nitpick_ignore_regex = [("py:.*", r"(?!bert_lab\b).*")]

# ---- notebooks

nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["dollarmath"]
myst_dmath_double_inline = True
myst_heading_anchors = 3
LONG = 20  # lines: longer cells of code are folded away, as solutions are

# ---- the reference

default_role = "code"  # docstrings mark code with single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_numpy_docstring = False
add_module_names = False
python_display_short_literal_types = True
toc_object_entries_show_parents = "hide"

# ---- the site

html_theme = "sphinx_book_theme"
html_title = "bert_lab"
html_baseurl = ""
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_js_files = ["book.js"]
html_domain_indices = False
html_show_sphinx = False
html_show_copyright = False
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system has it
html_theme_options = {
    "home_page_in_toc": True,
    "show_toc_level": 2,
    "use_download_button": True,
    "use_fullscreen_button": True,
    "search_bar_text": "Search the book",
    "footer_content_items": [],
    "navbar_persistent": [],
    "primary_sidebar_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

# MathJax as one file, with its fonts. Its menu would load more files, and make each formula a stop of the Tab
# key; the MathML that it leaves for screen readers stays.
mathjax_path = "mathjax/tex-chtml-full.js"
mathjax3_config = {"options": {"enableMenu": False, "enableAssistiveMml": True}}
MATHJAX = "sphinx-mathjax-offline"

logger = logging.getLogger(__name__)


class AlternativeText(SphinxTransform):
    """Give each picture of an output the text that was stored beside it: what it shows, in words."""

    default_priority = 500

    def apply(self, **kwargs) -> None:
        for bundle in self.document.findall(nodes.container):
            if bundle.get("nb_element") != "mime_bundle":
                continue
            plain = [part.astext() for part in bundle.children if part["mime_type"] == "text/plain"]
            for image in bundle.findall(nodes.image):
                image["alt"] = " ".join(" ".join(plain).split())
        for image in self.document.findall(nodes.image):
            if not image.get("alt") or image["alt"].startswith("<"):  # <Figure size ...> says nothing
                logger.warning("a picture without alternative text: %s", image["uri"], location=image)


class FoldedCode(SphinxTransform):
    """Fold long code away, and say on each fold what is under it."""

    default_priority = 500

    def apply(self, **kwargs) -> None:
        for cell in self.document.findall(nodes.container):
            if cell.get("nb_element") != "cell_code":
                continue
            source = cell.children[0].astext()
            if source.count("\n") >= LONG:
                cell.setdefault("hide_mode", "input")
            if cell.get("hide_mode"):
                solves = "solution" in source.partition("\n")[0] or 'check("' in source
                cell["classes"] += ["book-solution"] * solves
                what = "the solution" if solves else "the code"
                cell["prompt_show"], cell["prompt_hide"] = f"Show {what}", f"Fold {what}"


def add_scripts(app: Sphinx, config) -> None:
    """Write the labs' script, and copy it and MathJax with the other static files."""
    made = Path(app.doctreedir) / "made"
    shutil.rmtree(made, ignore_errors=True)
    packed = importlib.metadata.distribution(MATHJAX).locate_file(f"{MATHJAX}/static/mathjax")
    fonts = Path("output", "chtml", "fonts")
    shutil.copytree(packed / fonts, made / "mathjax" / fonts)
    shutil.copy(packed / Path(mathjax_path).name, made / "mathjax")
    (made / "bert_lab.js").write_text(js_lab.page_script(), encoding="utf-8")
    config.html_static_path.append(str(made))


def setup(app: Sphinx) -> dict:
    app.connect("config-inited", add_scripts)
    app.add_transform(AlternativeText)
    app.add_transform(FoldedCode)
    app.add_js_file("bert_lab.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
