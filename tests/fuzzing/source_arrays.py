"""Random networks as plain arrays: folders of CSV files, both kinds of `.npz`, and state dicts in the layouts
that their names tell.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

from sugenet.io import Bits, Integers, Reals, from_state_dict, read_bnnquanalyst, read_npz
from tests.fuzzing.source_state_dicts import dyadic

__all__ = ["make_blocks", "make_counts", "make_folder", "make_layout"]


def _signs(random: Random, *shape: int) -> Any:
    return np.array([random.choice([-1.0, 1.0]) for _ in range(int(np.prod(shape)))]).reshape(shape)


def _sizes(random: Random) -> list[int]:
    return [random.randint(1, 6) for _ in range(random.randint(2, 4))]


def _t(array: Any) -> Any:
    return torch.from_numpy(np.asarray(array, np.float64))


def _cut(x: Any, before: list[Any], zero: float = 1.0, declared: bool = False) -> Any:
    before.append(torch.where(x == 0, 1e-12, x) if declared else x)  # what 0 shall be was said by the user
    return torch.where(x > 0, 1.0, torch.where(x < 0, -1.0, zero)).double()


def _normed(x: Any, gamma: Any, beta: Any, mean: Any, var: Any, eps: float) -> Any:
    return (x - _t(mean)) / torch.sqrt(_t(var) + eps) * _t(gamma) + _t(beta)


def make_folder(random: Random) -> tuple[Any, ...]:
    """A folder of BNNQuanalyst."""
    sizes, classes = _sizes(random), random.randint(2, 3)
    tables: dict[str, Any] = {}
    for b, (n, m) in enumerate(itertools.pairwise(sizes), start=1):
        tables |= {
            f"blk{b}/lin_weight": _signs(random, m, n),
            f"blk{b}/lin_bias": dyadic(random, m, zeros=True),
        }
        tables |= {f"blk{b}/bn_{part}": dyadic(random, m, zeros=True) for part in ("weight", "bias", "mean")}
        tables[f"blk{b}/bn_var"] = np.abs(dyadic(random, m))
    tables |= {
        "out_blk/lin_weight": _signs(random, classes, sizes[-1]),
        "out_blk/lin_bias": dyadic(random, classes, zeros=True),
    }
    extra = random.choice([None] * 9 + ["out_blk/bn_weight", f"blk{len(sizes) + 1}/lin_bias", "blk1/scale"])

    def read(folder: Path, inputs: Any, zero: Any) -> Any:
        for name, table in (tables | ({extra: np.ones(2)} if extra else {})).items():
            (folder / name).parent.mkdir(exist_ok=True)
            np.savetxt(folder / f"{name}.csv", np.atleast_2d(table), delimiter=",")
        return read_bnnquanalyst(folder, inputs=inputs, zero=zero, prove=False).report

    def run(x: Any, _zero: Any) -> tuple[Any, list[Any]]:
        before: list[Any] = []
        x = _cut(x.reshape(len(x), -1), before, zero=-1.0)
        for b in range(1, len(sizes)):
            sums = x @ _t(tables[f"blk{b}/lin_weight"]).T + _t(tables[f"blk{b}/lin_bias"])
            x = _cut(
                _normed(
                    sums, *(tables[f"blk{b}/bn_{part}"] for part in ("weight", "bias", "mean", "var")), 0.0
                ),
                before,
            )
        return x @ _t(tables["out_blk/lin_weight"]).T + _t(tables["out_blk/lin_bias"]), before

    inputs = random.choice([Bits(), Bits(0, 1), Integers(0, 1), Integers(-3, 3)])
    return (
        "BNNQuanalyst",
        f"{sizes} {classes} {extra}",
        read,
        None if extra else run,
        (sizes[0],),
        inputs,
        None,
    )


def make_counts(random: Random) -> tuple[Any, ...]:
    """An `.npz` file of match counts, with padding and thresholds of all kinds."""
    sizes = _sizes(random)
    arrays: dict[str, Any] = {}
    for k, (n, m) in enumerate(itertools.pairwise(sizes)):
        arrays[f"W{k}"] = np.array(
            [random.randint(0, 1) for _ in range(n * m)], random.choice([np.uint8, np.float32, bool])
        ).reshape(m, n)
        limits = [
            random.choice(
                [random.randint(-2, n + 1), random.randint(0, n) + random.choice([0.25, 0.5, 0.75])]
            )
            for _ in range(m)
        ]
        arrays[f"T{k}"] = np.array(limits)
    if random.random() < 0.3:
        del arrays[f"T{len(sizes) - 2}"]
    features = random.choice([None, random.randint(1, sizes[0])])
    outputs = random.choice([None, random.randint(1, sizes[-1])])
    above = random.choice([None, 0, 1.5, -0.25])
    extra = random.choice([None] * 9 + ["scale", "W9"])

    def read(folder: Path, inputs: Any, zero: Any) -> Any:
        np.savez(folder / "net.npz", **arrays, **({extra: np.ones(1)} if extra else {}))
        return read_npz(
            folder / "net.npz",
            features=features,
            outputs=outputs,
            above=above,
            inputs=inputs,
            zero=zero,
            prove=False,
        ).report

    def run(x: Any, _zero: Any) -> tuple[Any, list[Any]]:
        on = np.zeros((len(x), sizes[0]), bool)
        flat = x.reshape(len(x), -1).numpy()
        on[:, : flat.shape[1]] = flat > (above or 0)
        for k in range(len(sizes) - 1):
            counts = np.array(
                [
                    [
                        sum(int(a == b) for a, b in zip(row, w, strict=True))
                        for w in arrays[f"W{k}"].astype(bool)
                    ]
                    for row in on
                ]
            )
            on = counts > arrays.get(f"T{k}", np.zeros(len(counts[0])))
        return _t(2 * counts[:, :outputs] - sizes[-2]), []

    inputs = random.choice([Bits(), Bits(0, 1), Integers(0, 3), Reals(), None])
    shape = (sizes[0] if features is None else features,)
    text = (
        f"{ {name: array.tolist() for name, array in arrays.items()} } {features} {outputs} {above} {extra}"
    )
    return "match counts", text, read, None if extra else run, shape, inputs, None


def make_blocks(random: Random) -> tuple[Any, ...]:
    """An `.npz` file of blocks, as of BNN verification."""
    sizes, classes = _sizes(random), random.randint(2, 3)
    arrays: dict[str, Any] = {}

    def norm(name: str, size: int) -> None:
        for part in ("gamma", "beta", "avg_mean"):
            arrays[f"{name}/{part}"] = dyadic(random, size, zeros=True)
        arrays[f"{name}/avg_var"] = np.abs(dyadic(random, size))
        if random.random() < 0.5:
            arrays[f"{name}/N"] = np.array(5)

    first = random.random() < 0.7
    if first:
        norm("input_bn", sizes[0])
    for b, (n, m) in enumerate(itertools.pairwise(sizes)):
        arrays[f"blocks/{b}/lin/W"] = _signs(random, m, n)
        if random.random() < 0.7:
            arrays[f"blocks/{b}/lin/b"] = dyadic(random, m, zeros=True)
        norm(f"blocks/{b}/bn", m)
    arrays |= {
        "output_lin/W": _signs(random, classes, sizes[-1]),
        "output_lin/b": dyadic(random, classes, zeros=True),
    }
    extra = random.choice([None] * 9 + ["blocks/0/scale", "W0"])

    def read(folder: Path, inputs: Any, zero: Any) -> Any:
        np.savez(folder / "net.npz", **arrays, **({extra: np.ones((1, 1))} if extra else {}))
        return read_npz(folder / "net.npz", inputs=inputs, zero=zero, prove=False).report

    def run(x: Any, _zero: Any) -> tuple[Any, list[Any]]:
        before: list[Any] = []
        x = x.reshape(len(x), -1)

        def normed(name: str, x: Any) -> Any:
            return _normed(
                x, *(arrays[f"{name}/{part}"] for part in ("gamma", "beta", "avg_mean", "avg_var")), 2e-5
            )

        if first:
            x = _cut(normed("input_bn", x), before)
        for b in range(len(sizes) - 1):
            x = x @ _t(arrays[f"blocks/{b}/lin/W"]).T + _t(arrays.get(f"blocks/{b}/lin/b", np.zeros(1)))
            x = _cut(normed(f"blocks/{b}/bn", x), before)
        return x @ _t(arrays["output_lin/W"]).T + _t(arrays["output_lin/b"]), before

    inputs = random.choice([Bits(), Integers(0, 3), Reals(), None])
    return (
        "blocks",
        f"{sizes} {classes} {first} {extra}",
        read,
        None if extra else run,
        (sizes[0],),
        inputs,
        None,
    )


def make_layout(random: Random) -> tuple[Any, ...]:
    """A state dict of NPAQ, in either layout, or of Brevitas, in either release."""
    kind = random.choice(["fc", "mod_list", "early", "later"])
    sizes, classes = _sizes(random), random.randint(2, 3)
    sizes = [*sizes[:-1], max(sizes[-1], 2)]
    state: dict[str, Any] = {}
    names = {
        "fc": lambda b: (f"fc{b + 1}", f"bn{b + 1}"),
        "mod_list": lambda b: (f"mod_list.{3 * b}", f"mod_list.{3 * b + 1}"),
    }.get(kind, lambda b: (f"features.{4 * b + 2}", f"features.{4 * b + 3}"))
    blocks = len(sizes) - 1
    npaq = kind in ("fc", "mod_list")
    last = {"fc": "fc9", "early": "fc"}.get(kind, names(blocks)[0])

    def norm(name: str, size: int) -> None:
        state.update(
            {
                f"{name}.{part}": dyadic(random, size, zeros=True)
                for part in ("weight", "bias", "running_mean")
            }
        )
        state[f"{name}.running_var"] = np.abs(dyadic(random, size))

    for b, (n, m) in enumerate(itertools.pairwise(sizes)):
        linear, norm_name = names(b)
        state[f"{linear}.weight"] = dyadic(random, m, n, zeros=npaq or kind == "later")
        if npaq:
            state[f"{linear}.bias"] = dyadic(random, m, zeros=True)
        norm(norm_name, m)
    state[f"{last}.weight"] = dyadic(random, classes, sizes[-1])
    if kind == "later":
        norm(names(blocks)[1], 1)
    told = random.random() < 0.85
    extra = random.choice(
        [None] * 9 + ["features.0.act_quant_proxy.tensor_quant.scaling_impl.learned_value", "scale"]
    )

    def read(_folder: Path, inputs: Any, zero: Any) -> Any:
        given = state | ({extra: np.ones(1)} if extra else {})
        return from_state_dict(
            given, bits=1 if told and not npaq else None, inputs=inputs, zero=zero, prove=False
        ).report

    def weights(name: str, all_rows: bool = False) -> Any:
        w = state[f"{name}.weight"]
        if npaq:
            return _t(np.sign(w))
        signs = np.where(w >= 0, 1.0, -1.0)
        return _t(
            signs if kind == "later" else signs * np.abs(w).mean(axis=None if all_rows else 1, keepdims=True)
        )

    def run(x: Any, zero: Any) -> tuple[Any, list[Any]]:
        before: list[Any] = []
        x = x.reshape(len(x), -1)
        at, declared = (0.0, zero is not None) if npaq else (1.0, False)
        x = _cut(x if npaq else 2 * x - 1, before, at, declared)
        for b in range(blocks):
            linear, norm_name = names(b)
            x = x @ weights(linear).T + _t(state.get(f"{linear}.bias", np.zeros(1)))
            x = _cut(
                _normed(
                    x,
                    *(state[f"{norm_name}.{p}"] for p in ("weight", "bias", "running_mean", "running_var")),
                    1e-5,
                ),
                before,
                at,
                declared,
            )
        x = x @ weights(last, all_rows=True).T + _t(state.get(f"{last}.bias", np.zeros(1)))
        if kind == "later":
            end = names(blocks)[1]
            x = _normed(
                x, *(state[f"{end}.{p}"] for p in ("weight", "bias", "running_mean", "running_var")), 1e-4
            )
        return x, before

    said = extra is None and (told or npaq)
    inputs = random.choice([Bits(), Integers(0, 3, step=0.25), Reals(), None])
    return (
        kind,
        f"{sizes} {classes} {sorted(state)} {extra}",
        read,
        run if said else None,
        (sizes[0],),
        inputs,
        random.choice([None, 1, -1]),
    )
