"""Slow, obvious specifications of what the plain reference of the course does not hold."""

import numpy as np

from bert_lab.course.plain import PCG32, sample_categorical

M64 = 2**64 - 1


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
    return PCG32(key, index)


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
                    action = sample_categorical(split, rng.uniform())
                    if action == 0:
                        inputs[b][t] = mask_id
                    if action == 1:
                        inputs[b][t] = rng.below(vocab)
    return inputs, labels
