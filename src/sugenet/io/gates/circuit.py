"""Read the `Circuit` of torchlogix, a list of gates in any shape, as layers of gates."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from sugenet.io.gates.program import IDENTITY, GateLayer, GateProgram, gate_layer
from sugenet.io.plain.refusals import refuse_if, required
from sugenet.nn.arrays import Ints

__all__ = ["program_of_circuit"]

_NUMBERS = {
    "CONST_FALSE": 0,
    "AND": 1,
    "AND_NOT_B": 2,
    "WIRE": IDENTITY,
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
_KEYS = {"n_inputs", "input_shape", "outputs", "output_shape", "gates", "sum_nodes"}
_GATE_KEYS = {"gate_id", "op", "in0", "in1", "node_idx"}
_SUM_KEYS = {"node_id", "input_ids", "tau", "beta"}
_UNARY, _ONLY_SECOND, _CONSTANT = (IDENTITY, 12), (10,), (0, 15)


def program_of_circuit(circuit: Mapping[str, Any], source: str) -> GateProgram:
    """Return the program of a circuit, as ``Circuit.to_dict`` states it.

    A gate lies in the layer after the last of its inputs. Values that are read later are carried by gates
    that give their first input.
    """
    _only(circuit, _KEYS, source)
    count = _integer(circuit, "n_inputs", source)
    refuse_if(count < 1, source, f"n_inputs is {count}.")
    shape = tuple(circuit.get("input_shape") or (count,))
    refuse_if(
        not all(isinstance(size, int) and size > 0 for size in shape) or prod(shape) != count,
        source,
        f"input_shape {shape} does not have {count:,} values.",
    )
    depth = dict.fromkeys(range(count), 0)
    members: dict[int, list[tuple[int, int, int, int]]] = defaultdict(list)
    last = dict.fromkeys(range(count), 0)
    """For each value, the last layer that reads it."""
    for gate in _rows(circuit, "gates", source):
        name, number, first, second = _gate(gate, depth, source)
        depth[name] = layer = 1 + max(depth[first], depth[second])
        members[layer].append((name, number, first, second))
        last[name] = layer
        for read in (first, second):
            last[read] = max(last[read], layer - 1)
    sums = _sums(circuit, depth, source)
    end = max(members, default=0)
    for rows, _, _ in sums:
        for name in rows:
            last[name] = end
    values = {name: name for name in range(count)}
    layers: list[GateLayer] = []
    for layer in range(1, end + 1):
        gates = members[layer]
        carried = [name for name in values if last[name] >= layer]
        first_inputs = [values[first] for _, _, first, _ in gates] + [values[name] for name in carried]
        second_inputs = [values[second] for *_, second in gates] + [values[name] for name in carried]
        numbers = [number for _, number, _, _ in gates] + [IDENTITY] * len(carried)
        where = f"layer {layer}"
        made = gate_layer(where, first_inputs, second_inputs, numbers, len(values))
        layers.append(GateLayer(where, made.first, made.second, made.gates, len(carried)))
        values = {name: k for k, name in enumerate([*(name for name, *_ in gates), *carried])}
    classes: tuple[Ints, ...] = tuple(
        np.array([values[name] for name in rows], np.int64) for rows, *_ in sums
    )
    return GateProgram(
        source, shape, None, tuple(layers), classes, sums[0][1], tuple(offset for *_, offset in sums)
    )


def _gate(gate: Any, depth: Mapping[int, int], source: str) -> tuple[int, int, int, int]:
    """Return the identifier of a gate, its number and its inputs."""
    _only(gate, _GATE_KEYS, source)
    name = _integer(gate, "gate_id", source)
    where = f"{source}: gate {name}"
    refuse_if(name in depth, where, "its identifier stands twice.")
    op = getattr(gate.get("op"), "name", gate.get("op"))
    number = required(_NUMBERS.get(str(op)), where, f"its operation {str(op)[:60]!r} is not known.")
    first, second = (_integer(gate, key, source) for key in ("in0", "in1"))
    if number in _CONSTANT:
        first = second = 0
    elif number in _UNARY:
        second = first
    elif number in _ONLY_SECOND:
        first = second
    for read in (first, second):
        refuse_if(read not in depth, where, f"it reads {read}, which is not an input or an earlier gate.")
    return name, number, first, second


def _sums(
    circuit: Mapping[str, Any], depth: Mapping[int, int], source: str
) -> list[tuple[list[int], float, float]]:
    """Return the values that each class sums, the divisor and the number that is added."""
    known: dict[int, tuple[list[int], float, float]] = {}
    for one in _rows(circuit, "sum_nodes", source):
        _only(one, _SUM_KEYS, source)
        name = _integer(one, "node_id", source)
        rows = list(one.get("input_ids", ()))
        wrong = [read for read in rows if read not in depth]
        refuse_if(wrong, source, f"sum {name} reads {wrong[:1]}, which is not a gate.")
        known[name] = rows, float(one.get("tau", 1.0)), float(one.get("beta", 0.0))
    outputs = list(circuit.get("outputs", ()))
    refuse_if(
        not outputs or any(output not in known for output in outputs),
        source,
        "its outputs are gates, not sums of gates. End the network with GroupSum.",
    )
    sums = [known[output] for output in outputs]
    refuse_if(
        len({divisor for _, divisor, _ in sums}) > 1, source, "its sums are divided by different numbers."
    )
    return sums


def _rows(circuit: Mapping[str, Any], key: str, source: str) -> Sequence[Any]:
    rows = circuit.get(key, ())
    refuse_if(not isinstance(rows, list | tuple), source, f"{key} is not a list.")
    return list(rows)


def _integer(item: Mapping[str, Any], key: str, source: str) -> int:
    value = item.get(key)
    refuse_if(
        not isinstance(value, int) or isinstance(value, bool),
        source,
        f"{key} is {str(value)[:60]}, not an integer.",
    )
    return int(value)  # type: ignore[arg-type]


def _only(item: Any, keys: set[str], source: str) -> None:
    refuse_if(not isinstance(item, Mapping), source, f"it holds {str(item)[:60]} instead of an object.")
    unknown = sorted(str(key) for key in set(item) - keys)
    refuse_if(unknown, source, f"it has {unknown[:1]}, which is not read.")
