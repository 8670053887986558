"""Rows of results, drawn at random, and a network with one feature of each kind."""

import numpy as np
import pytest
from hypothesis import strategies as st

from sugenet.nn import DenseLayer, Encoder, Head, Network, OneHot, Steps
from sugenet.sweeps.samples import Row

SECONDS = st.one_of(
    st.sampled_from([0.0, 0.0009999, 0.001, 0.003, 0.03, 0.3, 1.0, 2.9999999, 3.0, 10.0, 30.0, 1e5]),
    st.floats(0, 1e6),
)


def row(sample, outcome="proved", *, index=0, truth=0, settled=None, certified=None, seconds=1.0, **more):
    """One row; settled and certified as such an outcome is, unless said."""
    is_open = outcome in ("undecided", "unknown", "found")
    return Row(
        sample,
        index,
        truth,
        outcome,
        not is_open if settled is None else settled,
        outcome not in ("undecided", "unknown", "predicted", "estimated") if certified is None else certified,
        more.get("engine", "bounds"),
        seconds,
        more.get("time_limit"),
        more.get("cost"),
        more.get("lower"),
        "0.1.0",
    )


@st.composite
def rows(draw, outcomes, *, most=8, with_truth=None):
    """Some samples of a data set, and how many it has."""
    samples = draw(st.integers(0, most))
    truths = draw(st.booleans()) if with_truth is None else with_truth
    found = []
    for sample in range(samples):
        if draw(st.integers(0, 4)):  # some are missing
            outcome = draw(st.sampled_from(outcomes))
            trusted = draw(st.booleans()) and outcome not in ("refuted",)
            found.append(
                row(
                    sample,
                    outcome,
                    index=draw(st.integers(0, 1)),
                    truth=draw(st.sampled_from([0, 1, None])) if truths else None,
                    certified=False if trusted else None,
                    seconds=draw(SECONDS),
                )
            )
    return found, samples


def network():
    """A network with one feature of each kind; its columns are also called as columns of answers are."""
    codings = [
        Steps((18.0, 40.0), low=0.0, high=120.0, whole=True),
        Steps((0.5, 2.5)),
        OneHot(("oslo", "paris", "rome")),
        OneHot((False, True)),
    ]
    encoder = Encoder(codings, ["age", "cost", "city", "owner"])
    rng = np.random.default_rng(0)
    layer = DenseLayer(rng.choice([-1, 1], (5, encoder.width)), [5, 4, 5, 6, 4])
    return Network(encoder, [layer], Head(rng.choice([-1, 1], (2, 5))), classes=["no", "yes"])


def table(n):
    """Samples of that network, with an index."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    columns = {
        "age": rng.integers(0, 100, n),
        "cost": rng.random(n) * 3,
        "city": pd.Categorical(rng.choice(["rome", "oslo"], n)),
        "owner": rng.random(n) < 0.5,
    }
    return pd.DataFrame(columns, index=pd.Index([f"row {i}" for i in range(n)], name="who"))
