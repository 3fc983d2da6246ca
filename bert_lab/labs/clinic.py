"""The checkpoint clinic: twelve broken checkpoints, the error of each, and a lab to diagnose them."""

import dataclasses
import html
import json
import os
from collections.abc import Callable
from pathlib import Path

import ipywidgets as widgets
from safetensors.torch import load_file, save_file

from bert_lab.checkpoint import load_bert, save_bert
from bert_lab.labs.base import Lab, bad, good, inline_html, inline_text

WEIGHTS, CONFIG = "model.safetensors", "config.json"
LOADS = "It loads without an error."
_LAYER, _HEAD = "bert.encoder.layer.0.", "cls.predictions."


@dataclasses.dataclass(frozen=True)
class Patient:
    """A broken checkpoint: how a sound directory is damaged, the diagnosis, its sign and its cure."""

    harm: Callable[[Path], None]
    diagnosis: str
    sign: str
    cure: str


def _weights(change: Callable[[dict], None]) -> Callable[[Path], None]:
    """Rewrite the file of weights after `change(state dict)`."""

    def harm(folder: Path) -> None:
        tensors = load_file(folder / WEIGHTS)
        change(tensors)
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / WEIGHTS)

    return harm


def _config(name: str, change: Callable) -> Callable[[Path], None]:
    """Rewrite one entry of the config by `change(value)`."""

    def harm(folder: Path) -> None:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        config[name] = change(config.get(name))
        (folder / CONFIG).write_text(json.dumps(config), encoding="utf-8")

    return harm


def _transpose(tensors: dict) -> None:
    tensors[_LAYER + "intermediate.dense.weight"] = tensors[_LAYER + "intermediate.dense.weight"].T


def _untie(tensors: dict) -> None:
    tensors[_HEAD + "decoder.weight"] = tensors["bert.embeddings.word_embeddings.weight"] + 0.01


def _remove_tensor(tensors: dict) -> None:
    del tensors[_LAYER + "attention.output.dense.bias"]


def _remove_head(tensors: dict) -> None:
    for name in [name for name in tensors if name.startswith(_HEAD)]:
        del tensors[name]


def _name_twice(tensors: dict) -> None:
    tensors["bert.embeddings.LayerNorm.gamma"] = tensors["bert.embeddings.LayerNorm.weight"] + 0.5


def _write_pointer(folder: Path) -> None:
    size = (folder / WEIGHTS).stat().st_size
    text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4b8d' * 16}\nsize {size}\n"
    (folder / WEIGHTS).write_text(text, encoding="utf-8")


def _truncate(folder: Path) -> None:
    data = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(data[:-100])


def _rename_to_pickle(folder: Path) -> None:
    (folder / WEIGHTS).rename(folder / "pytorch_model.bin")


def _remove_shard(folder: Path) -> None:
    tensors = load_file(folder / WEIGHTS)
    (folder / WEIGHTS).unlink()
    names, shards = sorted(tensors), [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    half = len(names) // 2
    places = {name: shards[i >= half] for i, name in enumerate(names)}
    index = {"metadata": {}, "weight_map": places}
    (folder / f"{WEIGHTS}.index.json").write_text(json.dumps(index), encoding="utf-8")
    save_file({name: tensors[name] for name in names[:half]}, folder / shards[0])


PATIENTS = {
    "A": Patient(
        _weights(_transpose),
        "a weight matrix is transposed",
        "A transposed matrix has its two sizes the wrong way round.",
        "Transpose it where it was written; a square matrix would have loaded in silence.",
    ),
    "B": Patient(
        _write_pointer,
        "the weights file is only a pointer",
        "A pointer of Git LFS is a small text in the place of the weights.",
        "Fetch the file itself, with `git lfs pull`.",
    ),
    "C": Patient(
        _weights(_untie),
        "the decoder is not tied",
        "A decoder weight of its own differs from the word table, which our decoder uses.",
        "It is another model: loading it as a tied one would change its answers.",
    ),
    "D": Patient(
        _weights(_remove_tensor),
        "one tensor is missing",
        "A missing tensor is named, with nothing else wrong around it.",
        "Save the whole state dict again. A random bias in its place would be worse than an error.",
    ),
    "E": Patient(
        _config("hidden_act", lambda value: "gelu_new"),
        "the config asks for another GELU",
        "The activation is an entry of the config, and no tensor tells it.",
        "`gelu_new` is the tanh GELU. If the model was trained with it, it needs code that has it.",
    ),
    "F": Patient(
        _config("num_hidden_layers", lambda value: value - 1),
        "the config has fewer layers than the file",
        "All tensors of one layer are left over.",
        "Find the config that belongs to these weights.",
    ),
    "G": Patient(
        _weights(_remove_head),
        "the checkpoint has no MLM head",
        "Everything of the head is missing, and nothing else.",
        "Load it into a bare `BertEncoder`, or find the checkpoint that has the head.",
    ),
    "H": Patient(
        _truncate,
        "the download was cut off",
        "A cut file is shorter than its own header says.",
        "Download it again, and compare its size or its checksum.",
    ),
    "I": Patient(
        _rename_to_pickle,
        "the weights are a pickle",
        "There is a `.bin` file and no `.safetensors`.",
        "A pickle can run any code when it is opened. Have its owner save it as safetensors.",
    ),
    "J": Patient(
        _remove_shard,
        "a part of a sharded checkpoint is missing",
        "The index names a file that is not there.",
        "Download the missing part.",
    ),
    "K": Patient(
        _weights(_name_twice),
        "a norm is stored under two names",
        "The old name `gamma` and the new name `weight` hold different values.",
        "Only one can be right. Ask where the file was converted.",
    ),
    "L": Patient(
        _config("num_attention_heads", lambda value: value // 2),
        "the config has the wrong number of heads",
        "No tensor's shape depends on the number of heads, so that nothing can be noticed on loading.",
        "Compare outputs with those of the original: only parity shows it.",
    ),
}


def admit(model, folder) -> dict[str, Path]:
    """Save the model once for each patient, as `folder/A` to `folder/L`, and break each copy in its own way.

    model: a `BertForMLM` with at least two layers and an even number of heads. Returns the directories by
    letter.
    """
    wards = {letter: Path(folder) / letter for letter in PATIENTS}
    for letter, ward in wards.items():
        save_bert(model, ward)
        PATIENTS[letter].harm(ward)
    return wards


def examine(ward: Path, lines: int | None = None) -> str:
    """The error of `load_bert` for this directory, with paths from the directory on; or that it loads.

    lines: how many lines of the error to give at most; by default all.
    """
    try:
        load_bert(ward)
    except Exception as problem:
        said = f"{type(problem).__name__}: {problem}".replace(f"{ward.parent}{os.sep}", "").splitlines()
        more = len(said) - len(said[:lines])
        return "\n".join([*said[:lines], *([f"  ... and {more} lines more"] if more else [])])
    return LOADS


class ClinicLab(Lab):
    """Choose a patient, read the loader's error, and commit to a diagnosis.

    wards: directories by letter, from `admit`. `patient` and `diagnosis` are the chosen values, `error_text`
    is the loader's error, and `healed` are the letters of the patients with a right diagnosis.
    """

    def __init__(self, wards: dict[str, Path]):
        self.wards = wards
        self.healed = set()
        self.error_text = None
        look = {
            "style": {"description_width": "90px"},
            "layout": widgets.Layout(width="480px", max_width="100%"),
        }
        self.patient_menu = widgets.Dropdown(options=list(wards), description="patient", **look)
        names = sorted(PATIENTS[letter].diagnosis for letter in wards)
        choices = [("(choose one)", None), *((name, name) for name in names)]
        self.diagnosis_menu = widgets.Dropdown(options=choices, description="diagnosis", **look)
        self.button = widgets.Button(description="Commit", tooltip="Commit to this diagnosis")
        self.button.on_click(lambda _button: self.guard(self.commit))
        self.symptom, self.verdict = widgets.HTML(""), widgets.HTML("")
        super().__init__(
            "Checkpoint clinic",
            "Choose a patient, read what the loader says, and commit to a diagnosis.",
            [self.patient_menu, self.symptom, self.diagnosis_menu, self.button],
            [self.verdict],
        )
        self.watch(self.patient_menu)
        self.refresh()

    @property
    def patient(self) -> str:
        """The letter of the patient."""
        return self.patient_menu.value

    @property
    def diagnosis(self) -> str | None:
        """The chosen diagnosis, or None."""
        return self.diagnosis_menu.value

    def draw(self) -> None:
        """Examine the patient and show the loader's error."""
        self.error_text, self.symptom.value, self.verdict.value = None, "", ""
        self.error_text = examine(self.wards[self.patient])
        self.symptom.value = (
            '<pre role="status" style="white-space:pre-wrap;font-size:14px;margin:4px 0">'
            f"{html.escape(self.error_text)}</pre>"
        )

    def commit(self) -> None:
        """Compare the diagnosis with the damage."""
        if self.diagnosis is None:
            self.verdict.value = '<div role="status">Choose a diagnosis first.</div>'
            return
        patient = PATIENTS[self.patient]
        if self.diagnosis == patient.diagnosis:
            self.healed.add(self.patient)
            said = f"{good('Right')}. {inline_html(patient.sign)} {inline_html(patient.cure)}"
        else:
            (other,) = (p for p in PATIENTS.values() if p.diagnosis == self.diagnosis)
            said = f"{bad('Not so')}. Does this fit what the loader says? {inline_html(other.sign)}"
        self.verdict.value = f'<div role="status">{said}<br>{self.score()}</div>'

    def score(self) -> str:
        """The number of patients with a right diagnosis, as text."""
        return f"{len(self.healed)} of {len(self.wards)} patients diagnosed."

    def as_text(self) -> str:
        """The patient and the loader's error, as plain text."""
        return f"{super().as_text()}\nPatient {self.patient}\n{inline_text(self.error_text or 'no answer')}"

    def as_html(self) -> str:
        """The patient and the loader's error, as HTML."""
        return (
            f"{super().as_html()}<p>Patient {self.patient}: {html.escape(self.error_text or 'no answer')}</p>"
        )
