"""Runs in an environment that has shap and dice-ml: SHAP values and counterfactuals of samples of one small
network, as JSON.

Called as ``PYTHON benchmarks/_peers.py network.npz``; see benchmarks/why.py.
"""

import json
import sys

import numpy as np
import pandas as pd


def main() -> None:
    given = np.load(sys.argv[1])
    names, free = [str(name) for name in given["names"]], given["free"]

    def matches(weights, bits):
        return (np.maximum(weights, 0) @ bits.T - np.minimum(weights, 0) @ (~bits).T).T

    def scores(X):
        bits = np.asarray(X, float)[:, given["feature"]] >= given["cuts"]
        votes = matches(given["head"], matches(given["weights"], bits) >= given["tau"])
        return given["scale"] * (2 * votes - np.abs(given["head"]).sum(axis=1)) + given["bias"]

    print(
        json.dumps({"shap": shap_values(given, free, scores), "dice": counterfactuals(given, names, scores)})
    )


def shap_values(given, free, scores):
    """Return exact Shapley values of the margin of the class, with the other features as in the sample."""
    import shap

    rows = []
    for x in given["samples"]:
        label = int(scores(x[None])[0].argmax())

        def margin(Z, x=x, label=label):
            full = np.repeat(x[None], len(Z), axis=0)
            full[:, free] = Z
            found = scores(full)
            return found[:, label] - np.delete(found, label, axis=1).max(axis=1)

        explainer = shap.explainers.Exact(margin, given["train"][:60][:, free])
        rows.append(explainer(x[None, free]).values[0].tolist())
    return rows


def counterfactuals(given, names, scores):
    """Return a counterfactual of DiCE by its random method for each sample; None if it finds none."""
    import dice_ml

    class Model:
        """The network as scikit-learn has it."""

        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            parts = np.exp(scores(X) - scores(X).max(axis=1, keepdims=True))
            return parts / parts.sum(axis=1, keepdims=True)

        def predict(self, X):
            return scores(X).argmax(axis=1)

    frame = pd.DataFrame(given["train"], columns=names)
    frame["label"] = scores(given["train"]).argmax(axis=1)
    data = dice_ml.Data(dataframe=frame, continuous_features=names, outcome_name="label")
    explainer = dice_ml.Dice(data, dice_ml.Model(model=Model(), backend="sklearn"), method="random")
    rows = []
    for x in given["samples"]:
        query = pd.DataFrame([x], columns=names)
        try:
            found = explainer.generate_counterfactuals(
                query, total_CFs=1, desired_class="opposite", random_seed=0, verbose=False
            )
            rows.append(found.cf_examples_list[0].final_cfs_df[names].to_numpy(float)[0].tolist())
        except Exception:  # DiCE raises several errors if it finds none
            rows.append(None)
    return rows


if __name__ == "__main__":
    main()
