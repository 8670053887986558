"""One neuron of several levels in words: its steps, the minimal levels of its inputs that lift it to one of
them, what would move it (docs/theory.md 3.4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from sugenet.bnn import Condition, ConvLayer, LevelLayer, Network, PoolLayer, Stair
from sugenet.bnn.layer import tops_of
from sugenet.bnn.raw_rules import RawNeuron
from sugenet.bnn.trace import many
from sugenet.capacity.arguments import magnitude, written
from sugenet.errors import NetworkError
from sugenet.problem.neighbourhood import row_of

__all__ = ["StairView"]

INPUTS = 4096  # inputs listed in the JSON data; of more only the first are


@dataclass(frozen=True, eq=False)
class StairView:
    """A neuron of several levels, ready to print (`str`) or to write as JSON (`data`)."""

    network: Network
    layer: int
    number: int
    level: int
    """The level that rules and changes are about."""
    limit: int = 10
    sample: Any = None
    """One raw sample to look at the neuron with, or None."""

    @classmethod
    def of(cls, network: Network, layer: int, number: int, level: int | None, **about: Any) -> StairView:
        """The neuron at a level; unless one is given, at the lowest that not all inputs reach."""
        view = cls(network, layer, number, 1, **about)
        steps = view.steps
        if level is not None and not 1 <= level <= len(steps):
            raise NetworkError(
                f"layer {layer}, neuron {number} has levels 1 to {len(steps)} above 0, not {level}."
            )
        open_steps = (m for m, tau in enumerate(steps, start=1) if tau is not None and tau > 0)
        return cls(network, layer, number, next(open_steps, 1) if level is None else level, **about)

    @cached_property
    def stair(self) -> Stair | None:
        """The neuron itself; None where it is the largest or the least of several levels."""
        if self._pool is not None:
            return None
        layer = self.network.layer(self.layer)
        if isinstance(layer, LevelLayer | ConvLayer):  # two levels over more: one step
            row = (
                layer.weights[self.number - 1]
                if isinstance(layer, LevelLayer)
                else layer.row(self.number - 1)
            )
            return Stair(row.tolist(), [int(layer.tau[self.number - 1])], tops_of(layer) or ())
        found = self.network.neuron(self.layer, self.number)
        assert isinstance(found, Stair)
        return found

    @cached_property
    def _pool(self) -> PoolLayer | None:
        layer = self.network.layer(self.layer)
        return layer if isinstance(layer, PoolLayer) else None

    @cached_property
    def weights(self) -> list[tuple[int, int]]:
        """The inputs that it reads, from 0, and their weights."""
        if self.stair is not None:
            return [(place, weight) for place, weight in enumerate(self.stair.weights) if weight]
        assert self._pool is not None
        window = self._pool.window
        channel, position = divmod(self.number - 1, len(window.taps))
        pixels = window.shape[1] * window.shape[2]
        return [(channel * pixels + int(tap), 1) for tap in window.taps[position] if tap >= 0]

    @cached_property
    def _every(self) -> bool:
        """Of pooling, whether it takes the least."""
        assert self._pool is not None
        return bool(self._pool.every[(self.number - 1) // len(self._pool.window.taps)])

    @property
    def steps(self) -> list[int | None]:
        """For each level the match count that it takes; None where no input reaches it. For pooling the
        level itself.
        """
        if self.stair is None:
            assert self._pool is not None
            assert self._pool.top is not None
            return list(range(1, self._pool.top + 1))
        return [tau if tau <= self.stair.size else None for tau in self.stair.tau]

    @cached_property
    def raw(self) -> RawNeuron | None:
        """Whether it reaches the level, in raw features, where it reads them."""
        first = self.layer == 1 and self.stair is not None
        return RawNeuron.of(self.network, self.number, self.level) if first else None

    def data(self) -> dict[str, Any]:
        """Everything the text says, as JSON data."""
        tops = tops_of(self.network.layer(self.layer))
        shown = self.weights if len(self.weights) <= INPUTS else self.weights[: max(self.limit, 12)]
        out: dict[str, Any] = {
            "layer": self.layer,
            "neuron": self.number,
            "kind": "staircase" if self._pool is None else "least" if self._every else "largest",
            "levels": len(self.steps),
            "steps": self.steps,
            "size": len(self.steps) if self.stair is None else self.stair.size,
            "input_count": len(self.weights),
            "inputs": [
                {
                    "input": place + 1,
                    "weight": weight,
                    "top": 1 if tops is None else tops[place],
                    "words": self._input_words(place),
                }
                for place, weight in shown
            ],
            "level": self.level,
            "rule_count": written(self._count()),
            "rules": list(islice(self._rules(), self.limit)) if self._is_open else [],
        }
        if self.sample is not None:
            out["sample"] = self._seen()
        return out

    @property
    def _is_open(self) -> bool:
        """Whether some inputs reach the level and some do not."""
        tau = self.steps[self.level - 1]
        return tau is not None and tau > 0

    def _input_words(self, place: int) -> str:
        if self.layer > 1:
            return f"neuron {place + 1} of layer {self.layer - 1}"
        encoder = self.network.encoder
        return encoder.names[place] if self.network.reads_levels else encoder.words(place, True)

    def _count(self) -> int | None:
        if self.raw is not None:
            return self.raw.count()
        if self.stair is not None:
            return self.stair.rule_count(self.level)
        return 1 if self._every else len(self.weights)

    def _rules(self) -> Iterator[dict[str, Any]]:
        """Minimal conditions that lift it to the level: on raw features where it reads them, else on the
        levels of neurons of the layer before.
        """
        if self.raw is not None:
            yield from ({"words": rule.words(self.network.encoder)} for rule in self.raw.rules())
            return
        for rule in self._level_rules():
            yield {
                "conditions": [
                    {"input": one.place, "at_least": one.at_least, "at_most": one.at_most} for one in rule
                ],
                "words": [self.network.words(self.layer, one) for one in rule],
            }

    def _level_rules(self) -> Iterator[tuple[Condition, ...]]:
        if self.stair is not None:
            return self.stair.rules(self.level)
        every = tuple(Condition(place + 1, at_least=self.level) for place, _ in self.weights)
        return iter([every] if self._every else [(one,) for one in every])

    # -- on a sample -----------------------------------------------------------------------------------------

    def _seen(self) -> dict[str, Any]:
        trace = self.network.trace(self.sample)
        seen = trace.layers[self.layer - 1]
        level = int((seen.active if seen.levels is None else seen.levels)[self.number - 1])
        return {
            "matches": int(seen.matches[self.number - 1]),
            "level": level,
            **self._turn(level >= self.level, trace),
        }

    def _turn(self, reached: bool, trace: Any) -> dict[str, Any]:
        """The least number of features, or of inputs, whose change lifts it to the level or drops it below;
        with an example.
        """
        if self.raw is not None:
            encoder = self.network.encoder
            found = self.raw.turn(encoder.levels(row_of(encoder.values(self.sample)))[0])
            if found is None:
                return {"changes": None, "example": []}
            return {"changes": found[0], "example": found[1].words(encoder)}
        if self.layer == 1:
            values = trace.inputs[0]
        else:
            before = trace.layers[self.layer - 2]
            values = before.active.astype(int) if before.levels is None else before.levels
        chosen = self._changed(values, reached)
        if chosen is None:
            return {"changes": None, "example": []}
        return {"changes": len(chosen), "example": [self.network.words(self.layer, one) for one in chosen]}

    def _changed(self, values: Any, reached: bool) -> list[Condition] | None:
        if not self._is_open:
            return None
        if self.stair is None:
            wrong = [place for place, _ in self.weights if (values[place] >= self.level) == reached]
            asked = {"at_most": self.level - 1} if reached else {"at_least": self.level}
            some = wrong if reached is not self._every else wrong[:1]
            return [Condition(place + 1, **asked) for place in some]
        weights, tops = np.array(self.stair.weights), np.array(self.stair.tops)
        ups = (weights > 0) != reached  # which way each input has to go
        gains = np.abs(weights) * np.where(ups, tops - values, values)
        count = self.stair.match_count(values.tolist())
        need = (
            count - self.stair.reaches(self.level) + 1 if reached else self.stair.reaches(self.level) - count
        )
        chosen: list[Condition] = []
        for place in np.argsort(-gains, kind="stable").tolist():
            if need <= 0 or not gains[place]:
                break
            moves = min(int(gains[place]), need)
            by = -(-moves // abs(int(weights[place])))
            goal = int(values[place]) + (by if ups[place] else -by)
            chosen.append(
                Condition(place + 1, at_least=goal) if ups[place] else Condition(place + 1, at_most=goal)
            )
            need -= int(gains[place])
        return chosen if need <= 0 else None

    # -- words -----------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        data = self.data()
        title = f"neuron {self.number} of layer {self.layer}"
        if self.stair is not None:
            lines = [f"{title}: {self.stair}"]
        else:
            lines = [f"{title}: the {data['kind']} of {many(len(self.weights), 'level')}"]
        listed = data["inputs"][: max(self.limit, 12)]
        more = data["input_count"] - len(listed)
        weighed = "" if self.stair is None else "weight {weight:+}, "
        inputs = [f"{{words}} ({weighed}levels 0..{{top}})".format(**item) for item in listed]
        lines.append("inputs: " + "; ".join(inputs) + (f"; and {more:,} more" if more else ""))
        if not self._is_open:
            always = self.steps[self.level - 1] is not None
            lines.append(f"level {self.level}: {'always' if always else 'never'} reached")
        else:
            lines += self._rule_lines(data["rules"])
        if "sample" in data:
            lines += self._sample_lines(data["sample"])
        return "\n".join(lines)

    def _rule_lines(self, rules: list[dict[str, Any]]) -> list[str]:
        count = self._count()
        total = "too many to count" if count is None else magnitude(count)
        what = "minimal rules in raw features" if self.raw is not None else "minimal rules"
        shown = "" if len(rules) == count else f", {len(rules)} of them shown"
        return [
            f"{what} for level {self.level}: {total}{shown}",
            *(f"  if {' and '.join(rule['words'])}, then it is at least {self.level}" for rule in rules),
        ]

    def _sample_lines(self, seen: dict[str, Any]) -> list[str]:
        by = "" if self.stair is None else f"{seen['matches']} matches, so it is at "
        lines = [f"on this sample: {by}level {seen['level']}"]
        goal = f"drop it below {self.level}" if seen["level"] >= self.level else f"lift it to {self.level}"
        changes = seen["changes"]
        if changes is None:
            return [*lines, f"  nothing would {goal}"]
        what = "feature" if self.raw is not None else "input"
        lines.append(f"  {changes} changed {what}{'' if changes == 1 else 's'} would {goal}, for example")
        return [*lines, f"    if {' and '.join(seen['example'])}"]
