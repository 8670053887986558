"""What questions mean, by enumeration: the twin of `sugenet.problem` and of `sugenet.checker.meaning`.

It shares no code with either. A network is written down here as plain lists, and evaluated here. The
representatives of a feature are the sample, every cut, limit and radius end, and their neighbours on both
sides. Questions are constant between them, so that together they decide a small question exactly.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import floor, inf, nextafter

from sugenet import nn
from sugenet.nn import DenseLayer, Encoder, Head, Network, OneHot, Steps
from tests.checker.typed import law_data

LARGEST = 1.7976931348623157e308
EDGES = (
    0.1, 2.0**24, 2.0**24 + 1, 2.0**31, 2.0**53, 2.0**53 + 2, 2.0**63, 5e-324, 2.2250738585072014e-308,
    LARGEST, inf,
)  # fmt: skip


@dataclass(frozen=True)
class Feature:
    """A category if there are names; otherwise a number."""

    names: tuple[object, ...] = ()
    cuts: tuple[float, ...] = ()
    low: float = -inf
    high: float = inf
    whole: bool = False
    bit: bool = False

    def coding(self):
        if self.names:
            return OneHot(self.names)
        return nn.bit() if self.bit else Steps(self.cuts, self.low, self.high, self.whole)

    def bits(self, value):
        if self.names:
            return [int(value == name and type(value) is type(name)) for name in self.names]
        return [int(value >= cut) for cut in self.cuts]

    def is_value(self, value):
        if self.names:
            return any(type(value) is type(name) and value == name for name in self.names)
        if not self.low <= value <= self.high or abs(value) == inf:
            return False
        return value == floor(value) if self.whole else abs(value) <= LARGEST and float(value) == value

    def near(self, marks):
        """All values at marks, and next to them on both sides."""
        if self.names:
            return list(self.names)
        found = set()
        for mark in [*marks, *self.cuts, self.low, self.high, 0]:
            if self.whole:
                if abs(mark) != inf:
                    found |= {floor(mark) + k for k in (-1, 0, 1, 2)}
                continue
            try:
                at = float(mark)
            except OverflowError:
                at = inf if mark > 0 else -inf
            down, up = nextafter(at, -inf), nextafter(at, inf)
            found |= {at, down, up, nextafter(down, -inf), nextafter(up, inf), LARGEST, -LARGEST}
        return sorted({Fraction(value) for value in found if abs(value) != inf and self.is_value(value)})


@dataclass(frozen=True)
class Net:
    """Features, layers of (weights, tau) over match counts, and a head of (weights, bias, scale)."""

    features: tuple[Feature, ...]
    layers: tuple[tuple[tuple[tuple[int, ...], ...], tuple[int, ...]], ...]
    head: tuple[tuple[int, ...], ...]
    bias: tuple[Fraction, ...]
    scale: tuple[Fraction, ...]

    def network(self):
        encoder = Encoder([f.coding() for f in self.features], [f"f{k}" for k in range(len(self.features))])
        width, layers = encoder.width, []
        for weights, tau in self.layers:
            rows = [list(row) for row in weights] if weights else nn.arrays.np.zeros((0, width), int)
            layers.append(DenseLayer(rows, list(tau)))
            width = len(tau)
        rows = [list(row) for row in self.head]
        rows = rows if width else nn.arrays.np.zeros((len(rows), 0), int)
        return Network(encoder, layers, Head(rows, list(self.bias), list(self.scale)))

    def scores(self, values):
        bits = [
            bit for feature, value in zip(self.features, values, strict=True) for bit in feature.bits(value)
        ]
        for weights, tau in self.layers:
            bits = [int(_matches(row, bits) >= t) for row, t in zip(weights, tau, strict=True)]
        found = []
        for row, bias, scale in zip(self.head, self.bias, self.scale, strict=True):
            size = sum(map(abs, row))
            found.append(scale * (2 * _matches(row, bits) - size) + bias)
        return found

    def label(self, values):
        scores = self.scores(values)
        return scores.index(max(scores))


def _matches(weights, bits):
    return sum(abs(w) for w, bit in zip(weights, bits, strict=True) if (w > 0) == bool(bit) and w)


# -- sets of values ------------------------------------------------------------------------------------------


def holds(limit, feature, value):
    """Whether a limit, a pair or a set, holds a value; a bit is off at -1 and at 0."""
    spellings = (-1, 0) if feature.bit and value == 0 else (value,)
    if isinstance(limit, tuple):
        low, high = limit
        return any((low is None or v >= low) and (high is None or v <= high) for v in spellings)
    return any(type(v) is type(w) and v == w if feature.names else v == w for v in spellings for w in limit)


def size(feature, before, after):
    if feature.names:
        return Fraction(before != after)
    return abs(Fraction(after) - Fraction(before))


def flipped(feature, before, after):
    return sum(a != b for a, b in zip(feature.bits(before), feature.bits(after), strict=True))


def measure(kind, net, sample, values, prices=None):
    """What a change costs; for L2 the sum of squares."""
    rows = list(zip(net.features, sample, values, strict=True))
    sizes = [size(*row) for row in rows]
    match kind:
        case "Hamming":
            return Fraction(sum(flipped(*row) for row in rows))
        case "L0":
            return Fraction(sum(far > 0 for far in sizes))
        case "L1":
            return sum(sizes, Fraction(0))
        case "L2":
            return sum((far**2 for far in sizes), Fraction(0))
        case "Linf":
            return max(sizes, default=Fraction(0))
    per_unit = kind == "Prices per unit"
    return sum(
        (Fraction(prices[f]) * (far if per_unit else far > 0) for f, far in enumerate(sizes) if far),
        Fraction(0),
    )


@dataclass(frozen=True)
class Asked:
    """A question written down: what `question` needs is there, the rest is None."""

    kind: str
    sample: tuple[object, ...] | None = None
    region: tuple[str, object] | None = None
    """("L1", radius), ("Free", features), ("Box", limits) or ("AnyInput", None)."""
    where: dict[int, object] = field(default_factory=dict)
    domain: dict[int, object] = field(default_factory=dict)
    law: tuple[int, object, int, object] | None = None
    """If feature f reaches a, then feature g reaches b."""
    target: int | None = None
    ties: str = "lowest"
    cost: str = "L0"
    prices: dict[int, Fraction] = field(default_factory=dict)
    movable: tuple[int, ...] = ()
    limit: Fraction | None = None
    label: int = 0
    special: tuple[int, ...] = ()
    rising: bool = True

    # -- meaning ---------------------------------------------------------------------------------------------

    def obeys(self, values):
        if self.law is None:
            return True
        f, a, g, b = self.law
        return not values[f] >= a or values[g] >= b

    def allows(self, net, values):
        """Whether an input is one that the question is about, whatever it costs."""
        for f, (feature, value) in enumerate(zip(net.features, values, strict=True)):
            is_own = self.sample is not None and value == self.sample[f]
            if f in self.domain and not holds(self.domain[f], feature, value) and not is_own:
                return False
            if f in self.where and not holds(self.where[f], feature, value):
                return False
            if self.region is not None and not is_own and not self._reaches(f, feature, value):
                return False
            if (
                self.kind == "whatif"
                and not is_own
                and (f not in self.movable or (self.cost.startswith("Prices") and f not in self.prices))
            ):
                return False
        if not self.obeys(values):
            return False
        if self.region is None or self.region[0] in ("Free", "Box", "AnyInput"):
            return True
        kind, radius = self.region
        return measure(kind, net, self.sample, values) <= Fraction(radius) ** (2 if kind == "L2" else 1)

    def _reaches(self, f, feature, value):
        kind, what = self.region
        if kind == "Free":
            return f in what
        return kind != "Box" or (f in what and holds(what[f], feature, value))

    def is_sample_inside(self, net):
        """Whether a box has the sample in it."""
        if self.region is None or self.region[0] != "Box":
            return True
        return all(holds(limit, net.features[f], self.sample[f]) for f, limit in self.region[1].items())

    def price(self, net, values):
        return measure(self.cost, net, self.sample, values, self.prices)

    def changes(self, net, values):
        """Whether an input has another class than the sample, or the target."""
        scores, own = net.scores(values), net.label(self.sample)
        best = max(scores)
        first = scores.index(best)
        if self.target is None:
            tied = [k for k, score in enumerate(scores) if score == best] != [own]
            return first != own if self.ties == "lowest" else tied
        return first == self.target if self.ties == "lowest" else scores[self.target] == best

    def violates(self, net, values):
        match self.kind:
            case "robust" | "whatif":
                return self.changes(net, values)
            case "always":
                return net.label(values) != self.label
            case "never":
                return net.label(values) == self.label
            case "query":  # Y_label is not above all others
                scores = net.scores(values)
                return any(scores[k] >= scores[self.label] for k in range(len(scores)) if k != self.label)
        raise AssertionError(self.kind)

    def inputs(self, net):
        """All representatives."""
        rows = []
        for f, feature in enumerate(net.features):
            marks = []
            for limit in (self.domain.get(f), self.where.get(f), self._box(f)):
                if limit is not None and not feature.names:
                    marks += [end for end in limit if end is not None]
            if self.law is not None and not feature.names:
                marks += [self.law[1]] * (self.law[0] == f) + [self.law[3]] * (self.law[2] == f)
            if self.sample is not None and not feature.names:
                far = (
                    []
                    if self.region is None or self.region[0] in ("Free", "Box", "AnyInput")
                    else [self.region[1]]
                )
                far += [] if self.limit is None else [self.limit]
                own = Fraction(self.sample[f])
                marks += [own, *(own + sign * Fraction(r) for r in far for sign in (-1, 1))]
            rows.append(feature.near(marks))
        return rows

    def _box(self, f):
        return self.region[1].get(f) if self.region is not None and self.region[0] == "Box" else None

    # -- as JSON ---------------------------------------------------------------------------------------------

    def question(self, net):
        if self.kind in ("robust", "whatif"):
            about = {
                "sample": [shown(v) for v in self.sample],
                "label": net.label(self.sample),
                "target": self.target,
                "ties": self.ties,
            }
            region = None if self.region is None else region_data(net, self.region)
            if self.kind == "robust":
                return {"kind": "robust", **about, "region": region}
            cost = {"kind": self.cost}
            if self.cost.startswith("Prices"):
                prices = [[f, str(Fraction(price))] for f, price in sorted(self.prices.items())]
                cost = {"kind": "Prices", "prices": prices, "per_unit": self.cost == "Prices per unit"}
            limit = None if self.limit is None else str(self.limit ** (2 if self.cost == "L2" else 1))
            more = {"cost": cost, "movable": list(self.movable), "region": region, "limit": limit}
            return {"kind": "whatif", **about, **more}
        if self.kind == "query":
            pairs = [self.where[f] for f in range(len(net.features))]
            condition = [[[[[k, 1], [self.label, -1]], 0]] for k in range(len(net.head)) if k != self.label]
            case = {"lower": [shown(a) for a, _ in pairs], "upper": [shown(b) for _, b in pairs]}
            return {
                "kind": "query",
                "inputs": len(net.features),
                "outputs": len(net.head),
                "cases": [{**case, "condition": condition}] if condition else [],
            }
        where = limits_data(self.where)
        if self.kind == "count":
            sample = None if self.sample is None else [shown(v) for v in self.sample]
            region = None if self.region is None else region_data(net, self.region)
            return {"kind": "count", "sample": sample, "region": region, "where": where}
        if self.kind == "monotone":
            return {
                "kind": "monotone",
                "feature": self.special[0],
                "label": None,
                "rising": self.rising,
                "where": where,
            }
        if self.kind == "fair":
            return {"kind": "fair", "protected": list(self.special), "where": where}
        return {"kind": self.kind, "label": self.label, "where": where}

    def certificate(self, net, network, **contents):
        about = {"format": "sugenet certificate", "version": 3, "network": network.fingerprint}
        domain = {}
        if self.domain or self.law is not None:
            domain = {
                "domain": {
                    "limits": limits_data(self.domain),
                    "laws": [law_data(text, network) for text in self.laws()],
                }
            }
        return {**about, **domain, "question": self.question(net), **contents}

    def laws(self):
        if self.law is None:
            return []
        f, a, g, b = self.law
        return [f"if f{f} >= {shown(a)} then f{g} >= {shown(b)}"]


def shown(value):
    """A value as JSON has it."""
    if not isinstance(value, Fraction):
        return value
    if value.denominator == 1 and abs(value) < 2**70:
        return int(value)
    return float(value) if abs(value) <= LARGEST and Fraction(float(value)) == value else str(value)


def limits_data(limits):
    return [
        [
            f,
            [shown(end) for end in limit]
            if isinstance(limit, tuple)
            else {"one of": [shown(v) for v in sorted(limit, key=str)]},
        ]
        for f, limit in sorted(limits.items())
    ]


def region_data(net, region):
    kind, what = region
    match kind:
        case "AnyInput":
            return {"kind": kind}
        case "Free":
            return {"kind": kind, "features": list(what)}
        case "Box":
            return {"kind": kind, "limits": limits_data(what)}
    return {"kind": kind, "radius": str(Fraction(what))}


# -- random nets and questions -------------------------------------------------------------------------------


def random_feature(chance):
    kind = chance.randrange(9)
    if kind == 0:
        return Feature(names=("a", "b", 3)[: chance.randint(1, 3)])
    if kind == 1:
        return Feature(cuts=(1.0,), low=0.0, high=1.0, whole=True, bit=True)
    if kind == 2:
        return Feature(cuts=(1.0, 2.0, 3.0), low=0.0, high=3.0, whole=True)
    if kind == 3:
        return Feature(
            cuts=(2.0, 4.5), low=chance.choice([-inf, 1.0, 0.5]), high=chance.choice([inf, 5.5]), whole=True
        )
    if kind == 4:
        return Feature(cuts=(2.0,), low=chance.choice([-inf, 0.0]), high=chance.choice([inf, 3.0]))
    if kind == 5:
        return Feature(cuts=(0.1, 2.5))
    if kind == 6:
        edge = chance.choice(EDGES) * chance.choice([-1, 1])
        return Feature(cuts=(edge,), whole=chance.random() < 0.4)
    if kind == 7:
        edge = chance.choice(EDGES[:-1])
        return Feature(
            cuts=tuple(sorted({-edge, edge})), low=chance.choice([-inf, -edge]), whole=chance.random() < 0.4
        )
    return Feature(cuts=(), low=chance.choice([-inf, -2.0]))


def random_net(chance, most=2):
    """Small and often degenerate: no layer, no neurons, constant neurons, zero weights, one class, ties,
    neurons that copy each other, thresholds far away.
    """
    features = tuple(random_feature(chance) for _ in range(chance.randint(1, most)))
    width, layers = sum(len(f.names) or len(f.cuts) for f in features), []
    for _ in range(chance.choice([0, 1, 1, 2])):
        out = chance.choice([0, 1, 2, 3, 4])
        largest = chance.choice([1, 1, 1, 2, 1 << 20])
        rows = [tuple(chance.randint(-largest, largest) for _ in range(width)) for _ in range(out)]
        if out > 1 and chance.random() < 0.3:
            rows[1] = tuple(chance.choice([1, -1]) * w for w in rows[0])
        if out and chance.random() < 0.2:
            rows[0] = (0,) * width
        sizes = [sum(map(abs, row)) for row in rows]
        tau = tuple(
            chance.choice([0, 1, -1, s, s + 1, s // 2, s // 2 + 1, 1 << 40, -(1 << 40)]) for s in sizes
        )
        layers.append((tuple(rows), tau))
        width = out
    classes = chance.choice([1, 2, 2, 3])
    largest = chance.choice([1, 1, 2, 7])
    head = tuple(tuple(chance.randint(-largest, largest) for _ in range(width)) for _ in range(classes))
    bias = tuple(Fraction(chance.randint(-3, 3), chance.choice([1, 2, 3])) for _ in range(classes))
    scale = tuple(Fraction(chance.randint(0, 3), chance.choice([1, 2])) for _ in range(classes))
    return Net(features, tuple(layers), head, bias, scale)


def random_mark(chance, feature):
    """A number at a cut, or near one; not always a value."""
    base = chance.choice([*(Fraction(c) for c in feature.cuts if abs(c) != inf), Fraction(0), Fraction(2)])
    off = chance.choice(
        [0, 0, 1, -1, 3, -3, Fraction(1, 2), Fraction(-1, 4), Fraction(1, 3), Fraction(1, 2**60)]
    )
    mark = base + off
    if chance.random() < 0.3 and abs(mark) < LARGEST:
        beside = nextafter(float(mark), chance.choice([-inf, inf]))
        return mark if abs(beside) == inf else Fraction(beside)
    return mark


def random_limit(chance, feature, inside=None):
    if feature.names:
        kept = set(chance.sample(feature.names, chance.randint(1, len(feature.names))))
        return kept | ({inside} if inside is not None else set())
    if chance.random() < 0.25:
        values = chance.sample(feature.near([random_mark(chance, feature)]), 1)
        return set(values) | ({inside} if inside is not None else set())
    low, high = sorted([random_mark(chance, feature), random_mark(chance, feature)])
    if inside is not None:
        low, high = min(low, inside), max(high, inside)
    return (chance.choice([low, low, None]), chance.choice([high, high, None]))


def random_question(chance, net, kind=None):
    count = len(net.features)
    sample = tuple(
        chance.choice(f.near([random_mark(chance, f)] if not f.names else [])) for f in net.features
    )
    kind = kind or chance.choice(
        ["robust", "robust", "whatif", "whatif", "always", "never", "query", "count", "count"]
    )
    some = [f for f in range(count) if chance.random() < 0.4]
    numbers = [f for f in range(count) if not net.features[f].names and not net.features[f].bit]
    domain = {f: random_limit(chance, net.features[f]) for f in some} if chance.random() < 0.3 else {}
    law = None
    if chance.random() < 0.2 and len(numbers) > 1:
        f, g = chance.sample(numbers, 2)
        law = (
            f,
            shown_mark(random_mark(chance, net.features[f])),
            g,
            shown_mark(random_mark(chance, net.features[g])),
        )
    where = {f: random_limit(chance, net.features[f]) for f in range(count) if chance.random() < 0.5}
    others = [k for k in range(len(net.head)) if k != net.label(sample)]
    target = chance.choice([None, None, *others])
    region_kind = chance.choice(["Hamming", "L0", "L1", "L2", "Linf", "Free", "Box", "AnyInput"])
    radius = chance.choice(
        [0, 1, 2, Fraction(1, 2), Fraction(5, 3), abs(random_mark(chance, net.features[0]))]
    )
    what = {
        "Free": tuple(f for f in range(count) if chance.random() < 0.7),
        "Box": {
            f: random_limit(chance, net.features[f], sample[f] if chance.random() < 0.8 else None)
            for f in range(count)
            if chance.random() < 0.8
        },
        "AnyInput": None,
    }.get(region_kind, radius)
    region = (region_kind, what)
    ties = chance.choice(["lowest", "against"])
    given = {"domain": domain, "law": law}
    match kind:
        case "robust":
            return Asked(kind, sample, region, target=target, ties=ties, **given)
        case "whatif":
            cost = chance.choice(["L0", "L1", "L2", "Linf", "Hamming", "Prices", "Prices per unit"])
            prices = {f: Fraction(chance.randint(0, 3), 2) for f in range(count) if chance.random() < 0.8}
            region = region if region_kind in ("Linf", "Free", "Box", "AnyInput") else None
            movable = tuple(f for f in range(count) if chance.random() < 0.8)
            limit = chance.choice([None, None, Fraction(chance.randint(0, 6), 2)])
            return Asked(
                kind, sample, region, target=target, ties=ties, cost=cost, prices=prices, movable=movable,
                limit=limit, **given,
            )  # fmt: skip
        case "query":
            if any(f.names for f in net.features):
                return random_question(chance, net, "always")
            ends = [sorted([random_mark(chance, f), random_mark(chance, f)]) for f in net.features]
            label = chance.randrange(len(net.head))
            return Asked(kind, where={f: tuple(pair) for f, pair in enumerate(ends)}, label=label, **given)
        case "count":
            if chance.random() < 0.3:
                return Asked(kind, where=where, **given)
            return Asked(kind, sample, region, where=where, **given)
        case "monotone" | "fair":
            special = numbers if kind == "monotone" else list(range(count))
            if not special:
                return random_question(chance, net, "always")
            chosen = tuple(
                sorted(chance.sample(special, 1 if kind == "monotone" else chance.randint(1, len(special))))
            )
            return Asked(kind, where=where, special=chosen, rising=chance.random() < 0.5, **given)
    return Asked(kind, where=where, label=chance.randrange(len(net.head)), **given)


def shown_mark(mark):
    """A number that a law can be written with: one that its text reads back as."""
    return Fraction(float(mark)) if abs(mark) < LARGEST else Fraction(0)


def decided(asked, net):
    """All allowed representatives; and those that violate the question."""
    inputs = [row for row in product(*asked.inputs(net)) if asked.allows(net, row)]
    if asked.kind in ("count", "monotone", "fair"):
        return inputs, []
    return inputs, [row for row in inputs if asked.violates(net, row)]


def counted(asked, net):
    """How many combinations of bits have an allowed input, by class."""
    counts = [0] * len(net.head)
    seen = set()
    for row in product(*asked.inputs(net)):
        if asked.allows(net, row):
            bits = tuple(tuple(f.bits(v)) for f, v in zip(net.features, row, strict=True))
            if bits not in seen:
                seen.add(bits)
                counts[net.label(row)] += 1
    return counts


def pairs(asked, net):
    """All pairs of allowed inputs that violate monotonicity or fairness."""
    inputs, _ = decided(asked, net)
    others = [f for f in range(len(net.features)) if f not in asked.special]
    found = []
    for a, b in product(inputs, repeat=2):
        if any(a[f] != b[f] for f in others):
            continue
        p, q = net.label(a), net.label(b)
        if asked.kind == "fair" and p != q:
            found.append((a, b))
        if asked.kind == "monotone":
            (f,) = asked.special
            if (b[f] > a[f] if asked.rising else b[f] < a[f]) and q < p:
                found.append((a, b))
    return found


def python_question(asked, network, net):
    """The same question in Python."""
    import sugenet as sg

    def limits(given):
        return {f: set(limit) if isinstance(limit, set) else limit for f, limit in given.items()}

    def region_of(region):
        kind, what = region
        if kind in ("Free", "Box"):
            return getattr(sg, kind)(what if kind == "Free" else limits(what))
        return sg.AnyInput() if kind == "AnyInput" else getattr(sg, kind)(what)

    match asked.kind:
        case "robust":
            return sg.Robust(
                [shown(v) for v in asked.sample], region_of(asked.region), asked.target, asked.ties
            )
        case "always" | "never":
            return (sg.Always if asked.kind == "always" else sg.Never)(asked.label, limits(asked.where))
        case "monotone":
            return sg.Monotone(asked.special[0], None, asked.rising, limits(asked.where))
        case "fair":
            return sg.Fair(asked.special, limits(asked.where))
        case "query":
            from sugenet.problem.query import Case, Inequality, Query, QueryBox

            ends = [asked.where[f] for f in range(len(net.features))]
            ways = [
                [Inequality({k: 1, asked.label: -1}, 0)] for k in range(len(net.head)) if k != asked.label
            ]
            box = QueryBox([a for a, _ in ends], [b for _, b in ends])
            return Query(len(net.features), len(net.head), [Case(box, ways)])
    raise AssertionError(asked.kind)


def within(asked, network):
    """The network with the domain of a question."""
    from sugenet.nn import Domain, Span
    from sugenet.nn.laws import Law

    spans = {
        f: Span(values=tuple(sorted(limit, key=str))) if isinstance(limit, set) else Span(*limit)
        for f, limit in asked.domain.items()
    }
    laws = [Law(text, network.encoder) for text in asked.laws()]
    return network.within(Domain(spans, laws)) if spans or laws else network


def chance_of(seed):
    return random.Random(seed)
