"""Runs in an environment that has alibi, which needs an older NumPy than sugenet: anchors of samples of one
small network, as JSON.

Called as ``PYTHON benchmarks/_anchors.py network.npz``; see benchmarks/why.py.
"""

import json
import sys

import numpy as np
from alibi.explainers import AnchorTabular


def main() -> None:
    given = np.load(sys.argv[1])
    names = [str(name) for name in given["names"]]

    def matches(weights, bits):
        return (np.maximum(weights, 0) @ bits.T - np.minimum(weights, 0) @ (~bits).T).T

    def predict(X):
        bits = np.asarray(X)[:, given["feature"]] >= given["cuts"]
        votes = matches(given["head"], matches(given["weights"], bits) >= given["tau"])
        return (given["scale"] * (2 * votes - np.abs(given["head"]).sum(axis=1)) + given["bias"]).argmax(
            axis=1
        )

    explainer = AnchorTabular(predict, names)
    explainer.fit(given["train"], disc_perc=(25, 50, 75))
    found = []
    for x in given["samples"]:
        np.random.seed(0)
        found.append(json.loads(explainer.explain(x, threshold=0.95).to_json()))
    print(
        json.dumps(
            [
                {
                    "data": {
                        "anchor": e["data"]["anchor"],
                        "precision": e["data"]["precision"],
                        "raw": e["data"]["raw"],
                    }
                }
                for e in found
            ]
        )
    )


if __name__ == "__main__":
    main()
