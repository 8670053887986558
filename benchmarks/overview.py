"""A whole network at a glance: ``python -m benchmarks.overview [--quick]``.

The shipped table and digits, and, if the folder of public networks is there, a network over bits of MNIST
images and one with four layers over raw images.

``rules_for_95_percent``: how many proved rules over the neurons of the last layer cover 95 % of the rows of
the table; ``rules_at_least``: no fewer of the rules found do. ``feature_rules_...``: the same over features.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

import sugenet as sg
from benchmarks import _zoo
from sugenet.bits import prepare
from sugenet.show import report_overview


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer samples, and only the shipped networks")
    options = parser.parse_args()
    prepare()
    result = table(options.quick) | image(
        "digits", sg.models.digits(), *sg.models.samples("digits"), options.quick
    )
    zoo = None if options.quick else _zoo.folder()
    if zoo is not None:
        _, small, X, y = _zoo.npaq(zoo)[0]
        result |= image("mnist_bits", small, X, y, options.quick)
        result |= image("mnist", _zoo.msakai(zoo), *_zoo.mnist(zoo), options.quick)
    print("RESULT " + json.dumps(result))


def looked(name: str, network, X, y, samples: int, seconds: float):
    """An overview with a limit, its time, and the check of its claims."""
    start = time.perf_counter()
    seen = sg.overview(network, X, y, samples=samples, time_limit=seconds)
    spent = time.perf_counter() - start
    start = time.perf_counter()
    checked = seen.check()
    kilobytes = len(report_overview(seen, title=name)) / 1000
    known = sum(one.is_exact for one in seen.fragility.radii)
    exact = sum(one.is_exact for one in seen.prototypes.classes)
    print(
        f"{name}: {seen.samples_text}; {spent:.1f} s; {checked} in {time.perf_counter() - start:.1f} s; "
        f"largest margins exact for {exact} of {len(network.classes)} classes; "
        f"radii exact for {known} of {len(seen.fragility.radii)}; page {kilobytes:,.0f} kB",
        flush=True,
    )
    return seen, spent


def table(quick: bool) -> dict:
    """The rows of the shipped table."""
    X, y = sg.models.samples("breast_cancer")
    count = 20 if quick else len(X)
    seen, spent = looked("breast_cancer", sg.models.breast_cancer(), X, y, count, 20.0 if quick else 120.0)
    for title, covering in (("neurons", seen.neuron_rules), ("features", seen.feature_rules)):
        print(f"rules over {title}: {str(covering).splitlines()[0]}")
    needless = sum("decides nothing: proved" in one.marks for one in seen.atlas.neurons)
    return {
        "rules_for_95_percent": len(seen.neuron_rules.chosen) if seen.neuron_rules.reaches else None,
        "rules_at_least": seen.neuron_rules.lower,
        "feature_rules_for_95_percent": len(seen.feature_rules.chosen)
        if seen.feature_rules.reaches
        else None,
        "feature_rules_at_least": seen.feature_rules.lower,
        "needless_neurons": f"{needless} of {len(seen.atlas.neurons)}",
        "table_s": round(spent, 1),
    }


def image(name: str, network, X, y, quick: bool) -> dict:
    """A network over images, with a limit of one minute."""
    seen, spent = looked(name, network, X, y, 30 if quick else 200, 10.0 if quick else 60.0)
    turned = np.asarray(seen.fragility.turned).any(axis=1)
    return {
        f"{name}_s": round(spent, 1),
        f"{name}_turned_by_one_feature": f"{int(turned.sum())} of {len(turned)}",
        f"{name}_exact_margins": sum(one.is_exact for one in seen.prototypes.classes),
    }


if __name__ == "__main__":
    main()
