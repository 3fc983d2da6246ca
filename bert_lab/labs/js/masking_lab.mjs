import { controlRow, labFrame, redraws, sliderFor } from "./look.mjs";

export function renderMaskingLab({ model, el }) {
  const { controls, result, guard } = labFrame(el, { model, title: "Masking lab", howTo: "Move the slider." });
  const p = sliderFor(model, "p", { min: 0, max: 1, step: 0.01, say: (value) => value.toFixed(2) });
  controls.append(controlRow(p.field));
  return redraws(model, ["p"], () => guard(() => {
    p.show();
    result.textContent = `p is ${model.get("p")}`;
  }));
}
