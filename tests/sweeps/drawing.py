"""Rows of results, drawn at random."""

from hypothesis import strategies as st

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
