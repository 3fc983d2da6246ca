"""bert_lab: how BERT is trained to fill in blanks, exact enough to be trusted as software.

The names of the contract are re-exported here and loaded on first use, so that `import bert_lab` loads
neither torch nor matplotlib nor transformers.
"""

from .lazy import exports

__version__ = "0.1.0"

_HOME = {
    "PCG32": "rng",
    "ScriptedDraws": "rng",
    "sample_categorical": "rng",
    "normal_init": "rng",
    "mlm_mask": "masking",
    "WordPieceTokenizer": "wordpiece",
    "special_ids": "wordpiece",
    "mlm_batch": "batches",
    "example_stream": "rng",
    "mask_whole_words": "wholeword",
    "MLMDataset": "datasets",
    "MLMCollator": "datasets",
    "BertConfig": "model",
    "BertLayer": "model",
    "BertEncoder": "model",
    "BertForMLM": "model",
    "attention_maps": "model",
    "influence": "model",
    "fill_mask": "model",
    "load_hf_bert": "checkpoint",
    "hf_bert_encoder_sd": "checkpoint",
    "save_bert": "checkpoint",
    "load_bert": "checkpoint",
    "checkpoint_report": "checkpoint",
    "manual_bert": "shipped",
    "BertForSequenceClassification": "heads",
    "BertForTokenClassification": "heads",
    "Electra": "electra",
    "ElectraDiscriminator": "electra",
    "ModernForMLM": "modern",
    "load": "zoo",
    "save": "zoo",
}

__all__ = [*_HOME, "__version__"]

__getattr__, __dir__ = exports(globals(), _HOME)
