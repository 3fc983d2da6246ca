"""Labs, predictions and exercises: what a chapter of the book puts on the page, loaded on first use."""

from bert_lab.lazy import exports

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
    "AttentionLab": "attention_lab",
    "AttentionSteps": "attention_steps",
    "TwoBlanksLab": "two_blanks",
    "LadderLab": "ladder",
    "climb": "ladder",
    "ClinicLab": "clinic",
    "admit": "clinic",
    "examine": "clinic",
    "FillInLab": "fill_in",
    "PitfallLab": "pitfall_lab",
    "ModernLab": "modern_lab",
}

__all__ = list(_HOME)

__getattr__, __dir__ = exports(globals(), _HOME)
