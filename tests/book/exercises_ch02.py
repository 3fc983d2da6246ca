"""The exercises of chapter 02: right answers, and mistakes with a part of what is said of each."""

import math

from bert_lab.measuring import rates


def statistic(counts, shares):
    total = sum(counts)
    return sum((c - total * q) ** 2 / (total * q) for c, q in zip(counts, shares, strict=True))


def divided_by_the_square(counts, shares):
    total = sum(counts)
    return sum((c - total * q) ** 2 / (total * q) ** 2 for c, q in zip(counts, shares, strict=True))


ANSWERS = {
    "2.1": rates.exact_shares(10, (0.5, 0.4, 0.1))[1],
    "2.2": [math.ceil(rates.pick_band(10_000, 0.15)[0]), math.floor(rates.pick_band(10_000, 0.15)[1])],
    "2.3": statistic,
    "2.4": next(n for n in range(100) if rates.no_pick_chance(n, 0.15) < 0.001),
    "2.5": rates.required_picks(rates.exact_shares(30522), rates.exact_shares(30522, (0.8, 0.12, 0.08))),
}
MISTAKES = {
    "2.1": [
        (0.4, "share of the action"),
        (0.36, "Leave out two of the ten ids"),
        (0.8, "share among the random ids"),
        (0.1, "0.1 is too small"),
    ],
    "2.2": [
        ([1357, 1643], "these two are just outside"),
        ([1357, 1642], "1357 is just outside"),
        ([1358, 1643], "1643 is just outside"),
        ([1465, 1535], "one sd to each side"),
        ([1500, 1500], "That is the mean"),
        ([0, 1], "At index 0: 0 is too small"),
    ],
    "2.3": [(divided_by_the_square, "not by its square")],
    "2.4": [
        (42, "0.85 to the power 42 is 0.0011"),
        (42.5, "whole numbers"),
        (44, "One less is enough"),
        (7, "7 is too small"),
    ],
    "2.5": [
        (3443, "the exact shares at V = 30522"),
        (216, "the answer for 80/2/18"),
        (292, "the answer for 90/1/9"),
        (24_483, "the answer for 81/10/9"),
        (1, "1 is too small"),
    ],
}
