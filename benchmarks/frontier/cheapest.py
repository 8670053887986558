"""Minimum counterfactuals of MNIST test images on the public 784-200-100-100-100-10 network, four costs."""

import time

import sugenet as sg
from benchmarks._zoo import folder, mnist, msakai
from benchmarks.frontier.row import Row

_IMAGES, _LIMIT = 20, 60.0
_COSTS = {"l0": sg.L0, "l1": sg.L1, "l2": sg.L2, "linf": sg.Linf}
_FEW = (2, 4)


def run(quick: bool) -> Row:
    """Ask about the first 20 images under every cost, 60 s each; with `quick` about two, 2 s each."""
    work = (
        f"minimum counterfactuals of {_IMAGES} MNIST test images, four costs, {_LIMIT:g} s each, ties against"
    )
    before = "15 s each: L0 9, L1 and L2 11, L-inf 20 of 20 proved; lower bounds of 3 features at most"
    zoo = folder()
    if zoo is None:
        return Row(work, before, "not measured", {})
    network, (X, _) = msakai(zoo), mnist(zoo)
    which, limit = (_FEW, 2.0) if quick else (range(_IMAGES), _LIMIT)
    proved, found, lowest = dict.fromkeys(_COSTS, 0), dict.fromkeys(_COSTS, 0), dict.fromkeys(_COSTS, 1 << 60)
    start = time.perf_counter()
    for number in which:
        for name, cost in _COSTS.items():
            sample = X[number].astype(int).tolist()
            begun = time.perf_counter()
            answer = sg.whatif(network, sample, cost, ties="against", time_limit=limit)
            print(
                f"  image {number}, {name.upper()}, {time.perf_counter() - begun:.1f} s: {_said(answer)}",
                flush=True,
            )
            if isinstance(answer, sg.Counterfactual):
                found[name] += 1
                proved[name] += answer.is_minimum
                if not answer.is_minimum:
                    lowest[name] = min(lowest[name], int(answer.lower))
    many = len(which)
    now = ", ".join(f"{name.upper()} {proved[name]} of {many}" for name in _COSTS)
    open_ = {name: low for name, low in lowest.items() if low < 1 << 60}
    if open_:
        now += "; least lower bounds of the rest: " + ", ".join(
            f"{n.upper()} {low}" for n, low in open_.items()
        )
    now += f"; {(time.perf_counter() - start) / many / len(_COSTS):.1f} s each"
    figures = {f"{name}_proved": f"{proved[name]} of {many}" for name in _COSTS}
    return Row(work, before, now, figures | {"linf_witness": f"{found['linf']} of {many}"})


def _said(answer: object) -> str:
    """What an answer comes to, in a few words."""
    if not isinstance(answer, sg.Counterfactual):
        return "nothing found"
    return f"{float(answer.cost):g}, " + (
        "the least" if answer.is_minimum else f"at least {float(answer.lower):g}"
    )
