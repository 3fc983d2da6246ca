"""Labs, predictions and exercises: what a chapter of the book puts on the page, loaded on first use."""

import importlib

_HOME = {
    "predict": "prediction",
    "check": "exercise",
    "token_strip": "strip",
    "Strip": "strip",
    "fates_of": "strip",
    "worksheet": "worksheets",
    "DrawMicroscope": "microscope",
    "MaskingLab": "masking_lab",
    "PowerLab": "power",
    "BatchLab": "batch_lab",
    "BatchTable": "batch_lab",
    "batch_map": "batch_lab",
    "AttentionSteps": "attention_steps",
    "TwoBlanksLab": "two_blanks",
    "LadderLab": "ladder",
    "climb": "ladder",
    "ClinicLab": "clinic",
    "admit": "clinic",
    "examine": "clinic",
}

__all__ = list(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value  # the next access finds it without this call
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_HOME))
