"""The reference under the name of a learner's file: what the tests beside it are run on by hand."""

from bert_lab import (  # noqa: F401
    BertConfig,
    BertEncoder,
    BertForMLM,
    BertLayer,
    hf_bert_encoder_sd,
    load_bert,
    load_hf_bert,
    mlm_batch,
    mlm_mask,
    save_bert,
    special_ids,
)
