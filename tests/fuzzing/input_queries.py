"""Input queries as Marabou saves them, written line by line, and what they say, evaluated in fractions."""

from fractions import Fraction


class Saved:
    """A file in the making: variables, equations, signs, bounds."""

    def __init__(self, inputs):
        self.variables = inputs
        self.inputs, self.outputs = list(range(inputs)), []
        self.lower, self.upper, self.equations, self.signs = {}, {}, [], []

    def fresh(self):
        self.variables += 1
        return self.variables - 1

    def sums(self, before, weights, shift):
        """New variables v with weights . before + shift - v = 0."""
        made = []
        for row, constant in zip(weights, shift, strict=True):
            v = self.fresh()
            terms = [(u, w) for u, w in zip(before, row, strict=True) if w] + [(v, Fraction(-1))]
            self.equations.append((0, -Fraction(constant), terms))
            made.append(v)
        return made

    def sign(self, before):
        made = []
        for b in before:
            f = self.fresh()
            self.signs.append((f, b))
            self.lower[f], self.upper[f] = -1, 1
            made.append(f)
        return made

    def text(self):
        lines = [self.variables, len(self.lower), len(self.upper), len(self.equations), len(self.signs)]
        lines += [len(self.inputs), *(f"{k},{v}" for k, v in enumerate(self.inputs))]
        lines += [len(self.outputs), *(f"{k},{v}" for k, v in enumerate(self.outputs))]
        lines += [f"{v},{spelled(value)}" for v, value in self.lower.items()]
        lines += [f"{v},{spelled(value)}" for v, value in self.upper.items()]
        for k, (kind, scalar, terms) in enumerate(self.equations):
            parts = ",".join(f"{v},{spelled(c)}" for v, c in terms)
            lines.append(f"{k},{kind},{spelled(scalar)},{parts}")
        lines += [f"{k},sign,{f},{b}" for k, (f, b) in enumerate(self.signs)]
        return "\n".join(map(str, lines))

    def outputs_at(self, x):
        """Every variable in turn, in fractions; equations are written in the order of the network."""
        values = dict(enumerate(map(Fraction, x)))
        signs = {b: f for f, b in self.signs}
        for kind, scalar, terms in self.equations:
            if kind == 0:
                *known, (v, factor) = terms
                total = scalar - sum(Fraction(c) * values[u] for u, c in known)
                values[v] = total / Fraction(factor)
                b = v
                while b in signs:
                    values[signs[b]] = Fraction(1 if values[b] >= 0 else -1)
                    b = signs[b]
        return [values[v] for v in self.outputs]


def spelled(value):
    return f"{float(value):.10f}"


def decimal(random, low, high):
    """The float of a number with three decimals, as the file spells it."""
    return Fraction(int(random.integers(int(low * 1000), int(high * 1000))) / 1000)


def random_query(random, inputs=6, sizes=(7, 5), outputs=3, doubled=False):
    """Batch norm of the inputs, signs, layers with batch norms of their own, and bounds."""
    made = Saved(inputs)
    for v in range(inputs):
        made.lower[v], made.upper[v] = Fraction(0), Fraction(1)
    now = []
    for v in range(inputs):
        now += made.sums([v], [[decimal(random, 1, 5)]], [-decimal(random, 0.2, 2)])
    now = made.sign(now)
    for size in sizes:
        weights = [[Fraction(int(w)) for w in row] for row in random.choice([-1, 1], (size, len(now)))]
        now = made.sums(now, weights, [Fraction(0)] * size)
        factors = [[decimal(random, 0.3, 2) * int(random.choice([-1, 1]))] for _ in now]
        shifts = [[decimal(random, -1, 1)] for _ in now]
        now = [made.sums([v], [row], shift)[0] for v, row, shift in zip(now, factors, shifts, strict=True)]
        now = made.sign(now)
        if doubled:  # sign(sign(x) + 0.1)
            now = made.sign([made.sums([v], [[Fraction(1)]], [Fraction(1, 10)])[0] for v in now])
    weights = [[Fraction(int(w)) for w in row] for row in random.choice([-1, 1], (outputs, len(now)))]
    made.outputs = made.sums(now, weights, [decimal(random, -1, 1) for _ in range(outputs)])
    return made


def ask(made, label):
    """That some other output is at least as large: one inequality, output 0 or 1 against the label."""
    other = 1 if label == 0 else 0
    made.equations.append((1, Fraction(0), [(made.outputs[other], 1), (made.outputs[label], -1)]))
    return other


def samples(random, made, count):
    return random.integers(0, 65, (count, len(made.inputs))) / 64
