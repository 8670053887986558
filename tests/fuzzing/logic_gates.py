"""Random logic-gate networks, read and compared with torchlogix itself, or with their definition."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np

from sugenet.io import Bits, Integers, Reals, from_logic_gates

__all__ = [
    "TABLES",
    "arrays",
    "circuit",
    "compare",
    "compare_arrays",
    "compare_circuit",
    "has_torchlogix",
    "modules",
    "scores_of_arrays",
    "scores_of_circuit",
]

TABLES = [
    lambda a, b: False,
    lambda a, b: a and b,
    lambda a, b: a and not b,
    lambda a, b: a,
    lambda a, b: b and not a,
    lambda a, b: b,
    lambda a, b: a != b,
    lambda a, b: a or b,
    lambda a, b: not (a or b),
    lambda a, b: a == b,
    lambda a, b: not b,
    lambda a, b: a or not b,
    lambda a, b: not a,
    lambda a, b: b or not a,
    lambda a, b: not (a and b),
    lambda a, b: True,
]
"""The 16 gates in the order of both libraries, in words of Python."""


def has_torchlogix() -> bool:
    """Whether torchlogix is installed, and runs on this Python."""
    if find_spec("torch") is None or find_spec("torchlogix") is None:
        return False
    with warnings.catch_warnings(action="ignore"):  # it has no kernels for GPUs
        try:
            import torchlogix.layers  # noqa: F401
        except (ImportError, SyntaxError):  # version 0.2 needs Python 3.12
            return False
    return True


def arrays(
    random: np.random.Generator, features: int, widths: list[int], outputs: int
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Random layers of gates; XOR and XNOR are frequent, and a gate may read one value twice."""
    layers, width = [], features
    for count in [*widths[:-1], widths[-1] * outputs]:
        gates = np.where(
            random.random(count) < 0.3, random.choice([6, 9], count), random.integers(0, 16, count)
        )
        layers.append((random.integers(0, width, count), random.integers(0, width, count), gates))
        width = count
    return layers


def scores_of_arrays(layers: Any, outputs: int, bits: Any) -> list[int]:
    """Class sums of one sample, gate by gate in words of Python."""
    values = [bool(bit) for bit in bits]
    for first, second, gates in layers:
        values = [
            bool(TABLES[gate](values[a], values[b])) for a, b, gate in zip(first, second, gates, strict=True)
        ]
    size = len(values) // outputs
    return [sum(values[k * size : (k + 1) * size]) for k in range(outputs)]


def compare_arrays(seed: int) -> str | None:
    """Read random arrays and compare all scores with the definition; return a difference, or None."""
    random = np.random.default_rng(seed)
    features, outputs = int(random.integers(1, 7)), int(random.integers(1, 5))
    widths = random.integers(1, 9, random.integers(1, 5)).tolist()
    layers = arrays(random, features, widths, outputs)
    temperature = float(random.choice([1, 2, 10, 1 / 0.3]))
    net = from_logic_gates(
        layers, features=features, outputs=outputs, temperature=temperature, prove=bool(seed % 2)
    )
    rows = np.array(list(product([0, 1], repeat=features)))
    want = np.array([scores_of_arrays(layers, outputs, row) for row in rows])
    got = net.head.scores(net.match_counts(rows))
    exact = np.array([[round(float(score * type(score)(temperature))) for score in row] for row in got])
    if (exact != want).any() or (net.predict(rows) != want.argmax(axis=1)).any():
        return f"arrays, seed {seed}: scores differ from the definition"
    return None


_OPERATIONS = {
    "CONST_FALSE": 0,
    "AND": 1,
    "AND_NOT_B": 2,
    "WIRE": 3,
    "AND_NOT_A": 4,
    "XOR": 6,
    "OR": 7,
    "NOR": 8,
    "XNOR": 9,
    "NOT_B": 10,
    "OR_NOT_B": 11,
    "NOT": 12,
    "NOT_A": 12,
    "OR_NOT_A": 13,
    "NAND": 14,
    "CONST_TRUE": 15,
}


def circuit(random: np.random.Generator) -> dict[str, Any]:
    """A random circuit as ``Circuit.to_dict`` writes it: gates read anything before them."""
    inputs, count, outputs = (int(random.integers(1, high)) for high in (7, 16, 4))
    names = list(range(inputs))
    gates = []
    for number in range(inputs, inputs + count):
        op = str(random.choice(list(_OPERATIONS)))
        first, second = (int(one) for one in random.choice(names, 2))
        second = -1 if op in ("WIRE", "NOT", "NOT_A") else second
        first, second = (-1, -1) if op.startswith("CONST") else (first, second)
        gates.append({"gate_id": number, "op": op, "in0": first, "in1": second, "node_idx": -1})
        names.append(number)
    sums, tau = [], float(random.choice([1, 4]))
    for k in range(outputs):
        members = random.choice(names, int(random.integers(0, 6))).tolist()
        beta = float(random.integers(-1, 3))
        sums.append({"node_id": inputs + count + k, "input_ids": members, "tau": tau, "beta": beta})
    return {
        "n_inputs": inputs,
        "input_shape": [inputs],
        "outputs": [one["node_id"] for one in sums],
        "output_shape": [outputs],
        "gates": gates,
        "sum_nodes": sums,
    }


def scores_of_circuit(found: dict[str, Any], bits: Any) -> list[float]:
    """Scores of one sample, gate by gate in words of Python."""
    values = dict(enumerate(bool(bit) for bit in bits))
    for gate in found["gates"]:
        table = TABLES[_OPERATIONS[gate["op"]]]
        values[gate["gate_id"]] = bool(table(values.get(gate["in0"]), values.get(gate["in1"])))
    return [
        (sum(values[name] for name in one["input_ids"]) + one["beta"]) / one["tau"]
        for one in found["sum_nodes"]
    ]


def compare_circuit(seed: int) -> str | None:
    """Read a random circuit and compare all scores with the definition; return a difference in words."""
    found = circuit(np.random.default_rng(seed))
    net = from_logic_gates(found, prove=bool(seed % 2))
    rows = np.array(list(product([0, 1], repeat=found["n_inputs"])))
    want = np.array([scores_of_circuit(found, row) for row in rows])
    same = (net.logits(rows) == want).all() and (net.predict(rows) == want.argmax(axis=1)).all()
    return None if same else f"circuit, seed {seed}: scores differ from the definition"


def modules(seed: int) -> Iterator[tuple[Any, dict[str, Any], np.ndarray]]:
    """Random modules of torchlogix with the arguments of the reader, and raw samples."""
    import torch
    from torchlogix import layers as tl

    number = 0
    while True:
        one = seed * 1_000_003 + number
        number += 1
        random = np.random.default_rng(one)
        torch.manual_seed(one)
        shape: tuple[int, ...] = (int(random.integers(2, 12)),)
        options: dict[str, Any] = {}
        parts: list[Any] = []
        kind = str(random.choice(["none", "dummy", "fixed", "soft", "learnable"]))
        count = int(random.integers(1, 4))
        if kind not in ("none", "dummy") and random.random() < 0.4:
            shape = (int(random.integers(1, 3)), int(random.integers(1, 4)), int(random.integers(2, 4)))
            options["shape"] = shape
        width = int(np.prod(shape))
        if kind == "dummy":
            parts.append(tl.DummyBinarization())
        elif kind != "none":
            width *= count
            parts.append(_binarization(tl, torch, random, kind, shape, count))
            options["inputs"] = random.choice(
                np.array([None, Reals(-2.0, 2.0), Integers(0, 255, step=1 / 255), Integers(-3, 9, start=0.5)])
            )
        elif random.random() < 0.5:
            options["inputs"] = Bits(0, 1)
        if len(shape) > 1 or random.random() < 0.5:
            parts.append(torch.nn.Flatten())
        outputs = int(random.integers(1, 5))
        for _ in range(int(random.integers(1, 5))):
            least = max(2, (width + 1) // 2)
            size = least + int(random.integers(0, 9))
            size += -size % outputs
            parts.append(_dense(tl, random, width, size))
            width = size
        parts.append(
            tl.GroupSum(
                outputs, float(random.choice([1, 4, 10, 1 / 0.03])), beta=float(random.choice([0, 0, 2, 0.5]))
            )
        )
        model: Any = torch.nn.Sequential(*parts)
        if random.random() < 0.2:
            model = torch.nn.Sequential(model)
        yield model.eval(), options, _rows(random, options.get("inputs"), kind in ("none", "dummy"), shape)


def _binarization(tl: Any, torch: Any, random: Any, kind: str, shape: tuple[int, ...], count: int) -> Any:
    form = random.integers(0, 3)
    size = (count,) if form == 0 else (shape[0], count) if form == 1 or len(shape) == 1 else (*shape, count)
    values = np.sort(
        random.choice([random.normal(0, 1, size), random.integers(0, 8, size) / 7], axis=0), axis=-1
    )
    dimension = 1 if len(shape) > 1 and random.random() < 0.5 else -2
    thresholds = torch.tensor(values, dtype=torch.float32)
    made = {"fixed": tl.FixedBinarization, "soft": tl.SoftBinarization, "learnable": tl.LearnableBinarization}
    return made[kind](thresholds, feature_dim=dimension)


def _dense(tl: Any, random: Any, width: int, size: int) -> Any:
    form = str(random.choice(["raw", "raw", "light", "warp"]))
    learnable = random.random() < 0.3
    settings = {"init_method": "random"}
    if learnable:
        settings["num_candidates"] = int(random.choice([-1, 2])) if width >= 4 else -1
    made = tl.LogicDense(
        width,
        size,
        parametrization=form,
        parametrization_kwargs={"weight_init": "random"},
        connections="learnable" if learnable else "fixed",
        connections_kwargs=settings,
    )
    if form == "light":
        made.weight.data -= 0.5
    return made


def _rows(random: Any, inputs: Any, bits: bool, shape: tuple[int, ...]) -> np.ndarray:
    size = (24, int(np.prod(shape)))
    if bits:
        return random.integers(0, 2, size)
    match inputs:
        case Integers():
            return random.integers(inputs.low, inputs.high + 1, size)
        case _:
            return np.clip(random.normal(0, 1, size), -2, 2).astype(np.float32).astype(np.float64)


def compare(seed: int, count: int = 1) -> list[str]:
    """Read random modules and compare scores with those of torchlogix; return the differences in words."""
    import torch

    found, source = [], modules(seed)
    for _ in range(count):
        model, options, rows = next(source)
        net = from_logic_gates(model, **options)
        inputs = options.get("inputs")
        values = rows
        if isinstance(inputs, Integers):
            values = np.array([[float(inputs.value(int(x))) for x in row] for row in rows])
        shape = options.get("shape", rows.shape[1:])
        with torch.no_grad():
            want = model(torch.tensor(values, dtype=torch.float32).reshape(len(rows), *shape)).numpy()
        got = net.head.logits(net.match_counts(rows))
        close = np.abs(want - got) <= 1e-5 * np.maximum(1, np.abs(got))
        if want.shape != got.shape or not close.all() or (want.argmax(axis=1) != net.predict(rows)).any():
            found.append(f"torchlogix, seed {seed}: {model}: scores differ")
    return found
