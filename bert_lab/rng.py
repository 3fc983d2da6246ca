"""Every draw of the project: the PCG32 generator, its scripted stand-in, and what is sampled from them.

One fixed generator, used in one fixed order, makes a masked batch the same on every machine and in every
language. The page `notebooks/masking_contract.md` says the rules in full; nothing here depends on the random
state of NumPy or torch.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .checks import as_index, as_real, as_unit

_MULTIPLIER = 6364136223846793005  # Knuth's multiplier, as in the minimal C reference of PCG
_M32 = 2**32 - 1
_M64 = 2**64 - 1
_BLOCK = 16384  # raws computed at a time: the arrays of one block stay in a core's own caches


def _jump(n: int) -> tuple[int, int]:
    """(A, G) such that n steps take `state` to A * state + G * inc modulo 2^64; n >= 0, in O(log n) steps."""
    a, g = 1, 0
    step_a, step_g = _MULTIPLIER, 1
    while n:
        if n & 1:
            a, g = a * step_a & _M64, (g * step_a + step_g) & _M64
        step_a, step_g = step_a * step_a & _M64, (step_g * step_a + step_g) & _M64
        n >>= 1
    return a, g


_BLOCK_JUMP = _jump(_BLOCK)


@functools.cache
def _jumps() -> tuple[np.ndarray, np.ndarray]:
    """`_jump(n)` for n = 0.._BLOCK-1 as two uint64 arrays, made by doubling."""
    a, g = np.ones(_BLOCK, np.uint64), np.zeros(_BLOCK, np.uint64)
    done = 1
    while done < _BLOCK:
        step_a, step_g = map(np.uint64, _jump(done))
        a[done : 2 * done] = a[:done] * step_a
        g[done : 2 * done] = g[:done] * step_a + step_g
        done *= 2
    return a, g


_LOCAL = threading.local()


def _buffers() -> np.ndarray:
    """Working memory, uint64 [3, _BLOCK], kept for each thread: allocating it costs as much as using it."""
    if not hasattr(_LOCAL, "buffers"):
        _LOCAL.buffers = np.empty((3, _BLOCK), np.uint64)
    return _LOCAL.buffers


class PCG32:
    """The PCG32 generator (XSH-RR, 64-bit state, 32-bit output) of O'Neill's minimal C reference.

    Args:
        seed: 0 <= seed < 2^64.
        stream: which of the 2^63 sequences; 0 <= stream < 2^63.

    `PCG32(42, 54)` gives a15c02b7 7b47f409 ba1d3330 83d2f293 bfa4784b cbed606e. Two generators are equal when
    their next draws are. A copied, pickled or forked generator repeats the draws of the original: give each
    worker a stream of its own.

    Raises:
        TypeError: seed or stream is not an integer.
        ValueError: seed or stream is out of range.

    Source: O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random
    Number Generation" (2014), and its minimal C implementation.
    """

    __slots__ = ("_inc", "_state")

    def __init__(self, seed: int, stream: int = 54):
        seed = as_index(seed, "seed", 0, 2**64)
        self._inc = 2 * as_index(stream, "stream", 0, 2**63) + 1
        # pcg32_srandom_r: one step from state 0, add the seed, one more step.
        self._state = (self._inc + seed) * _MULTIPLIER + self._inc & _M64

    @property
    def state(self) -> int:
        """The 64-bit state. Assign a saved one to go back to it."""
        return self._state

    @state.setter
    def state(self, value: int) -> None:
        self._state = as_index(value, "state", 0, 2**64)

    @property
    def inc(self) -> int:
        """The increment, 2 * stream + 1."""
        return self._inc

    def next_u32(self) -> int:
        """The next raw word, an int in 0..2^32-1."""
        old = self._state
        self._state = (old * _MULTIPLIER + self._inc) & _M64
        word = ((old >> 18) ^ old) >> 27 & _M32
        turn = old >> 59
        return (word >> turn | word << (-turn & 31)) & _M32

    def uniform(self) -> float:
        """One raw word times 2^-32: a float in [0, 1), exact in float64."""
        return self.next_u32() * 2.0**-32

    def below(self, n: int) -> int:
        """A uniform integer in 0..n-1, 1 <= n < 2^32, by rejection.

        Raw words below 2^32 mod n are skipped, and the first other one is taken modulo n, so that no value
        is favored.
        """
        n = as_index(n, "n", 1, 2**32)
        threshold = 2**32 % n
        while (raw := self.next_u32()) < threshold:
            pass
        return raw % n

    def block(self, n: int) -> NDArray[np.uint32]:
        """The next n raw words, uint32 [n]: the same as n calls of `next_u32`, many times faster."""
        out = np.empty(as_index(n, "n", 0, 2**63), np.uint32)
        if out.size == 0:
            return out
        a, g = (table[: out.size] for table in _jumps())
        states, words, turns = (buffer[: out.size] for buffer in _buffers())
        np.multiply(a, np.uint64(self._state), out=states)
        states += np.multiply(g, np.uint64(self._inc), out=words)
        step_a, step_c = np.uint64(_BLOCK_JUMP[0]), np.uint64(_BLOCK_JUMP[1] * self._inc & _M64)
        for start in range(0, out.size, _BLOCK):
            part = out[start : start + _BLOCK]
            if start:
                states, words, turns = states[: part.size], words[: part.size], turns[: part.size]
                states *= step_a
                states += step_c
            np.right_shift(states, 18, out=words)
            words ^= states
            words >>= 27
            # The word twice over in 64 bits: shifting that right turns the word in the lower half.
            words &= _M32
            words *= 2**32 + 1
            np.right_shift(states, 59, out=turns)
            words >>= turns
            part[:] = words
        self._state = (int(states[-1]) * _MULTIPLIER + self._inc) & _M64
        return out

    def advance(self, n: int) -> None:
        """Skip n draws in O(log n) time; a negative n goes back."""
        a, g = _jump(as_index(n, "n", -(2**64), 2**64) & _M64)
        self._state = (a * self._state + g * self._inc) & _M64

    def copy(self) -> PCG32:
        """A generator of its own that will make the same draws."""
        twin = PCG32(0, self._inc >> 1)
        twin._state = self._state
        return twin

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PCG32):
            return NotImplemented
        return (self._state, self._inc) == (other._state, other._inc)

    __hash__ = None  # type: ignore[assignment] # it changes with every draw

    def __repr__(self) -> str:
        return f"<PCG32 state=0x{self._state:016x} stream={self._inc >> 1}>"


def _mix64(z: int) -> int:
    """One step of SplitMix64 from the state z: a bijection of 64 bits that scatters neighboring numbers."""
    z = z + 0x9E3779B97F4A7C15 & _M64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _M64
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _M64
    return z ^ z >> 31


def example_stream(seed: int, epoch: int, index: int) -> PCG32:
    """The generator that masks example number `index` in an epoch, whoever asks for it and when.

    Its draws depend on nothing else: not on the batch, the order, the worker or the rank, nor on what was
    drawn before. Each example has a stream of its own, and starts at another place of it in each epoch.

    Args:
        seed: of the whole run; 0 <= seed < 2^64.
        epoch: 0 <= epoch < 2^63.
        index: the example's place in its dataset; 0 <= index < 2^63.

    Raises:
        TypeError: an argument is not an integer.
        ValueError: an argument is out of range.

    Source: the masking contract, section 5; the mixing step is SplitMix64's (Steele, Lea and Flood, "Fast
    Splittable Pseudorandom Number Generators", 2014, with the constants of Vigna's C code).
    """
    seed = as_index(seed, "seed", 0, 2**64)
    epoch = as_index(epoch, "epoch", 0, 2**63)
    index = as_index(index, "index", 0, 2**63)
    return PCG32(_example_key(seed, epoch, index), stream=index)


@functools.lru_cache(maxsize=4)
def epoch_order(n: int, seed: int, epoch: int) -> NDArray[np.intp]:
    """The numbers 0..n-1 in the order of an epoch, int64 [n], by a stream that masks no example."""
    order = np.argsort(example_stream(seed, epoch, 2**62).block(n), kind="stable")
    order.flags.writeable = False  # whoever asks again gets the same array
    return order


def _example_key(seed: int, epoch: int, index: int) -> int:
    return _mix64(_mix64(_mix64(seed) + epoch) + index)


class UniformDraws(Protocol):
    """What `mlm_mask` asks of a generator: a float in [0, 1), and an integer in 0..n-1."""

    def uniform(self) -> float: ...

    def below(self, n: int) -> int: ...


class ScriptedDraws:
    """A generator that hands out listed values, for examples worked by hand and for tests.

    Args:
        uniforms: what `uniform()` returns, call by call; floats in [0, 1).
        belows: what `below(n)` returns, call by call; ints that must be below the n they are asked for.

    `calls` lists what was drawn so far, in order: ("uniform", value) or ("below", n, value).

    Raises:
        TypeError, ValueError: a listed value cannot be such a draw.
        AssertionError: on a draw beyond the script; and from `finish()`, when some draws were not used.
    """

    def __init__(self, uniforms: Iterable[float] = (), belows: Iterable[int] = ()):
        self._uniforms = [as_unit(u, f"uniforms[{i}]") for i, u in enumerate(uniforms)]
        self._belows = [as_index(b, f"belows[{i}]", 0, 2**32) for i, b in enumerate(belows)]
        self.calls: list[tuple] = []

    def _used(self, kind: str) -> int:
        return sum(call[0] == kind for call in self.calls)

    def _next(self, kind: str, script: list):
        used = self._used(kind)
        if used == len(script):
            raise AssertionError(
                f"draw {len(self.calls) + 1} is one {kind}() more than the {len(script)} scripted; "
                f"drawn before it: {self.calls}"
            )
        return script[used]

    def uniform(self) -> float:
        """The next listed uniform."""
        value = self._next("uniform", self._uniforms)
        self.calls.append(("uniform", value))
        return value

    def below(self, n: int) -> int:
        """The next listed integer, which must be below n."""
        n = as_index(n, "n", 1, 2**32)
        value = self._next("below", self._belows)
        if value >= n:
            raise ValueError(f"below({n}): the script says {value}, expected a value from 0 to {n - 1}")
        self.calls.append(("below", n, value))
        return value

    def finish(self) -> None:
        """Assert that every listed value was drawn."""
        unused = {
            "uniforms": self._uniforms[self._used("uniform") :],
            "belows": self._belows[self._used("below") :],
        }
        if any(unused.values()):
            raise AssertionError(f"expected every scripted draw to be used, left over: {unused}")

    def __repr__(self) -> str:
        return f"ScriptedDraws(uniforms={self._uniforms}, belows={self._belows})"


def cumulative_weights(weights: Sequence[float]) -> list[float]:
    """Running sums of the weights; infinite from the last positive weight on, so that no draw goes past it.

    Raises ValueError unless the weights are finite, not negative, not all zero, and sum to at most 1 (within
    1e-9).
    """
    if not hasattr(weights, "__iter__") or isinstance(weights, (str, bytes)):
        raise TypeError(f"weights: expected a sequence of numbers, got {weights!r}")
    checked = [as_real(w, f"weights[{i}]") for i, w in enumerate(weights)]
    total = math.fsum(checked)
    if not (checked and min(checked) >= 0 and 0 < total <= 1 + 1e-9):
        raise ValueError(f"weights: expected finite weights >= 0 that sum to 1, got {checked}")
    last = max(i for i, w in enumerate(checked) if w > 0)
    sums, running = [], 0.0
    for w in checked[:last]:
        running += w
        sums.append(running)
    return sums + [math.inf] * (len(checked) - last)


def sample_categorical(weights: Sequence[float], u: float) -> int:
    """The smallest index whose cumulative weight exceeds u (strictly); never past the last positive weight.

    Args:
        weights: finite, not negative, summing to 1.
        u: a uniform draw in [0, 1).

    Raises:
        TypeError, ValueError: weights or u are not so.

    Source: the inverse of the cumulative distribution; the course text, section 2.2, step 3.
    """
    u = as_unit(u, "u")
    return next(i for i, c in enumerate(cumulative_weights(weights)) if c > u)


def normal_init(shape: int | Sequence[int], std: float, rng: PCG32) -> NDArray[np.float32]:
    """Normal draws with mean 0, float32 of the given shape, by Box-Muller over pairs of raw words in C order.

    A pair gives u = (raw1 + 1) * 2^-32 and v = raw2 * 2^-32, and from them sqrt(-2 ln u) cos(2 pi v), then
    sqrt(-2 ln u) sin(2 pi v), computed in float64 and multiplied by std. An odd count drops the last sine.

    Args:
        shape: an int or a sequence of ints, each >= 0.
        std: the standard deviation, finite and >= 0.
        rng: a PCG32; it moves on by two raw words a pair.

    Raises:
        TypeError: shape holds something else than integers, std is no number, or rng is not a PCG32.
        ValueError: a negative size, or std negative or not finite.
    """
    sizes = [shape] if hasattr(type(shape), "__index__") else shape
    if not isinstance(sizes, Sequence) or isinstance(sizes, (str, bytes)):
        raise TypeError(f"shape: expected an integer or a sequence of integers, got {shape!r}")
    sizes = tuple(as_index(n, f"shape[{i}]", 0, 2**63) for i, n in enumerate(sizes))
    std = as_real(std, "std")
    if not 0 <= std < math.inf:
        raise ValueError(f"std: expected a finite number >= 0, got {std}")
    if not isinstance(rng, PCG32):
        raise TypeError(f"rng: expected a PCG32, got {type(rng).__name__}")
    values = np.empty(math.prod(sizes), np.float32)
    for start in range(0, values.size, _BLOCK):
        part = values[start : start + _BLOCK]
        raws = rng.block(part.size + part.size % 2)
        radius = np.sqrt(-2 * np.log((raws[0::2] + 1.0) * 2.0**-32))
        radius *= std
        angle = raws[1::2] * (2 * np.pi * 2.0**-32)
        part[0::2] = radius * np.cos(angle)
        part[1::2] = (radius * np.sin(angle))[: part.size // 2]
    return values.reshape(sizes)
