"""Runs in an environment that has alibi, which needs an older NumPy than sugenet: anchors of samples of one small network, as JSON.

Called as ``PYTHON benchmarks/_anchors.py network.npz``; see benchmarks/why.py.
"""

import json
import sys

import numpy as np
from alibi.explainers import AnchorTabular


def main() -> None:
    given = np.load(sys.argv[1])
    names = [str(name) for name in given["names"]]

    def predict(X):
        bits = np.asarray(X)[:, given["feature"]] >= given["cuts"]
        counts = np.where(given["weights"] > 0, bits[:, None, :], ~bits[:, None, :]).sum(axis=2)
        votes = np.where(given["head"] > 0, (counts >= given["tau"])[:, None, :], (counts < given["tau"])[:, None, :]).sum(axis=2)
        return (given["scale"] * (2 * votes - given["head"].shape[1]) + given["bias"]).argmax(axis=1)

    explainer = AnchorTabular(predict, names)
    explainer.fit(given["train"], disc_perc=(25, 50, 75))
    found = []
    for x in given["samples"]:
        np.random.seed(0)
        found.append(json.loads(explainer.explain(x, threshold=0.95).to_json()))
    print(
        json.dumps([{"data": {"anchor": e["data"]["anchor"], "precision": e["data"]["precision"], "raw": e["data"]["raw"]}} for e in found])
    )


if __name__ == "__main__":
    main()
