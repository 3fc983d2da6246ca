"""The faults: each is one change of the reference that somebody made, or could make, and believes in.

A row says what is changed, why it looks right, what comes of it, and what catches it. The rows s01 to s12 are
the pitfalls of the course text, section 5. The rows b01 and on are bugs seen in public, with their threads.
`bert_lab.course.mutants` makes running code of a row.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One fault: where it is, what it changes, and what the person who makes it believes."""

    id: str  # "s01": a pitfall of the course text; "b01": a bug seen in public
    pitfall: str  # a short title of the fault
    module: str  # the module of bert_lab that is changed
    old: str  # stands in that module exactly once
    new: str
    misconception: str  # what the person who makes it believes
    symptom: str  # what is seen
    tests: tuple[str, ...]  # all the course tests that turn red
    chapter: str  # a chapter that turns red under nbval
    hints: tuple[str, str, str]  # what to think about, what to vary, what to assert
    seen: str = ""  # the public thread, "owner/repository#12", or "owner/repository PR#12"

    @property
    def url(self) -> str:
        """The thread's address; empty where there is no thread."""
        repository, _, number = self.seen.partition("#")
        kind = "pull" if repository.endswith(" PR") else "issues"
        return f"https://github.com/{repository.removesuffix(' PR')}/{kind}/{number}" if self.seen else ""

    @property
    def required(self) -> bool:
        """True for the pitfalls of the course text: tests that miss one do not pass."""
        return self.id[0] == "s"

    @property
    def part(self) -> str:
        """Which half of the course it belongs to: "masking" or "model"."""
        return "masking" if self.module in ("masking", "batches") else "model"


ROWS = [
    Mutant(
        id="s01",
        pitfall="special or padded positions picked",
        module="masking",
        old="        if special[t]:\n            continue\n",
        new="",
        misconception="Every position is a word, so every position may be picked.",
        symptom="The model learns to predict [CLS] and [PAD].",
        tests=("test_hand_example_mlm_mask", "test_mask_follows_the_op_order", "test_mlm_batch_from_text"),
        chapter="01_mask_by_hand",
        hints=(
            "Think about what the argument special_mask promises.",
            "Give mlm_mask a row that begins with [CLS] and ends with [SEP] and [PAD], and a p of 1.",
            "Assert that where special_mask is true the input is as it was and the label is -100.",
        ),
    ),
    Mutant(
        id="s02",
        pitfall="every position labelled",
        module="masking",
        old='    """The order of draws, position by position; ids int64 [N], special bool [N]."""\n'
        "    inputs = ids.copy()\n"
        "    labels = np.full_like(ids, IGNORE)\n",
        new='    """The order of draws, position by position; ids int64 [N], special bool [N]."""\n'
        "    inputs = ids.copy()\n"
        "    labels = ids.copy()\n",
        misconception="The labels are the sentence; the loss will see to the rest.",
        symptom="Most of the loss is the reward for copying visible tokens, so it soon looks very small.",
        tests=(
            "test_hand_example_mlm_mask",
            "test_mask_follows_the_op_order",
            "test_mask_rates",
            "test_mlm_batch_from_text",
        ),
        chapter="01_mask_by_hand",
        hints=(
            "Think about which positions the model is asked about.",
            "Take a p below 1, so that some positions are picked and some are not.",
            "Assert the label of a position that was not picked, and that of a special one.",
        ),
    ),
    Mutant(
        id="s03",
        pitfall="random and keep swapped",
        module="masking",
        old="        elif action == 1:\n",
        new="        elif action == 2:\n",
        misconception="Both have a share of a tenth, so their order cannot matter.",
        symptom="The rates look right, and the batch differs from that of every other implementation.",
        tests=(
            "test_hand_example_mlm_mask",
            "test_keep_action_still_predicts",
            "test_mask_follows_the_op_order",
        ),
        chapter="01_mask_by_hand",
        hints=(
            "Think about what rates cannot tell apart.",
            "Script the second uniform of a pick: one value just above 0.8, and another just above 0.9.",
            "Assert for each of the two what is shown, and whether below(n) was asked for.",
        ),
    ),
    Mutant(
        id="s04",
        pitfall="the label is what was shown, not the original",
        module="masking",
        old="            inputs[t] = rng.below(vocab)\n    return inputs, labels\n",
        new="            inputs[t] = rng.below(vocab)\n"
        "    return inputs, np.where(labels == IGNORE, IGNORE, inputs)\n",
        misconception="The model is to predict what stands at the position.",
        symptom="The model learns to predict [MASK].",
        tests=("test_hand_example_mlm_mask", "test_mask_follows_the_op_order", "test_mlm_batch_from_text"),
        chapter="01_mask_by_hand",
        hints=(
            "Think about what the right answer is at a position that was hidden.",
            "Pick a position and let its action be [MASK], then another whose action is a random id.",
            "Assert that the label at each picked position equals the id that went in.",
        ),
    ),
    Mutant(
        id="s05",
        pitfall="a second uniform drawn for every position",
        module="masking",
        old="        if rng.uniform() >= p:\n            continue\n        labels[t] = original\n"
        "        action = sample_categorical(split, rng.uniform())\n",
        new="        u, u_action = rng.uniform(), rng.uniform()\n"
        "        if u >= p:\n            continue\n        labels[t] = original\n"
        "        action = sample_categorical(split, u_action)\n",
        misconception="Two draws a position are simpler, and the rates are the same.",
        symptom="The stream differs from the second position on.",
        tests=("test_hand_example_mlm_mask", "test_mask_follows_the_op_order"),
        chapter="01_mask_by_hand",
        hints=(
            "Think about how many draws a position makes, and when.",
            "Script the draws of a row in which a position that is not picked comes before one that is.",
            "Assert the list of draws that were made, and that the script was used up.",
        ),
    ),
    Mutant(
        id="s06",
        pitfall="GPT-2's tanh GELU instead of the exact one",
        module="model",
        old="F.gelu(self.ff_in(h))",
        new='F.gelu(self.ff_in(h), approximate="tanh")',
        misconception="GELU is GELU; the tanh form is only a faster way to write it.",
        symptom="The outputs differ from Hugging Face's by about a thousandth.",
        tests=("test_golden_hf_bert", "test_layer_matches_the_formula"),
        chapter="04_build_the_encoder",
        hints=(
            "Think about what a layer does between its two feed-forward matrices.",
            "Write one layer in float64 NumPy with math.erf, and give the model large weights.",
            "Assert that the two outputs agree to 1e-8, not to 1e-2.",
        ),
    ),
    Mutant(
        id="s07",
        pitfall="pre-LN instead of BERT's post-LN",
        module="model",
        old="        mixed = self.attention(h, rows, allowed)\n"
        "        if places is not None:\n"
        "            h, mixed = h.index_select(0, places), mixed.index_select(0, places)\n"
        "        h = self.attention_norm(h + self.drop(self.attention.output(mixed)))\n"
        "        return self.ff_norm(h + self.drop(self.ff_out(F.gelu(self.ff_in(h)))))\n",
        new="        mixed = self.attention(self.attention_norm(h), rows, allowed)\n"
        "        if places is not None:\n"
        "            h, mixed = h.index_select(0, places), mixed.index_select(0, places)\n"
        "        h = h + self.drop(self.attention.output(mixed))\n"
        "        return h + self.drop(self.ff_out(F.gelu(self.ff_in(self.ff_norm(h)))))\n",
        misconception="The norm goes before each part, as in GPT-2 and in most models since.",
        symptom="It is a different model: it trains, and real checkpoints give nonsense in it.",
        tests=("test_golden_hf_bert", "test_layer_matches_the_formula"),
        chapter="04_build_the_encoder",
        hints=(
            "Think about the order of the steps in a layer, which no shape shows.",
            "Write one layer in NumPy from the formula, and give the norms other weights than 1 and 0.",
            "Assert that the encoder's output equals that of your layer.",
        ),
    ),
    Mutant(
        id="s08",
        pitfall="padding keys not masked",
        module="packing",
        old="        keys = rows.real[:, None, None, :]",
        new="        keys = torch.ones_like(rows.real)[:, None, None, :]",
        misconception="Padding is zeros, and zeros add nothing.",
        symptom="A sentence's output depends on the longest sentence of its batch.",
        tests=("test_golden_hf_bert", "test_padding_is_never_read"),
        chapter="05_read_both_ways",
        hints=(
            "Think about what a sentence's output may depend on, and what it may not.",
            "Run a short sentence alone, and again beside a longer one with the attention mask of both.",
            "Assert that the outputs at its real positions are the same.",
        ),
    ),
    Mutant(
        id="s09",
        pitfall="token types never added",
        module="model",
        old="        h = h + self.token_type(rows.pack(types))\n",
        new="",
        misconception="Token types are for pairs, and this is one sentence.",
        symptom="A pair of sentences looks like one sentence.",
        tests=("test_golden_hf_bert", "test_layer_matches_the_formula", "test_token_types_are_added"),
        chapter="04_build_the_encoder",
        hints=(
            "Think about each argument of the encoder: what must change when it does?",
            "Run the same ids twice, with other token types the second time.",
            "Assert that the outputs differ by more than rounding.",
        ),
    ),
    Mutant(
        id="s10",
        pitfall="the decoder bias left out",
        module="model",
        old="F.linear(z, self.encoder.word.weight, self.decoder_bias)",
        new="F.linear(z, self.encoder.word.weight)",
        misconception="The decoder is the word table, and a table has no bias.",
        symptom="The logits differ from Hugging Face's once a model is trained, and not in a new one.",
        tests=("test_golden_hf_bert", "test_decoder_is_tied_and_has_a_bias"),
        chapter="06_predict_the_blank",
        hints=(
            "Think about which parameters a new model starts at zero, and what a test sees of them then.",
            "Give every parameter of the model values that are not zero, and change one of them at a time.",
            "Assert that each of the head's parameters moves the logits, and by how much.",
        ),
    ),
    Mutant(
        id="s11",
        pitfall="a causal mask copied from GPT",
        module="model",
        old="        return self.drop(self.norm(h)), rows, as_allowed(allowed, rows)\n",
        new="        allowed = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()\n"
        "        return self.drop(self.norm(h)), rows, as_allowed(allowed, rows)\n",
        misconception="Attention needs a triangular mask, or it would see the answer.",
        symptom="The encoder reads in one direction: the first position knows nothing of the last.",
        tests=("test_golden_hf_bert", "test_layer_matches_the_formula", "test_reads_both_directions"),
        chapter="05_read_both_ways",
        hints=(
            "Think about which positions a position may learn from.",
            "Change one id at the end of a sentence, then one at its start.",
            "Assert that the outputs at both ends move each time.",
        ),
    ),
    Mutant(
        id="s12",
        pitfall="the padding of a batch picked",
        module="batches",
        old="np.isin(ids, specials)",
        new="np.isin(ids, [s for s in specials if s != tok.pad_id])",
        misconception="Padding is added after the text, so it is no special token.",
        symptom="The model learns to predict [PAD], the more of it the more the lengths of a batch differ.",
        tests=("test_mlm_batch_from_text",),
        chapter="03_from_text_to_batches",
        hints=(
            "Think about what a batch holds besides the pieces of its texts.",
            "Give mlm_batch two texts of different lengths, and a p of 1.",
            "Assert that labels are -100 wherever the attention mask is 0.",
        ),
    ),
]

MUTANTS = {row.id: row for row in ROWS}
