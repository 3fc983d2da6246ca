"""Slow and obvious reference implementations. They share no code with the package."""

import math

import numpy as np

M64 = 2**64 - 1


class SlowPCG32:
    """The minimal C reference of PCG32, line by line, one word at a time."""

    def __init__(self, seed, stream=54):
        self.state, self.inc = 0, (stream << 1 | 1) & M64
        self.next_u32()
        self.state = (self.state + seed) & M64
        self.next_u32()

    def next_u32(self):
        old = self.state
        self.state = (old * 6364136223846793005 + self.inc) & M64
        shifted = (((old >> 18) ^ old) >> 27) & 0xFFFFFFFF
        rot = old >> 59
        return ((shifted >> rot) | (shifted << ((-rot) & 31))) & 0xFFFFFFFF

    def uniform(self):
        return self.next_u32() / 2**32

    def below(self, n):
        threshold = (2**32 - n) % n
        while True:
            raw = self.next_u32()
            if raw >= threshold:
                return raw % n


def slow_splitmix64(state):
    """SplitMix64's next(), as in Vigna's C code, in NumPy's wrapping 64 bits: (new state, output)."""
    with np.errstate(over="ignore"):
        state = np.uint64(state) + np.uint64(0x9E3779B97F4A7C15)
        z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return int(state), int(z ^ (z >> np.uint64(31)))


def slow_example_stream(seed, epoch, index):
    """The contract's section 5: seed, epoch and index are mixed in one after the other."""
    key = seed
    for number in (0, epoch, index):
        key = slow_splitmix64((key + number) & M64)[1]
    return SlowPCG32(key, index)


def slow_categorical(weights, u):
    """Add up the weights until their sum exceeds u. A zero weight is never chosen."""
    total, chosen = 0.0, None
    for index, weight in enumerate(weights):
        total += weight
        if weight > 0:
            chosen = index
            if total > u:
                break
    return chosen


def slow_mask(ids, special, mask_id, vocab, p, rng, split=(0.8, 0.1, 0.1)):
    """The course text's section 2.2 for flat lists, with any generator."""
    inputs, labels = [], []
    for x, s in zip(ids, special, strict=True):
        shown, label = x, -100
        if not s and rng.uniform() < p:
            label = x
            action = slow_categorical(split, rng.uniform())
            if action == 0:
                shown = mask_id
            if action == 1:
                shown = rng.below(vocab)
        inputs.append(shown)
        labels.append(label)
    return inputs, labels


def slow_words(special, continues):
    """The words of one row, as lists of positions: a first piece and the pieces that continue it."""
    words, open_word = [], None
    for t in range(len(special)):
        if special[t]:
            open_word = None
        elif open_word is not None and continues[t]:
            open_word.append(t)
        else:
            open_word = [t]
            words.append(open_word)
    return words


def slow_mask_words(rows, special, continues, mask_id, vocab, p, rng, split=(0.8, 0.1, 0.1)):
    """Whole-word masking of a list of rows: first all words of a row are found, then they are visited."""
    inputs = [list(row) for row in rows]
    labels = [[-100] * len(row) for row in rows]
    for b, row in enumerate(rows):
        for word in slow_words(special[b], continues[b]):
            if rng.uniform() < p:
                for t in word:
                    labels[b][t] = row[t]
                    action = slow_categorical(split, rng.uniform())
                    if action == 0:
                        inputs[b][t] = mask_id
                    if action == 1:
                        inputs[b][t] = rng.below(vocab)
    return inputs, labels


def slow_normals(count, std, rng):
    """Box-Muller, pair by pair, in Python floats."""
    values = []
    while len(values) < count:
        u = (rng.next_u32() + 1) / 2**32
        v = rng.next_u32() / 2**32
        radius = math.sqrt(-2 * math.log(u))
        values += [std * radius * math.cos(2 * math.pi * v), std * radius * math.sin(2 * math.pi * v)]
    return values[:count]


def slow_norm(row, weight, bias, eps):
    """LayerNorm of one vector."""
    mean = sum(row) / len(row)
    variance = sum((x - mean) ** 2 for x in row) / len(row)
    return np.array([(x - mean) / math.sqrt(variance + eps) for x in row]) * weight + bias


def slow_gelu(x):
    """x Phi(x), number by number."""
    return np.vectorize(lambda v: v * 0.5 * (1 + math.erf(v / math.sqrt(2))), otypes=[float])(x)


def slow_layer(h, w, heads, eps):
    """One post-LN layer over one sentence h [T, d], with the layer's weights under their names."""

    def linear(x, name):
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    q, k, v = (linear(h, f"attention.{name}") for name in ("query", "key", "value"))
    size, mixed = h.shape[1] // heads, np.zeros_like(h)
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        for i in range(len(h)):
            scores = np.array([q[i, part] @ k[j, part] / math.sqrt(size) for j in range(len(h))])
            weights = np.exp(scores - scores.max())
            mixed[i, part] = (weights / weights.sum()) @ v[:, part]
    norm = [w["attention_norm.weight"], w["attention_norm.bias"], eps]
    h = np.array([slow_norm(row, *norm) for row in h + linear(mixed, "attention.output")])
    norm = [w["ff_norm.weight"], w["ff_norm.bias"], eps]
    return np.array([slow_norm(row, *norm) for row in h + linear(slow_gelu(linear(h, "ff_in")), "ff_out")])


def slow_encoder(ids, types, weights, config):
    """Hidden states [T, d] of one sentence, from a BertForMLM's weights under their names."""
    w = {
        name.removeprefix("encoder."): value for name, value in weights.items() if name.startswith("encoder.")
    }
    h = w["word.weight"][ids] + w["position.weight"][: len(ids)] + w["token_type.weight"][types]
    h = np.array([slow_norm(row, w["norm.weight"], w["norm.bias"], config.ln_eps) for row in h])
    for i in range(config.n_layers):
        start = f"layers.{i}."
        layer = {name.removeprefix(start): value for name, value in w.items() if name.startswith(start)}
        h = slow_layer(h, layer, config.n_heads, config.ln_eps)
    return h


def slow_head(h, w, eps):
    """Logits [T, V] from hidden states [T, d]."""
    z = slow_gelu(h @ w["transform.weight"].T + w["transform.bias"])
    z = np.array([slow_norm(row, w["transform_norm.weight"], w["transform_norm.bias"], eps) for row in z])
    return z @ w["encoder.word.weight"].T + w["decoder_bias"]
