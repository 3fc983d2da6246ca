"""The clinic: each patient is broken in its own way, the loader says so, and the lab judges diagnoses."""

import os

import pytest
import torch

from bert_lab.checkpoint import load_bert
from bert_lab.labs import clinic
from bert_lab.labs.clinic import LOADS, PATIENTS, ClinicLab, admit, examine
from bert_lab.model import BertConfig, BertForMLM
from bert_lab.rng import PCG32

SIGNS = {  # words of the loader's answer
    "A": ("1 shape", "intermediate.dense.weight", "[24, 16]", "[16, 24]"),
    "B": ("1 file", "model.safetensors", "git lfs pull"),
    "C": ("1 conflict", "cls.predictions.decoder.weight"),
    "D": ("1 missing", "layer.0.attention.output.dense.bias"),
    "E": ("1 config", "hidden_act", "gelu_new"),
    "F": ("16 unexpected", "encoder.layer.1.output.dense.weight"),
    "G": ("5 missing", "cls.predictions.transform.dense.weight", "BertEncoder"),
    "H": ("1 file", "cut off, by 100 of"),
    "I": ("1 no file", "pytorch_model.bin", "pickle"),
    "J": ("1 no file", "model-00002-of-00002.safetensors"),
    "K": ("1 conflict", "LayerNorm.gamma"),
    "L": (LOADS,),
}


@pytest.fixture(scope="module")
def model():
    config = BertConfig(vocab=40, max_len=12, d_model=16, n_heads=4, n_layers=2, d_ff=24)
    model = BertForMLM(config, PCG32(1)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 10  # small weights hide the number of heads
    return model


@pytest.fixture(scope="module")
def wards(model, tmp_path_factory):
    return admit(model, tmp_path_factory.mktemp("clinic"))


def test_a_dozen_patients_with_a_diagnosis_each(wards):
    assert list(wards) == list(SIGNS) == list("ABCDEFGHIJKL")
    assert len({patient.diagnosis for patient in PATIENTS.values()}) == 12
    for patient in PATIENTS.values():
        assert patient.sign.endswith(".") and patient.cure.endswith(".")


@pytest.mark.parametrize("letter", SIGNS)
def test_what_the_loader_says(wards, letter):
    said = examine(wards[letter])
    for words in SIGNS[letter]:
        assert words in said
    assert str(wards[letter].parent) not in said, "no path of this machine"
    assert said == LOADS or said.startswith(("CheckpointError: ", "CheckpointFileError: ")[letter in "IJ"])


def test_the_silent_one_is_another_function_of_the_same_weights(model, wards):
    patient = load_bert(wards["L"])
    assert patient.config.n_heads == 2
    assert all(map(torch.equal, model.parameters(), patient.parameters()))
    ids = torch.tensor([[2, 5, 6, 3]])
    assert (patient(ids)[0] - model(ids)[0]).abs().max() > 1e-5


def test_a_long_answer_is_cut(wards):
    lines = examine(wards["F"], lines=3).splitlines()
    assert len(lines) == 4 and lines[-1] == "  ... and 14 lines more"
    assert len(examine(wards["F"]).splitlines()) == 17
    assert examine(wards["D"], lines=3) == examine(wards["D"])


@pytest.fixture
def lab(wards):
    lab = ClinicLab(wards)
    yield lab
    assert lab.error.value == ""


def test_what_the_lab_starts_with(lab):
    assert (lab.patient, lab.diagnosis) == ("A", None)
    assert "[16, 24]" in lab.error_text and "[16, 24]" in lab.symptom.value
    assert lab.as_text().startswith("Checkpoint clinic: Choose a patient")
    assert "Patient A" in lab.as_text() and "[16, 24]" in lab.as_text() and "[16, 24]" in lab.as_html()
    names = [value for _, value in lab.diagnosis_menu.options[1:]]
    assert names == sorted(names) and len(names) == 12


@pytest.mark.parametrize("letter", PATIENTS)
def test_every_patient_can_be_diagnosed(lab, letter):
    lab.patient_menu.value = letter
    lab.diagnosis_menu.value = PATIENTS[letter].diagnosis
    lab.button.click()
    assert "Right" in lab.verdict.value and "1 of 12 patients diagnosed." in lab.verdict.value
    assert lab.healed == {letter}


def test_a_wrong_diagnosis_gets_the_sign_of_what_was_said(lab):
    lab.button.click()
    assert "Choose a diagnosis first." in lab.verdict.value
    lab.diagnosis_menu.value = PATIENTS["I"].diagnosis
    lab.button.click()
    assert "Not so" in lab.verdict.value and "<code>.bin</code>" in lab.verdict.value
    assert lab.healed == set() and "0 of 12" in lab.verdict.value
    lab.patient_menu.value = "I"
    assert lab.verdict.value == "", "the verdict was on another patient"
    lab.button.click()
    assert "Right" in lab.verdict.value and lab.healed == {"I"}


def test_an_error_shows_inside_and_the_lab_goes_on(lab, monkeypatch):
    monkeypatch.setattr(clinic, "examine", lambda ward: 1 / 0)
    lab.patient_menu.value = "B"
    assert "ZeroDivisionError" in lab.error.value
    assert lab.symptom.value == "" and "no answer" in lab.as_text() and "no answer" in lab.as_html()
    monkeypatch.undo()
    lab.patient_menu.value = "C"
    assert "conflict" in lab.error_text


def test_the_lab_can_be_used_from_the_keyboard(lab):
    controls = (lab.patient_menu, lab.diagnosis_menu, lab.button)
    assert all(control.description and control.tabbable is not False for control in controls)


def test_paths_are_cut_with_the_systems_separator(tmp_path, monkeypatch):
    def fail(ward):
        raise ValueError(f"{ward}{os.sep}config.json: no")

    monkeypatch.setattr(clinic, "load_bert", fail)
    assert examine(tmp_path / "X") == f"ValueError: X{os.sep}config.json: no"
