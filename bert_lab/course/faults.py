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
        old="        mixed = self.attention(h, batch)  # [N, d]\n"
        "        h = self.attention_norm(h[at] + self.drop(self.attention.output(mixed[at])))  # [M, d]\n"
        "        return self.ff_norm(h + self.drop(self.ff_out(F.gelu(self.ff_in(h)))))  # [M, d]\n",
        new="        mixed = self.attention(self.attention_norm(h), batch)  # [N, d]\n"
        "        h = h[at] + self.drop(self.attention.output(mixed[at]))  # [M, d]\n"
        "        return h + self.drop(self.ff_out(F.gelu(self.ff_in(self.ff_norm(h)))))  # [M, d]\n",
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
        module="padding",
        old="            keys = self.real[:, None, None, :]\n",
        new="            keys = torch.ones_like(self.real)[:, None, None, :]\n",
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
        old=" + self.token_type(batch.token_types)\n",
        new="\n",
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
        module="padding",
        old="        super().__init__(torch.tensor(real, device=device), allowed)\n",
        new="        allowed = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()\n"
        "        super().__init__(torch.tensor(real, device=device), allowed)\n",
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
    Mutant(
        id="b01",
        pitfall="one draw reused for pick and action",
        module="masking",
        old="        if rng.uniform() >= p:\n            continue\n        labels[t] = original\n"
        "        action = sample_categorical(split, rng.uniform())\n",
        new="        u = rng.uniform()\n"
        "        if u >= p:\n            continue\n        labels[t] = original\n"
        "        action = sample_categorical(split, u)\n",
        misconception="A uniform draw is random; it can serve for both decisions.",
        symptom="Every picked position shows [MASK]: where u is below p, it is below 0.8 too.",
        tests=(
            "test_hand_example_mlm_mask",
            "test_keep_action_still_predicts",
            "test_mask_follows_the_op_order",
            "test_mask_rates",
        ),
        chapter="03_from_text_to_batches",
        hints=(
            "Think about what is already known of a number once a decision was made by it.",
            "Pick positions with a p well below 0.8, and count what the picked ones show.",
            "Assert that a random id and a kept token come up too, each at its share.",
        ),
        seen="codertimo/BERT-pytorch#29",
    ),
    Mutant(
        id="b02",
        pitfall="80/2/18: a tenth of the rest, not of all",
        module="masking",
        old="        action = sample_categorical(split, rng.uniform())\n",
        new="        mask, random, _ = split\n"
        "        shares = mask, (1 - mask) * random, (1 - mask) * (1 - random)\n"
        "        action = sample_categorical(shares, rng.uniform())\n",
        misconception="Of the positions that do not show [MASK], one in ten gets a random token.",
        symptom="Random tokens are five times too rare: 2% of the picks instead of 10%.",
        tests=("test_hand_example_mlm_mask", "test_mask_follows_the_op_order", "test_mask_rates"),
        chapter="01_mask_by_hand",
        hints=(
            "Think about what each share of the split is a share of.",
            "Mask tens of thousands of positions with a p of 1, and count what is shown.",
            "Assert by a chi-square test that [MASK], other tokens and the token itself have their shares.",
        ),
        seen="huggingface/transformers#21803",
    ),
    Mutant(
        id="b03",
        pitfall="the random token overwritten by [MASK]",
        module="masking",
        old="        if action == 0:\n            inputs[t] = mask_id\n"
        "        elif action == 1:\n            inputs[t] = rng.below(vocab)\n",
        new="        if action == 1:\n            inputs[t] = rng.below(vocab)\n"
        "        if action != 2:\n            inputs[t] = mask_id\n",
        misconception="First the random tokens go in, then [MASK] goes wherever the token is not kept.",
        symptom="No random token is ever shown, though every draw and every label is right.",
        tests=("test_hand_example_mlm_mask", "test_mask_follows_the_op_order", "test_mask_rates"),
        chapter="01_mask_by_hand",
        hints=(
            "Think about each of the things that a picked position can show: have your tests seen it?",
            "Script an action between 0.8 and 0.9, and a below that is not the id of [MASK].",
            "Assert that the id which below gave is the one that is shown.",
        ),
        seen="lucidrains/mlm-pytorch#6",
    ),
    Mutant(
        id="b04",
        pitfall="90/1/9: two draws that cover one another",
        module="masking",
        old="        action = sample_categorical(split, rng.uniform())\n"
        "        if action == 0:\n            inputs[t] = mask_id\n"
        "        elif action == 1:\n            inputs[t] = rng.below(vocab)\n",
        new="        if rng.uniform() < split[1]:\n            inputs[t] = rng.below(vocab)\n"
        "        if rng.uniform() < split[0] + split[1]:\n            inputs[t] = mask_id\n",
        misconception="Each action has its own probability, so each is drawn on its own.",
        symptom="Nine tenths of the random tokens disappear under [MASK].",
        tests=(
            "test_hand_example_mlm_mask",
            "test_keep_action_still_predicts",
            "test_mask_follows_the_op_order",
            "test_mask_rates",
        ),
        chapter="01_mask_by_hand",
        hints=(
            "Think about what can happen to a position after its action was decided.",
            "Mask tens of thousands of positions, or script one pick whose action is random.",
            "Assert the share of random tokens, or that a pick makes exactly two uniform draws.",
        ),
        seen="lucidrains/mlm-pytorch#6",
    ),
    Mutant(
        id="b05",
        pitfall="81/10/9: a second draw among what the first left",
        module="masking",
        old="        action = sample_categorical(split, rng.uniform())\n"
        "        if action == 0:\n            inputs[t] = mask_id\n"
        "        elif action == 1:\n            inputs[t] = rng.below(vocab)\n",
        new="        if rng.uniform() < split[1]:\n            inputs[t] = rng.below(vocab)\n"
        "        elif rng.uniform() < split[0] + split[1]:\n            inputs[t] = mask_id\n",
        misconception="Nothing covers a random token now, so the shares are right.",
        symptom="The shares are off by one in a hundred, too little for a small sample to show.",
        tests=(
            "test_hand_example_mlm_mask",
            "test_keep_action_still_predicts",
            "test_mask_follows_the_op_order",
            "test_mask_rates",
        ),
        chapter="01_mask_by_hand",
        hints=(
            "Think about how small a deviation of the shares your sample could show.",
            "Raise p to 1 and the number of positions to 40,000, or replay the draws of one batch.",
            "Assert by a chi-square test, or assert that arrays and generator equal those of your replay.",
        ),
        seen="lucidrains/mlm-pytorch#6",
    ),
    Mutant(
        id="b06",
        pitfall="labels at every word of a batch",
        module="batches",
        old='        "labels": labels,\n',
        new='        "labels": np.where(real, ids, -100),\n',
        misconception="The model should predict the visible words too; only padding has no answer.",
        symptom="The loss is mostly that of copying, and it falls without anything being learned.",
        tests=("test_mlm_batch_from_text",),
        chapter="03_from_text_to_batches",
        hints=(
            "Think about which positions of a batch have a question to answer.",
            "Make a batch with p = 0, and one in which about half of the pieces are picked.",
            "Assert that labels are -100 at all that was not picked, and at [CLS] and [SEP].",
        ),
        seen="lucidrains/mlm-pytorch#2",
    ),
    Mutant(
        id="b07",
        pitfall="random ids bounded by the batch's largest id",
        module="masking",
        old="            inputs[t] = rng.below(vocab)\n",
        new="            inputs[t] = rng.below(ids.max() + 1)\n",
        misconception="The largest id in the data tells how large the vocabulary is.",
        symptom="Rare words are never shown as random tokens, and the draws depend on the batch's words.",
        tests=("test_hand_example_mlm_mask", "test_mask_follows_the_op_order"),
        chapter="01_mask_by_hand",
        hints=(
            "Think about which ids a random token may have.",
            "Mask a sentence of small ids with a vocabulary that is much larger.",
            "Assert what number below is asked for, or that ids larger than any in the sentence come up.",
        ),
        seen="AnswerDotAI/ModernBERT#212",
    ),
    Mutant(
        id="b08",
        pitfall="the split given by the caller ignored",
        module="masking",
        old="    inputs, labels = mask(ids.ravel(), special.ravel(), mask_id, vocab, p, rng, split)\n",
        new="    inputs, labels = mask(ids.ravel(), special.ravel(), mask_id, vocab, p, rng, BERT_SPLIT)\n",
        misconception="It is always 80/10/10.",
        symptom="An experiment with other shares gives the results of the usual ones.",
        tests=("test_mask_rates",),
        chapter="02_mask_at_the_right_rate",
        hints=(
            "Think about every argument of the function, those with a default too.",
            "Give one that is not its default: a split of (0, 1, 0), for example.",
            "Assert that what is shown follows it.",
        ),
        seen="huggingface/transformers PR#36903",
    ),
    Mutant(
        id="b09",
        pitfall="the seed not passed on to the masking",
        module="batches",
        old="    inputs, labels = mlm_mask(ids, special_mask, tok.mask_id, tok.vocab_size, p, rng, split",
        new="    from .rng import PCG32\n\n"
        "    masker = PCG32(0)\n"
        "    inputs, labels = mlm_mask(ids, special_mask, tok.mask_id, tok.vocab_size, p, masker, split",
        misconception="Masking makes its own randomness; a fixed seed there makes it reproducible.",
        symptom="Every batch of a shape is masked at the same positions, whatever the seed is.",
        tests=("test_mlm_batch_from_text",),
        chapter="03_from_text_to_batches",
        hints=(
            "Think about what makes two batches from the same texts differ.",
            "Make the same batch with two seeds, and two batches with one generator.",
            "Assert that they differ, and that the generator moved on by the draws that were made.",
        ),
        seen="keras-team/keras-hub PR#2518",
    ),
    Mutant(
        id="b10",
        pitfall="-1 instead of -100 where nothing is predicted",
        module="masking",
        old="    labels = np.full_like(ids, IGNORE)\n",
        new="    labels = np.full_like(ids, -1)\n",
        misconception="Any negative number says that there is no label.",
        symptom="A loss that ignores -100 takes -1 for a label: an error, or every position counts.",
        tests=(
            "test_hand_example_mlm_mask",
            "test_mask_follows_the_op_order",
            "test_mask_rates",
            "test_mlm_batch_from_text",
        ),
        chapter="01_mask_by_hand",
        hints=(
            "Think about the exact values that other code relies on.",
            "Look at the labels of positions that were not picked.",
            "Assert their value, not only that it is negative.",
        ),
        seen="huggingface/transformers#2759",
    ),
    Mutant(
        id="b11",
        pitfall="the layers' norms with an epsilon of 1e-5",
        module="model",
        old="        self.attention_norm = nn.LayerNorm(config.d_model, config.ln_eps)\n"
        "        self.ff_in = linear(config.d_model, config.d_ff, rng)\n"
        "        self.ff_out = linear(config.d_ff, config.d_model, rng)\n"
        "        self.ff_norm = nn.LayerNorm(config.d_model, config.ln_eps)\n",
        new="        self.attention_norm = nn.LayerNorm(config.d_model)\n"
        "        self.ff_in = linear(config.d_model, config.d_ff, rng)\n"
        "        self.ff_out = linear(config.d_ff, config.d_model, rng)\n"
        "        self.ff_norm = nn.LayerNorm(config.d_model)\n",
        misconception="Epsilon only keeps from dividing by zero; its size does not matter.",
        symptom="The outputs differ from Hugging Face's a little, and more where a variance is small.",
        tests=("test_golden_hf_bert", "test_layer_matches_the_formula"),
        chapter="04_build_the_encoder",
        hints=(
            "Think about the small numbers in the formulas, and where each of them is used.",
            "Compare in float64 with a layer of your own, or give the config a large ln_eps.",
            "Assert agreement to 1e-10, since 1e-4 would hide it.",
        ),
        seen="keras-team/keras-hub#642",
    ),
    Mutant(
        id="b12",
        pitfall="the decoder bias added twice",
        module="model",
        old="F.linear(z, self.encoder.word.weight, self.decoder_bias)",
        new="F.linear(z, self.encoder.word.weight, self.decoder_bias) + self.decoder_bias",
        misconception="The linear part has no bias of its own, so it has to be added.",
        symptom="A new model is right, since its bias is 0; a trained one favors frequent words too much.",
        tests=("test_golden_hf_bert", "test_decoder_is_tied_and_has_a_bias"),
        chapter="06_predict_the_blank",
        hints=(
            "Think about which parameters a new model starts at zero, and what a test sees of them then.",
            "Change one entry of the bias by a known amount.",
            "Assert that its logit moves by exactly that amount, and no other logit moves.",
        ),
        seen="huggingface/transformers#2957",
    ),
    Mutant(
        id="b13",
        pitfall="the loss averaged over all positions",
        module="model",
        old="        return batch.put_back(logits), mean_cross_entropy(logits[at], targets)",
        new='        total = F.cross_entropy(logits[at], targets, reduction="sum")\n'
        "        return batch.put_back(logits), total / max(1, len(logits))",
        misconception="Positions without a label add zero, so the mean can be taken over all of them.",
        symptom="The loss is about seven times too small at p = 0.15, and so is every gradient.",
        tests=("test_golden_hf_bert", "test_loss_only_at_labelled_positions"),
        chapter="06_predict_the_blank",
        hints=(
            "Think about what the sum of the losses is divided by.",
            "Label two positions of a batch, and then one of them alone.",
            "Assert that the loss is the mean of the minus log probabilities at exactly those.",
        ),
        seen="dhlee347/pytorchic-bert#24",
    ),
    Mutant(
        id="b14",
        pitfall="the decoder tied in values and not in gradients",
        module="model",
        old="F.linear(z, self.encoder.word.weight, self.decoder_bias)",
        new="F.linear(z, self.encoder.word.weight.detach(), self.decoder_bias)",
        misconception="The decoder uses the table; the table learns where it embeds.",
        symptom="Outputs are right, and training goes worse: a part of the word table's gradient is lost.",
        tests=("test_golden_hf_bert", "test_decoder_is_tied_and_has_a_bias"),
        chapter="06_predict_the_blank",
        hints=(
            "Think about what a test of outputs alone cannot see.",
            "Take an id that no sentence of the batch holds, and look at the gradient of its row.",
            "Assert that it is not zero, or that all gradients equal those of another implementation.",
        ),
        seen="paiml/entrenar#314",
    ),
    Mutant(
        id="b15",
        pitfall="positions that begin at 1, counted as for RoBERTa",
        module="padding",
        old="self.take(torch.arange(self.shape[1], device=self.real.device).expand(self.shape))",
        new="self.take(self.real.cumsum(1))",
        misconception="Position 0 is that of padding, as in the code this is copied from.",
        symptom="Each token gets its neighbor's position vector; a sentence of full length is an error.",
        tests=("test_golden_hf_bert", "test_layer_matches_the_formula"),
        chapter="04_build_the_encoder",
        hints=(
            "Think about which row of each table the first token of a sentence takes.",
            "Change one row of the position table, or write the embeddings in NumPy.",
            "Assert that the output at position 0 moves with row 0 and with no other.",
        ),
        seen="huggingface/transformers#11242",
    ),
    Mutant(
        id="b16",
        pitfall="square weights transposed by the loader",
        module="hf.plan",
        old="        parameters[name].copy_(value)\n",
        new='        square = "attention" in name and value.dim() == 2\n'
        "        parameters[name].copy_(value.T if square else value)\n",
        misconception="Checkpoints keep a weight as [in, out], so it has to be turned.",
        symptom="Everything loads, since square weights fit either way, and the outputs are wrong.",
        tests=("test_golden_hf_bert", "test_load_encoder_alone_and_roundtrip"),
        chapter="07_load_a_real_bert",
        hints=(
            "Think about what a check of shapes cannot see.",
            "Name a state dict by hand, with weights that are not symmetric, and load it.",
            "Assert that each parameter, entry by entry, is what the dict holds under its name.",
        ),
        seen="vllm-project/semantic-router#2249",
    ),
    Mutant(
        id="b17",
        pitfall="gamma and beta of old checkpoints dropped",
        module="hf.plan",
        old='            how = "refused" if problem else "repeated" if ours in values else "loaded"\n',
        new='            known = key.endswith((".weight", ".bias"))\n'
        '            how = "refused" if problem else "repeated" if ours in values else "loaded" if known '
        'else "ignored"\n',
        misconception="A parameter is called weight or bias; whatever else a file holds is no parameter.",
        symptom="An old checkpoint loads without a word, and its norms stay as they were made.",
        tests=("test_load_encoder_alone_and_roundtrip",),
        chapter="07_load_a_real_bert",
        hints=(
            "Think about the names that checkpoints had before they had today's.",
            "Rename the norms of a state dict as the first BERT checkpoints had them.",
            "Assert that both dicts give the same logits, in a model that was new before.",
        ),
        seen="huggingface/transformers#11809",
    ),
    Mutant(
        id="b18",
        pitfall="dropout left on after a load",
        module="hf.loading",
        old="    return model.eval()\n",
        new="    return model\n",
        misconception="A model that was loaded is ready to use.",
        symptom="The same sentence gives other outputs each time.",
        tests=("test_load_encoder_alone_and_roundtrip",),
        chapter="07_load_a_real_bert",
        hints=(
            "Think about which mode a model is in, and who puts it there.",
            "Store a model whose config has a dropout above 0, load it, and run one sentence twice.",
            "Assert that both outputs are the same, or that the model is not in training mode.",
        ),
        seen="huggingface/transformers#679",
    ),
    Mutant(
        id="b19",
        pitfall="the scale of attention left out",
        module="padding",
        old="F.scaled_dot_product_attention(*self.heads(qkv), self.allowed, dropout)",
        new="F.scaled_dot_product_attention(*self.heads(qkv), self.allowed, dropout, scale=1.0)",
        misconception="The scale is a constant, and the weights will learn it.",
        symptom="Attention is too sharp, and real checkpoints give outputs that are only similar.",
        tests=("test_golden_hf_bert", "test_layer_matches_the_formula"),
        chapter="04_build_the_encoder",
        hints=(
            "Think about each factor in the formula of attention.",
            "Write attention in NumPy for heads of more than one column, with weights that are not tiny.",
            "Assert that the encoder's output equals that of your layer.",
        ),
        seen="mlc-ai/mlc-llm PR#3426",
    ),
    Mutant(
        id="b20",
        pitfall="a mask of ones and zeros added to the scores",
        module="padding",
        old="        mixed = F.scaled_dot_product_attention(*self.heads(qkv), self.allowed",
        new="        mask = None if self.allowed is None else self.allowed.to(qkv.dtype)\n"
        "        mixed = F.scaled_dot_product_attention(*self.heads(qkv), mask",
        misconception="Zero in the mask takes a position out, whatever the mask's type is.",
        symptom="Padding still gets a good part of the attention.",
        tests=("test_golden_hf_bert", "test_padding_is_never_read"),
        chapter="05_read_both_ways",
        hints=(
            "Think about what a sentence's output may depend on, and what it may not.",
            "Change the ids on padding, or put the sentence into a longer batch.",
            "Assert that the outputs at real positions do not move at all.",
        ),
        seen="huggingface/transformers#13555",
    ),
]

MUTANTS = {row.id: row for row in ROWS}
