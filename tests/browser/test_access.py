"""axe-core finds no serious fault on any page of the book, in light and in dark."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from driving import page_names
from playwright.sync_api import expect


def faults(page) -> list[str]:
    """What axe calls serious or critical: the rule, and the places."""
    found = Axe().run(page, options={"resultTypes": ["violations"], "preload": False}).response["violations"]
    return [
        f"{fault['id']} ({fault['impact']}): {node['html'][:200]} | {node['failureSummary'][-200:]}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]


@pytest.mark.parametrize("name", page_names())
def test_a_page_has_no_serious_fault(site, name):
    page = site.open(name, color_scheme="light", reduced_motion="reduce")
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert faults(page) == []
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert faults(page) == []


def test_nothing_moves_for_those_who_asked_for_less_motion(site):
    page = site.open("00_start_here.html", reduced_motion="reduce")
    running = """() => {
      document.querySelectorAll('details').forEach((fold) => { fold.open = true; });
      return document.getAnimations().length;
    }"""
    assert page.locator("details").count() > 0
    assert page.evaluate(running) == 0


def test_a_fault_would_be_found(site):
    page = site.open("index.html")
    page.evaluate("document.querySelector('article').append(document.createElement('button'))")
    assert any(fault.startswith("button-name (critical)") for fault in faults(page))
