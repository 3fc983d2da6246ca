// What the pages need beside the labs. It works from a disk as from a server, and asks for nothing.

// A browser lets no page from a disk read another one: search then shows titles, without a line of each page.
if (location.protocol === "file:" && window.DOCUMENTATION_OPTIONS) {
  window.DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

// What scrolls sideways can be reached and scrolled from the keyboard.
(() => {
  const places = ".bd-article mjx-container, .bd-article div.math, .cell_output, .cell_output .output, .cell_output .output div";

  function stops() {
    for (const place of document.querySelectorAll(places)) {
      if (place.closest(".bl-live") || (place.hasAttribute("tabindex") && !("bookStop" in place.dataset))) continue;
      const scrolls = place.scrollWidth > place.clientWidth + 1
        && ["auto", "scroll"].includes(getComputedStyle(place).overflowX);
      if (scrolls) {
        place.tabIndex = 0;
        place.dataset.bookStop = "";
      } else if ("bookStop" in place.dataset) {
        place.removeAttribute("tabindex");
        delete place.dataset.bookStop;
      }
    }
  }

  window.addEventListener("load", () => {
    stops();
    window.MathJax?.startup?.promise?.then(stops);
  });
  window.addEventListener("resize", stops);
  document.addEventListener("toggle", stops, true);
})();
