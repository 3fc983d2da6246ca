// Labs on a page of the book: no kernel, no network, and nothing leaves the browser.

/** The state of a lab, with the methods of anywidget's model. The values come from the page itself. */
export class PageModel {
  constructor(values) {
    this.values = { error: "", ...values };
    this.listeners = new Map();
  }

  /** There is no kernel to send changes to. */
  get alone() { return true; }

  get(name) { return this.values[name]; }

  set(name, value) {
    if (this.values[name] === value) return;
    this.values[name] = value;
    for (const listener of [...(this.listeners.get(`change:${name}`) ?? [])]) listener();
  }

  save_changes() {}

  on(event, listener) {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
  }

  off(event, listener) {
    this.listeners.set(event, (this.listeners.get(event) ?? []).filter((other) => other !== listener));
  }
}

/**
 * Put a live lab in the place of each static picture; the picture stays for print, and where a lab cannot start.
 * renderers: lab -> function; shared: values that all labs of the page have.
 */
export function mountLabs(renderers, shared = {}) {
  const mountAll = () => {
    for (const place of document.querySelectorAll(".bert-lab-static[data-lab]")) mountLab(place, renderers, shared);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", mountAll);
  else mountAll();
}

function mountLab(place, renderers, shared) {
  const render = renderers[place.dataset.lab];
  if (!render || place.classList.contains("bl-is-live")) return;
  const picture = document.createElement("div");
  picture.className = "bl-static";
  picture.append(...place.childNodes);
  const live = document.createElement("div");
  live.className = "bl-live";
  place.append(picture, live);
  try {
    render({ model: new PageModel({ ...shared, ...JSON.parse(place.dataset.state) }), el: live });
    place.classList.add("bl-is-live");
  } catch (problem) {
    console.error(problem);
    live.textContent = `This lab could not start: ${problem.message}`;
  }
}
