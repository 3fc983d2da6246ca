"""axe-core finds no serious fault on any page of the book, in light and in dark."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from driving import page_names


def faults(page) -> list[str]:
    """What axe calls serious or critical: the rule, and the places."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{fault['id']} ({fault['impact']}): {node['html'][:200]} | {node['failureSummary'][-200:]}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", page_names())
def test_a_page_has_no_serious_fault(site, name, scheme):
    page = site.open(name, color_scheme=scheme)
    for fold in page.locator("details:not([open]) > summary").all():
        fold.evaluate("summary => { summary.parentElement.open = true; }")
    assert faults(page) == []


def test_a_fault_would_be_found(site):
    page = site.open("index.html")
    page.evaluate("document.querySelector('article').append(document.createElement('button'))")
    assert any(fault.startswith("button-name (critical)") for fault in faults(page))
