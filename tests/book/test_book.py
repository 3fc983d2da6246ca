"""The book as a site: it builds without a warning, holds all it needs, and says what the chapters say."""

import collections
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import bert_lab
from bert_lab.labs import js_lab

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "notebooks"
CHAPTERS = sorted(SOURCE.glob("*.ipynb"))
PAGES = sorted(path.stem for path in [*CHAPTERS, *SOURCE.glob("*.md")])
CELLS = {path.stem: json.loads(path.read_text(encoding="utf-8"))["cells"] for path in CHAPTERS}
LONG = 20  # lines of code that are not folded away


def sphinx(source: Path, folder: Path) -> subprocess.CompletedProcess:
    """Build `source` as `make book` does, into `folder`/html."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-j", "auto"]
    command += ["-d", str(folder / "doctrees"), str(source), str(folder / "html")]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("COV_", "PYTEST_"))}
    return subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True)


class Page(HTMLParser):
    """What the tests ask of a page: its tags and their attributes, its text, and what is folded away."""

    VOID = frozenset(["area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"])

    def __init__(self, html: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.styles: list[str] = []
        self.text = ""
        self.folds: list[str] = []
        self.open: list[tuple[str, int]] = []  # open tags, each with the place of its fold or -1
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag in self.VOID:
            return
        fold = -1
        if tag == "details":
            fold = len(self.folds)
            self.folds.append("")
        self.open.append((tag, fold))

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        if self.open and self.open[-1][0] == "style":
            self.styles.append(data)
        elif not (self.open and self.open[-1][0] == "script"):
            self.text += data
            for _, fold in self.open:
                if fold >= 0:
                    self.folds[fold] += data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]


def squeezed(text: str) -> str:
    return "".join(text.split())


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The folder of the built pages: one build for all the tests of this file."""
    folder = tmp_path_factory.mktemp("book")
    run = sphinx(SOURCE, folder)
    assert run.returncode == 0, run.stdout + run.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site) -> dict[str, Page]:
    return {path.stem: Page(path.read_text(encoding="utf-8")) for path in sorted(site.glob("*.html"))}


# ---- everything is inside


ASKED_AT_ONCE = {"stylesheet", "preload", "modulepreload", "prefetch", "preconnect", "dns-prefetch", "icon"}


def elsewhere(url: str) -> bool:
    return urlsplit(url.strip()).netloc != ""


def requests_of(page: Page) -> list[str]:
    """The addresses that a browser asks for by itself when it shows the page."""
    found = []
    for tag, attributes in page.tags:
        found += [
            attributes[name] for name in ("src", "srcset", "poster", "background") if name in attributes
        ]
        if tag == "object" or tag == "use":
            found += [attributes[name] for name in ("data", "href", "xlink:href") if name in attributes]
        if tag == "link" and ASKED_AT_ONCE & set(attributes.get("rel", "").lower().split()):
            found.append(attributes["href"])
        found += css_requests(attributes.get("style", ""))
    return found + [url for style in page.styles for url in css_requests(style)]


def css_requests(css: str) -> list[str]:
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    found = re.findall(r"url\(\s*[\"']?([^\"')]*)", css)
    return found + re.findall(r"@import\s+[\"']([^\"']*)", css)


def test_no_page_asks_another_host_for_anything(site, pages):
    for name, page in pages.items():
        assert [url for url in requests_of(page) if elsewhere(url)] == [], name
    sheets = sorted(site.rglob("*.css"))
    assert len(sheets) > 3
    for sheet in sheets:
        assert [url for url in css_requests(sheet.read_text(encoding="utf-8")) if elsewhere(url)] == [], sheet


def test_what_a_page_asks_for_is_there(site, pages):
    for name, page in pages.items():
        for url in requests_of(page):
            if not url.startswith(("data:", "#")):
                assert (site / unquote(urlsplit(url).path)).is_file(), f"{name}: {url}"


def test_a_request_to_another_host_is_seen():
    there = "https://example.org/x"
    for html in (
        f'<img src="{there}">',
        f'<script src="//{there[8:]}"></script>',
        f'<link rel="stylesheet" href="{there}">',
        f'<link rel="preload" as="font" href="{there}">',
        f'<p style="background: url({there})">',
        f"<style>@font-face {{ src: url('{there}') }}</style>",
        f'<style>@import "{there}";</style>',
    ):
        assert any(map(elsewhere, requests_of(Page(html)))), html
    for html in (
        f'<a href="{there}">x</a>',
        f'<link rel="canonical" href="{there}">',
        '<img src="data:image/png;base64,x">',
        f"<style>/* from {there}: url({there}) */</style>",
        f"<script>// {there}</script>",
    ):
        assert not any(map(elsewhere, requests_of(Page(html)))), html


def test_formulas_are_set_by_files_of_the_site(site, pages):
    with_math = [name for name, page in pages.items() if "math notranslate" in str(page.tags)]
    assert len(with_math) > 8
    for name in with_math:
        sources = [script.get("src", "") for script in pages[name].all("script")]
        assert any(re.match(r"_static/mathjax/tex-chtml-full\.js", source) for source in sources), name
    fonts = site / "_static" / "mathjax" / "output" / "chtml" / "fonts" / "woff-v2"
    assert len(list(fonts.glob("*.woff"))) > 10


def test_the_site_fits_on_any_stick(site):
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) < 25_000_000


def test_no_page_holds_a_path_of_this_machine(site):
    bad = [re.escape(str(path)) for path in (ROOT, site.parent, Path.home(), Path(sys.prefix))]
    machine = re.compile("|".join([*bad, r"(?<![\w.:/~])/(?:home|root|tmp|work|Users)/\w"]))
    texts = [path for path in site.rglob("*") if path.suffix in (".html", ".js", ".css", ".md", ".ipynb")]
    assert len(texts) > 30
    for path in texts:
        found = machine.search(path.read_text(encoding="utf-8"))
        assert not found, f"{path.relative_to(site)} holds {found[0]!r}"


# ---- the chapters are there


@pytest.mark.parametrize("name", sorted(CELLS))
def test_a_chapter_is_there_with_its_code_and_its_outputs(pages, name):
    text = squeezed(pages[name].text)
    for cell in CELLS[name]:
        if cell["cell_type"] == "code":
            assert squeezed("".join(cell["source"])) in text, cell["id"]
        for output in cell.get("outputs", []):
            if output["output_type"] == "stream":
                assert squeezed("".join(output["text"])) in text, cell["id"]
            elif "text/html" in output["data"]:
                shown = Page("".join(output["data"]["text/html"]))
                assert squeezed(shown.text) in text, cell["id"]
            else:
                assert (
                    output["data"].keys() == {"text/plain", "image/png"}
                    or squeezed("".join(output["data"]["text/plain"])) in text
                ), cell["id"]


@pytest.mark.parametrize("name", sorted(CELLS))
def test_solutions_predictions_and_long_code_are_folded_away(pages, name):
    folds = [squeezed(fold) for fold in pages[name].folds]
    for cell in CELLS[name]:
        source = "".join(cell["source"])
        tags = cell["metadata"].get("tags", [])
        if cell["cell_type"] != "code":
            continue
        folded = any(squeezed(source) in fold for fold in folds)
        expected = "hide-input" in tags or "hide-cell" in tags or source.count("\n") >= LONG
        assert folded == expected, cell["id"]
    solutions = [fold for fold in folds if fold.startswith("Showthesolution")]
    assert len(solutions) == sum("solution" in cell["id"] for cell in CELLS[name]) > 0
    assert not any(tag == "details" and "open" in attributes for tag, attributes in pages[name].tags)


def test_pages_of_the_book_are_in_its_table_of_contents(pages):
    assert set(PAGES) < set(pages)
    for name in PAGES:
        links = {link["href"].partition("#")[0] for link in pages["index"].all("a") if link.get("href")}
        assert f"{name}.html" in links or name == "index", name
        assert pages[name].all("nav"), name


def test_the_start_page_has_the_table_of_chapters_that_the_readme_has():
    rows = [
        re.findall(r"^\| \[\d\d .*\|$", path.read_text(encoding="utf-8"), re.MULTILINE)
        for path in (SOURCE / "index.md", ROOT / "README.md")
    ]
    assert rows[0] == [row.replace("(notebooks/", "(") for row in rows[1]]
    assert len(rows[0]) == len(CHAPTERS)


# ---- pictures


def test_every_picture_says_what_it_shows(site, pages):
    for name, page in pages.items():
        for image in page.all("img"):
            alt = image.get("alt", "").strip()
            assert len(alt) > 10 and not alt.startswith(("<", "_images", "../")), f"{name}: {image}"


@pytest.mark.parametrize("name", sorted(CELLS))
def test_a_picture_has_the_text_that_is_stored_beside_it(pages, name):
    stored = [
        " ".join("".join(output["data"]["text/plain"]).split())
        for cell in CELLS[name]
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    shown = [image["alt"] for image in pages[name].all("img") if image["src"].startswith("_images/")]
    assert shown == stored


# ---- labs


def test_every_page_has_the_script_of_the_labs(site, pages):
    script = (site / "_static" / "bert_lab.js").read_text(encoding="utf-8")
    assert script == js_lab.page_script()
    for name in PAGES:
        sources = [attributes.get("src", "") for attributes in pages[name].all("script")]
        for script in ("bert_lab.js", "book.js"):
            assert any(source.startswith(f"_static/{script}") for source in sources), name


def places(page: Page) -> collections.Counter:
    return collections.Counter(
        attributes["data-lab"]
        for tag, attributes in page.tags
        if "data-lab" in attributes and "bert-lab-static" in attributes.get("class", "").split()
    )


@pytest.mark.parametrize("name", sorted(CELLS))
def test_labs_have_their_places_with_their_state(pages, name):
    stored = collections.Counter()
    for cell in CELLS[name]:
        for output in cell.get("outputs", []):
            stored += places(Page("".join(output.get("data", {}).get("text/html", ""))))
    assert places(pages[name]) == stored
    for _, attributes in pages[name].tags:
        if "data-lab" in attributes:
            assert isinstance(json.loads(attributes["data-state"]), dict)


def test_the_labs_that_need_no_kernel_are_in_their_chapters(pages):
    assert places(pages["00_start_here"])["microscope"] == 1
    assert places(pages["01_mask_by_hand"])["microscope"] == 1
    assert places(pages["02_mask_at_the_right_rate"])["masking_lab"] == 1
    assert places(pages["05_read_both_ways"])["attention_lab"] >= 1
    assert sum(places(page)["prediction"] for page in pages.values()) > 50


# ---- search


def test_the_search_index_knows_the_pages_and_their_words(site):
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    assert set(PAGES) <= set(index["docnames"])

    def found(word: str) -> set[str]:
        entries = [index[table].get(word, []) for table in ("terms", "titleterms")]
        numbers = [number for entry in entries for number in (entry if isinstance(entry, list) else [entry])]
        return {index["docnames"][number] for number in numbers}

    assert "01_mask_by_hand" in found("worksheet")
    assert "02_mask_at_the_right_rate" in found("binomi")  # a stem: binomial
    assert "05_read_both_ways" in found("causal")
    assert "09_catch_the_mutants" in found("redund")
    assert "glossary" in found("uniform")
    assert any("The masking lab" in title for title in index["alltitles"])


# ---- links, the reference, the bibliography


def test_every_link_within_the_site_has_a_target(site, pages):
    ids = {name: {attributes.get("id") for _, attributes in page.tags} for name, page in pages.items()}
    for name, page in pages.items():
        for link in page.all("a"):
            url = urlsplit(link.get("href", ""))
            if url.scheme or url.netloc:
                continue
            target = unquote(url.path) or f"{name}.html"
            assert (site / target).is_file(), f"{name}: {link['href']}"
            if url.fragment and target.endswith(".html"):
                assert unquote(url.fragment) in ids[Path(target).stem] | {"top"}, f"{name}: {link['href']}"


def test_a_chapter_can_be_taken_along(site):
    for path in CHAPTERS:
        assert (site / "_sources" / path.name).read_bytes() == path.read_bytes()


def test_the_reference_has_every_public_name(pages):
    ids = {attributes.get("id") for _, attributes in pages["api"].tags}
    for name in set(bert_lab.__all__) - {"__version__"}:
        assert f"bert_lab.{name}" in ids, name


PAPER = re.compile(r"(?:arxiv\.org/abs/|doi\.org/)([^\s)]+)")


def bibliography() -> dict[str, list[str]]:
    """The chapters of each entry, by its title."""
    text = (SOURCE / "references.bib").read_text(encoding="utf-8")
    entries = re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    assert len(entries) == text.count("\n@") > 30
    found = {}
    for key, body in entries:
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},$", body, re.MULTILINE))
        assert {"author", "title", "year", "note"} <= fields.keys(), key
        found[key] = fields
    return found


def references(name: str) -> str:
    """The text under a chapter's heading of that name."""
    text = "\n\n".join("".join(cell["source"]) for cell in CELLS[name] if cell["cell_type"] == "markdown")
    return text.partition("## References")[2]


def test_the_bibliography_has_every_paper_that_a_chapter_names():
    entries = bibliography()
    numbers = {e[field] for e in entries.values() for field in ("eprint", "doi") if field in e}
    for name in CELLS:
        for paper in PAPER.findall(references(name)):
            assert paper in numbers, f"{name} names {paper}"


def test_the_bibliography_names_the_chapters_of_each_paper():
    for key, fields in bibliography().items():
        title = re.sub(r"[^a-z]", "", fields["title"].lower())
        chapters = []
        for name in CELLS:
            text = references(name)
            cited = any(fields.get(field, "-") in PAPER.findall(text) for field in ("eprint", "doi"))
            # A short title may stand inside another paper's; a paper with a number is known by that.
            short = len(title) < 25 and "eprint" in fields
            if cited or (not short and title[:40] in re.sub(r"[^a-z]", "", text.lower())):
                chapters.append(name[:2])
        assert re.findall(r"\d\d", fields["note"]) == chapters, key


# ---- what stops a build


def test_broken_references_and_silent_pictures_stop_the_build(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for name in ("conf.py", "references.bib"):
        shutil.copy(SOURCE / name, source)
    shutil.copytree(SOURCE / "_static", source / "_static")
    settings = (source / "conf.py").read_text(encoding="utf-8")
    with (source / "conf.py").open("w", encoding="utf-8") as file:
        file.write(settings.replace("Path(__file__).resolve().parents[1]", f"{str(ROOT)!r}"))
    picture = next(
        output
        for cell in CELLS["02_mask_at_the_right_rate"]
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    )
    picture["data"]["text/plain"] = "<Figure size 640x480 with 1 Axes>"
    notebook = json.loads(CHAPTERS[0].read_text(encoding="utf-8"))
    notebook["cells"] = [
        {
            "cell_type": "markdown",
            "id": "a",
            "metadata": {},
            "source": "# A\n\n[b](b.md) [c](#c) {term}`no term`",
        },
        {
            "cell_type": "code",
            "id": "b",
            "metadata": {},
            "source": "1",
            "execution_count": 1,
            "outputs": [picture],
        },
        {
            "cell_type": "markdown",
            "id": "c",
            "metadata": {},
            "source": "```{eval-rst}\n:py:func:`bert_lab.no`\n```",
        },
    ]
    (source / "index.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    run = sphinx(source, tmp_path)
    assert run.returncode == 1
    for message in (
        "'b.md'",
        "target not found: 'c'",
        "no term",
        "a picture without alternative text",
        "py:func reference target not found: bert_lab.no",
    ):
        assert message in run.stderr, message + "\n" + run.stderr
