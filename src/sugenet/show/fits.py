"""Results of fitting rated alternatives as text and JSON: conflicts, error, rules, and values of new
cases.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sugenet.capacity import RuleSet, elimination_rules, selection_rules
from sugenet.capacity.arguments import rating_text
from sugenet.errors import SugenetError
from sugenet.fit import (
    CapacityFit,
    Conflict,
    LearnedModel,
    RatedTable,
    VersionSpace,
    fit_capacity,
    version_space,
)
from sugenet.show.figures import plural
from sugenet.visible import visible

__all__ = ["FitView", "LearnedView", "view_fit", "view_learned"]


def _listed(items: Sequence[str], limit: int | None, noun: str) -> list[str]:
    """Return the first lines of a list, and the number of further ones."""
    shown = list(items if limit is None else items[:limit])
    left = len(items) - len(shown)
    return [*shown, *([f"... and {left:,} more {plural(left, noun)}"] if left else [])]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _said(table: RatedTable, row: int) -> dict[str, Any]:
    name = None if table.names is None else table.names[row]
    return {"line": table.lines[row], "name": name}


# -- exact fits ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FitView:
    """All capacities that fit, the conflict, or a best fit, with its rules and the values of new cases."""

    table: RatedTable
    answer: VersionSpace | Conflict | CapacityFit
    """Answer to the question; its certificate is the one to keep."""
    fit: VersionSpace | CapacityFit
    """Fit whose rules are shown."""
    cases: RatedTable | None

    @property
    def is_settled(self) -> bool:
        """Whether no better capacity can exist: a fit that ran out of time may not be the best."""
        return not isinstance(self.fit, CapacityFit) or self.fit.is_best

    @cached_property
    def rules(self) -> RuleSet:
        """Return rules that hold for all capacities of the fit; for a k-maxitive or k-minitive one, complete
        rules.
        """
        fit = self.fit
        if not isinstance(fit, CapacityFit) or fit.envelopes is not None:
            return fit.rules
        chosen = (selection_rules if fit.limited == "maxitive" else elimination_rules)(fit.capacity)
        return RuleSet(fit.ratings.criteria, chosen, fit.scale)

    @cached_property
    def intervals(self) -> list[tuple[Any, Any]]:
        """Return the minimum and the maximum value for each new case."""
        if self.cases is None:
            return []
        low, high = self.fit.values(self._values)
        return list(zip(low, high, strict=True))

    @property
    def _values(self) -> Any:
        assert self.cases is not None
        scale = self.fit.scale
        names = getattr(scale, "names", None)
        return self.cases.values(names)

    def text(self, limit: int | None = None) -> str:
        """Return text with at most this many conflicts, rules and cases."""
        answer, lines = self.answer, list[str]()
        if isinstance(answer, Conflict):
            lines += self._conflict(answer, limit)
            lines += ["", "A best fit, all the same:"]
        lines.append(str(self.fit))
        which = (
            "every capacity that fits" if isinstance(self.fit, VersionSpace) else "every capacity of this fit"
        )
        if self.fit.envelopes is None:
            which = "this capacity"
        lines += ["", f"rules of {which}; S is {visible(str(self.table.target))}"]
        lines += _indented(_listed([str(rule) for rule in self.rules.rules], limit, "rule"))
        if self.cases is not None:
            case_lines = [
                f"{visible(label)}: {self.fit.says(row)}"
                for label, row in zip(self.cases.labels, self._values, strict=True)
            ]
            lines += ["", *_listed(case_lines, limit, "case")]
        return "\n".join(lines)

    def _conflict(self, answer: Conflict, limit: int | None) -> list[str]:
        """Return the first sentences of the answer."""
        lines = str(answer).splitlines()
        total = len(answer.alone) + len(answer.pairs)
        sentences = answer.sentences(limit)
        left = total - len(sentences)
        more = [f"... and {left:,} more {plural(left, 'conflict')}"] if left else []
        return [lines[0], *(f"- {one[:1].upper()}{one[1:]}" for one in sentences), *more, lines[-1]]

    def data(self, limit: int | None = None) -> dict[str, Any]:
        """Return the same as JSON data: all rules and cases, and at most this many conflicts in words."""
        answer, fit, lines = self.answer, self.fit, self.table.lines
        ratings = fit.ratings
        out: dict[str, Any] = {
            "file": self.table.file,
            "target": self.table.target,
            "samples": len(ratings),
            "criteria": list(ratings.criteria),
            "scale": ratings.scale.to_json(),
            "fits": not fit.error if isinstance(fit, CapacityFit) else True,
        }
        if isinstance(answer, Conflict):
            out["conflicts"] = {
                "alone": [lines[k] for k in answer.alone],
                "pairs": [[lines[one], lines[other]] for one, other in answer.pairs],
                "words": answer.sentences(limit),
            }
            out["dropped"] = [lines[k] for k in answer.dropped]
        if isinstance(fit, CapacityFit):
            out["loss"], out["error"] = fit.loss, rating_text(fit.error)
            out["least"], out["best"] = rating_text(fit.least), fit.is_best
        out["words"] = str(fit)
        out["rules"] = [str(rule) for rule in self.rules.rules]
        if self.cases is not None:
            out["cases"] = [
                _said(self.cases, row) | {"low": rating_text(low), "high": rating_text(high)}
                for row, (low, high) in enumerate(self.intervals)
            ]
        out["certificate"] = dict(answer.certificate)
        return out


def view_fit(
    table: RatedTable,
    order: Sequence[str] | None,
    loss: str | None = None,
    *,
    maxitive: int | None = None,
    minitive: int | None = None,
    time_limit: float | None = None,
    cases: RatedTable | None = None,
) -> FitView:
    """Return the capacities of a table: all that fit, or the conflict and a best fit; with a loss, that
    fit.
    """
    ratings = table.ratings(order)
    if loss is None and maxitive is None and minitive is None:
        space = version_space(ratings)
        return FitView(table, space, fit_capacity(ratings) if isinstance(space, Conflict) else space, cases)
    limits = {"maxitive": maxitive, "minitive": minitive, "time_limit": time_limit}
    fit = fit_capacity(ratings, loss or "largest", **limits)  # type: ignore[arg-type]
    return FitView(table, fit, fit, cases)


# -- learned models ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LearnedView:
    """Model learned from a table whose columns have their own scales."""

    is_settled: ClassVar[bool] = True
    """Whether it is proved to be the best: this is not claimed."""
    table: RatedTable
    model: LearnedModel
    orders: Mapping[str, Sequence[str]]
    truth: Any
    """The level of each row, by position."""
    cases: RatedTable | None

    @cached_property
    def errors(self) -> Any:
        """Error of each row, in levels."""
        return np.abs(self.model.ranks(self.table.columns(self.orders)) - self.truth)

    @cached_property
    def answers(self) -> list[dict[str, Any]]:
        """Return the value of each new case, and the interval if there is one."""
        if self.cases is None:
            return []
        X, levels = self.cases.columns(self.orders), self.model.levels
        records = [{"value": rating_text(levels[rank])} for rank in self.model.ranks(X)]
        if self.model.card is None:
            for one, low, high in zip(records, *self.model.interval(X), strict=True):
                one |= {"low": rating_text(levels[low]), "high": rating_text(levels[high])}
        return records

    @property
    def worths(self) -> dict[str, dict[str, Any]]:
        """Return the worth of the levels of each feature: a level of the target, or points."""
        model = self.model
        if model.card is not None:
            values: dict[str, Sequence[Any]] = {
                chain.name: points for chain, points in zip(model.chains, model.card.points, strict=True)
            }
        else:
            values = dict(model.utilities()) if len(model.terms) == 1 else {}
        worst = 0 if model.card is not None else model.levels[0]
        return {
            chain.name: _steps(chain, values[chain.name], worst)
            for chain in model.chains
            if chain.name in values
        }

    def text(self, limit: int | None = None) -> str:
        """Return text with at most this many rules and cases."""
        model, lines = self.model, [str(self.model)]
        worths, wide = self.worths, max(3, *(len(visible(name)) for name in self.table.criteria))
        if worths:
            lines += [
                "",
                "points"
                if model.card is not None
                else f"what values are worth, as {visible(str(self.table.target))}",
            ]
            for name, steps in worths.items():
                phrase = (
                    ", ".join(f"{value}: {worth}" for value, worth in steps.items()) or "counts for nothing"
                )
                lines.append(f"  {visible(name):<{wide}}  {phrase}")
        if model.card is not None:
            reached = zip(model.card.thresholds, model.levels[1:], strict=True)
            sums = ", ".join(f">= {threshold}: {rating_text(level)}" for threshold, level in reached)
            lines.append(f"  {'sum':<{wide}}  {sums}")
        lines += ["", f"rules: the best level of those that hold, else {rating_text(model.levels[0])}"]
        lines += _indented(_listed([str(rule) for rule in model.rules], limit, "rule"))
        off = int((self.errors > 0).sum())
        lines += [
            "",
            f"of the {len(self.errors)} rows that it learned from, {len(self.errors) - off} get their level; "
            f"off by {self.errors.mean():.3f} levels on average. New rows may fare worse.",
        ]
        if self.cases is not None:
            cases = [
                f"{visible(label)}: {_words(one)}"
                for label, one in zip(self.cases.labels, self.answers, strict=True)
            ]
            lines += ["", *_listed(cases, limit, "case")]
        return "\n".join(lines)

    def data(self, _limit: int | None = None) -> dict[str, Any]:
        """Return the same as JSON data."""
        model = self.model
        out: dict[str, Any] = {
            "file": self.table.file,
            "target": self.table.target,
            "samples": len(self.errors),
            "criteria": list(self.table.criteria),
            "levels": [rating_text(level) for level in model.levels],
            "model": str(model),
            "directions": {chain.name: chain.direction for chain in model.chains},
            "worths": self.worths,
            "rules": [str(rule) for rule in model.rules],
            "right": int((self.errors == 0).sum()),
            "mean_error": float(self.errors.mean()),
        }
        if model.card is not None:
            out["sums"] = list(model.card.thresholds)
        if self.cases is not None:
            out["cases"] = [_said(self.cases, row) | one for row, one in enumerate(self.answers)]
        return out


def _steps(chain: Any, values: Sequence[Any], worst: Any) -> dict[str, Any]:
    """Return the steps of a feature at which its worth rises; the first is the worth of any value."""
    out = {} if values[0] == worst else {"any": _plain(values[0])}
    for level in range(1, len(values)):
        if values[level] != values[level - 1]:
            sign, value = chain.condition(level)
            out[f"{sign} {rating_text(value)}"] = _plain(values[level])
    return out


def _plain(worth: Any) -> Any:
    return worth if isinstance(worth, int) else rating_text(worth)


def _words(one: Mapping[str, Any]) -> str:
    if "low" not in one:
        return str(one["value"])
    low, high = one["low"], one["high"]
    return f"{one['value']}; capacities that fit as well say {low if low == high else f'{low} to {high}'}"


def view_learned(
    table: RatedTable,
    orders: Mapping[str | None, Sequence[str]],
    *,
    terms: Any = 1,
    directions: Mapping[str, str] | None = None,
    seed: int = 0,
    cases: RatedTable | None = None,
) -> LearnedView:
    """Return a model of a table by `SugenoRegressor`: orders of columns by name, that of the ratings under
    None.

    The order of the ratings also applies to columns with no other values. In a column with an order, later
    levels are better, unless a direction is given. For other columns the direction is learned.
    """
    try:
        from sugenet.fit.sugeno.estimators import SugenoRegressor
    except ImportError as error:  # the error says what to install
        raise SugenetError(str(error)) from None

    rated = orders.get(None)
    column_orders = {name: levels for name, levels in orders.items() if name is not None}
    for index, name in enumerate(table.criteria):
        if (
            rated is not None
            and name not in column_orders
            and {cells[index] for cells in table.cells} <= set(rated)
        ):
            column_orders[name] = rated
    indices = {table.criteria.index(name): list(levels) for name, levels in column_orders.items()}
    column_directions = dict.fromkeys(column_orders, "rising") | dict(directions or {})
    ways = {table.criteria.index(name): way for name, way in column_directions.items()}
    estimator = SugenoRegressor(terms, orders=indices, directions=ways, order=rated, random_state=seed)
    truth = table.targets(rated)
    estimator.fit(table.columns(column_orders), truth)
    model = estimator.model_
    named = tuple(replace(chain, name=name) for chain, name in zip(model.chains, table.criteria, strict=True))
    if rated is not None:
        ranks = np.array([list(rated).index(level) for level in truth])
    else:
        ranks = np.abs(estimator.levels_[None, :] - truth[:, None]).argmin(axis=1)
    return LearnedView(table, replace(model, chains=named), column_orders, ranks, cases)
