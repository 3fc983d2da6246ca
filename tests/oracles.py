"""Slow, obvious specifications that the real code is tested against. They share nothing with it."""

import math

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


def slow_categorical(weights, u):
    """Walk along the weights until their sum is beyond u; a zero weight is never chosen."""
    total, chosen = 0.0, None
    for index, weight in enumerate(weights):
        total += weight
        if weight > 0:
            chosen = index
            if total > u:
                break
    return chosen


def slow_mask(ids, special, mask_id, vocab, p, rng, split=(0.8, 0.1, 0.1)):
    """The course text's section 2.2 over flat lists, with any generator."""
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


def slow_normals(count, std, rng):
    """Box-Muller, pair by pair, in Python floats."""
    values = []
    while len(values) < count:
        u = (rng.next_u32() + 1) / 2**32
        v = rng.next_u32() / 2**32
        radius = math.sqrt(-2 * math.log(u))
        values += [std * radius * math.cos(2 * math.pi * v), std * radius * math.sin(2 * math.pi * v)]
    return values[:count]
