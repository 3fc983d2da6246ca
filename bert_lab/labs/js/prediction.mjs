// A prediction: the question, its choices, and after the commit the truth with a sentence for each of them.
import { addStyle, element, labFrame, marked, pushButton, redraws } from "./elements.mjs";

const PREDICTION_CSS = `
.bl-lab .bl-choices { margin: 4px 0 8px; padding: 0; border: 0; }
.bl-lab .bl-choice { display: flex; align-items: baseline; gap: 10px; width: fit-content; max-width: 100%; margin: 0;
  padding: 4px 10px 4px 4px; border-radius: 4px; font-weight: normal; color: inherit; cursor: pointer; }
.bl-lab .bl-choice:hover { background: var(--bl-soft); }
.bl-lab .bl-choice input { transform: translateY(3px); }
.bl-lab .bl-choice:has(input:disabled) { cursor: default; background: none; }
.bl-lab .bl-choice:has(input:disabled:checked) { font-weight: 700; }
.bl-lab .bl-truth { margin-top: 8px; }
.bl-lab .bl-truth:empty { display: none; }
.bl-lab .bl-truth li { margin: 3px 0; }
`;

/**
 * What is told after the commit: {right, said, rows}, texts in which `backticks` mark code.
 * options: pairs of a choice and its sentence. rows: [choice, "is right" or "is wrong", sentence], the right one first.
 */
export function truthOf(options, right, choice) {
  const rows = options.map(([name, sentence]) => [name, name === right ? "is right" : "is wrong", sentence]);
  const ordered = [...rows.filter(([name]) => name === right), ...rows.filter(([name]) => name !== right)];
  return { right: choice === right, said: choice === right ? `${choice}.` : `you said ${choice}.`, rows: ordered };
}

/** What was committed on this page before: kept in this browser, which may refuse to keep anything. */
function keptChoice(key, choice) {
  try {
    if (choice === undefined) return localStorage.getItem(key);
    if (choice === null) localStorage.removeItem(key);
    else localStorage.setItem(key, choice);
  } catch { /* a browser that keeps nothing: the choice lasts until the page is left */ }
  return null;
}

export function renderPrediction({ model, el }) {
  addStyle("bert-lab-prediction", PREDICTION_CSS);
  const { controls, result, guard } = labFrame(el, { model });
  const [, question] = model.get("header");
  const options = model.get("options");
  const key = `bert_lab ${location.pathname} ${question}`;
  const inputs = options.map((_, i) => element("input", { type: "radio", name: "choice", value: i }));
  const choices = element("fieldset", { class: "bl-choices", role: "radiogroup", "aria-label": "Your prediction" },
    ...options.map(([choice], i) => element("label", { class: "bl-choice" }, inputs[i], element("span", {}, ...marked(choice)))));
  const commit = element("button", { type: "submit" }, "Commit");
  const again = pushButton("Answer again", () => guard(() => {
    settle(null);
    queueMicrotask(() => inputs[0].focus()); // once it is drawn
  }));
  const row = element("div", { class: "bl-row bl-tight" }, commit, again);
  // A form of its own: radio buttons of other predictions on the page are no part of this group.
  controls.append(element("form", {
    submit: (event) => {
      event.preventDefault();
      guard(() => {
        const at = inputs.findIndex((input) => input.checked);
        if (at < 0) {
          truth.replaceChildren("Choose one first.");
          return;
        }
        settle(options[at][0]);
        queueMicrotask(() => truth.focus()); // once it is drawn
      });
    },
  }, choices, row));
  const truth = element("div", { class: "bl-truth", role: "status", tabindex: -1 });
  result.append(truth);

  function settle(choice) {
    model.set("choice", choice);
    model.save_changes();
    if (model.alone) keptChoice(key, choice);
  }

  if (model.alone) {
    const before = keptChoice(key);
    if (options.some(([choice]) => choice === before)) model.set("choice", before);
  }
  return redraws(model, ["choice"], () => guard(() => {
    const choice = model.get("choice") ?? null;
    const done = choice !== null;
    inputs.forEach((input, i) => {
      input.disabled = done;
      if (done || commit.disabled) input.checked = options[i][0] === choice;
    });
    commit.disabled = done;
    commit.textContent = done ? "Committed" : "Commit";
    again.hidden = !(done && model.alone);
    truth.replaceChildren(...(done ? told(truthOf(options, model.get("right"), choice)) : []));
  }));
}

function told({ right, said, rows }) {
  return [
    element("span", { class: right ? "bl-good" : "bl-bad" }, right ? "Right" : "Not so"), ": ", ...marked(said),
    element("ul", {}, ...rows.map(([choice, verdict, sentence]) =>
      element("li", {}, element("b", {}, ...marked(choice)), ` ${verdict}: `, ...marked(sentence)))),
  ];
}
