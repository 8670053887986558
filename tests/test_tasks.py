"""Twelve tasks that people do first, each in the form that the documentation shows."""

import json
import pickle

import numpy as np
import pytest

import sugenet as sg

CANCER = sg.models.breast_cancer()
X, y = sg.models.samples("breast_cancer")
x = X[3]


def module():
    """A small module of PyTorch: linear, sign, linear."""
    torch = pytest.importorskip("torch")

    class Sign(torch.nn.Module):
        def forward(self, values):
            return torch.sign(values)

    torch.manual_seed(3)
    first, last = torch.nn.Linear(4, 3), torch.nn.Linear(3, 2)
    with torch.no_grad():
        first.weight.copy_(first.weight.sign())
        first.bias.copy_(torch.tensor([-1.5, 0.5, -3.5]))
        last.weight.copy_(last.weight.sign())
        last.bias.copy_(torch.tensor([0.25, -0.25]))
    return torch.nn.Sequential(first, Sign(), last).eval(), torch.zeros(1, 4)


def test_load_a_pytorch_model():
    model, example = module()
    net = sg.from_torch(model, example, inputs=sg.Integers(0, 255))
    assert isinstance(net, sg.Network)
    assert "compared" in str(net.report) or "equal to" in str(net.report)
    assert sg.models.digits().report is None
    answer = sg.verify(net, [0, 0, 0, 0], sg.L0(1))
    assert sg.check(answer, net)


def test_the_class_of_one_sample_by_name():
    assert CANCER.predict_one(x) == CANCER.classes[CANCER.predict(x)]
    assert CANCER.predict_one(dict(zip(CANCER.encoder.names, x.tolist(), strict=True))) in CANCER.classes
    assert CANCER.predict(X[:5]).shape == (5,)
    assert CANCER.predict(X[:1]).tolist() == [int(CANCER.predict(x))]
    assert CANCER.possibility(x).tolist() == CANCER.possibility(X)[3].tolist()
    assert CANCER.probability(x).tolist() == CANCER.probability(X)[3].tolist()
    assert str(CANCER.trace(x)) == str(CANCER.trace(X[2:4])[1])


def test_is_it_robust():
    short, long = sg.verify(CANCER, x, sg.L0(1)), sg.verify(CANCER, sg.Robust(x, sg.L0(1)))
    by_name = sg.verify(CANCER, x, "L0(1)")
    assert short.outcome == long.outcome == by_name.outcome
    assert short.claim == long.claim == by_name.claim


def test_branch_on_the_result():
    answer = sg.verify(CANCER, x, sg.L0(9))
    assert answer.outcome == "refuted"
    assert answer.is_refuted
    assert not answer.is_proved
    assert not answer.is_undecided
    with pytest.raises(TypeError, match=r"answer\.is_proved.*'refuted'"):
        bool(answer)
    with pytest.raises(TypeError, match=r"answer\.is_found"):
        bool(sg.whatif(CANCER, x))


def test_look_at_the_counterexample():
    answer = sg.verify(CANCER, x, sg.L0(9))
    assert CANCER.predict_one(answer.witness) == answer.label != CANCER.predict_one(x)
    assert CANCER.classes[answer.index] == answer.label
    for name, (before, after) in answer.changes().items():
        assert before == x[CANCER.encoder.names.index(name)] != after


def test_the_cheapest_change_within_limits_of_ones_own():
    kept = CANCER.encoder.names[0]
    answer = sg.whatif(CANCER, x, cost="L0", keep=[kept], max_cost=8)
    assert answer.is_found
    assert kept not in answer.changes()
    none = sg.whatif(CANCER, x, cost="L0", max_cost=0)
    assert none.outcome == "none"
    assert none.max_cost == 0
    with pytest.raises(sg.errors.QuestionError, match=r"Unknown cost 'l1'\. Use 'L0', 'L1'"):
        sg.whatif(CANCER, x, cost="l1")


def test_what_the_change_costs():
    answer = sg.whatif(CANCER, x, cost="L1")
    assert answer.metric == "L1"
    assert float(answer.cost) > 0
    assert answer.lower <= answer.cost


def test_why():
    reasons = sg.why(CANCER, x)
    assert reasons.conditions() == reasons.reasons[0].conditions()
    assert reasons.label == CANCER.predict_one(x)
    assert reasons.is_certified
    assert sg.check(reasons, CANCER)
    nearest = sg.whatif(CANCER, x)
    assert reasons.region == f"up to {nearest.cost} feature{'' if nearest.cost == 1 else 's'} changed"
    assert "fewest known to change the class" in str(reasons)
    anywhere = sg.why(CANCER, x, sg.AnyInput())
    assert len(anywhere.conditions()) > len(reasons.conditions())


def test_check_an_answer():
    for answer in (sg.verify(CANCER, x, sg.L0(1)), sg.whatif(CANCER, x), sg.count(CANCER, x, sg.L0(1))):
        assert sg.check(answer, CANCER) == sg.check(answer.certificate, CANCER)
    with pytest.raises(sg.errors.CertificateError):
        sg.check(sg.whatif(CANCER, x), sg.models.digits())
    with pytest.raises(sg.errors.CertificateError, match="not certified"):
        sg.check(sg.count(CANCER, x, sg.L0(1), method="sample"), CANCER)


def test_a_test_set():
    results = sg.sweep(CANCER, X[:4], sg.Robust(sg.each, sg.L0(1)), y=y[:4], jobs=1)
    table = results.to_pandas()
    assert table["sample"].tolist() == [0, 1, 2, 3]
    assert table["outcome"].tolist() == [sg.verify(CANCER, row, sg.L0(1)).outcome for row in X[:4]]
    assert table["label"].tolist() == [CANCER.predict_one(row) for row in X[:4]]


def test_train_on_a_frame():
    pd = pytest.importorskip("pandas")
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((80, 4)) < 0.5, columns=list("abcd"))
    frame["y"] = np.where(frame["a"] & frame["b"], "both", "other")
    settings = sg.fit.Settings(epochs=2)
    net = sg.fit.train(frame, target="y", hidden=(4,), settings=settings).network
    assert net.encoder.names == ("a", "b", "c", "d")
    assert set(net.classes) == {"both", "other"}
    again = sg.BNNClassifier(hidden=(4,), epochs=2).fit(frame[list("abcd")], frame["y"]).network_
    assert again.classes == net.classes
    with pytest.raises(sg.errors.SugenetError, match=r"'z' is not a column\. The 5 columns are a, b"):
        sg.fit.train(frame, target="z")


def test_realistic_inputs():
    free, real = sg.whatif(CANCER, x), sg.whatif(CANCER, x, within="data")
    assert free.is_found
    assert not real.is_found or real.cost >= free.cost


# -- all answers alike ---------------------------------------------------------------------------------------

ANSWERS = {
    "proved": lambda: sg.verify(CANCER, x, sg.L0(0)),
    "refuted": lambda: sg.verify(CANCER, x, sg.L0(9)),
    "found": lambda: sg.whatif(CANCER, x, n=2),
    "none": lambda: sg.whatif(CANCER, x, max_cost=0),
    "why": lambda: sg.why(CANCER, x),
    "reason": lambda: sg.why(CANCER, x).reasons[0],
    "counted": lambda: sg.count(CANCER, x, sg.L0(1)),
    "estimated": lambda: sg.count(CANCER, x, sg.L0(1), method="sample", samples=50),
    "predicted": lambda: sg.reason.ask(CANCER, sg.Predict(x)),
    "rule": lambda: sg.check_rule(CANCER, "mean radius >= 30 -> malignant", time_limit=2),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_alike(name):
    """Each has an outcome and a test for it, a question, and a certificate; it prints, draws itself, and goes
    to JSON and to pickle. Keys in JSON are names of attributes.
    """
    answer = ANSWERS[name]()
    assert getattr(answer, f"is_{answer.outcome}") is True
    with pytest.raises(TypeError, match="is_"):
        bool(answer)
    assert isinstance(answer.is_certified, bool)
    assert answer.certificate is None or answer.certificate["format"] == "sugenet certificate"
    data = json.loads(json.dumps(answer.data()))
    assert data["outcome"] == answer.outcome
    assert data["question"]["kind"]
    assert [key for key in data if key != "domain" and not hasattr(answer, key)] == []
    assert str(answer)
    assert answer._repr_html_()
    again = pickle.loads(pickle.dumps(answer))
    assert str(again) == str(answer)


def test_engines_are_named_as_the_argument_has_them():
    from sugenet.engines.ladder import ENGINES

    for engine in ("flips", "bounds"):
        answer = sg.verify(CANCER, x, sg.L0(1), engine=engine)
        assert answer.engine == engine
        assert answer.engine in ENGINES
        assert answer.data()["engine"] == engine


def test_a_sample_without_a_region_is_not_printed_whole():
    with pytest.raises(sg.errors.QuestionError) as caught:
        sg.verify(CANCER, X[7])
    assert len(str(caught.value)) < 300
    assert "verify(network, x, L0(1))" in str(caught.value)


def test_an_unknown_category_says_how_many_there_are():
    categories = [f"city {k}" for k in range(40)]
    encoder = sg.nn.Encoder([sg.nn.OneHot(categories)], ["city"])
    net = sg.Network(encoder, [], sg.nn.Head(np.ones((2, 40), int)))
    with pytest.raises(sg.errors.EncodingError, match=r"The 40 categories are city 0, .* and 28 more\."):
        net.predict([["Atlantis"]])


def test_a_count_says_what_it_would_take_before_it_starts():
    rng = np.random.default_rng(0)
    layer = sg.nn.DenseLayer(rng.choice([-1, 1], (60, 47)), [24] * 60)
    net = sg.Network.of_bits([layer], sg.nn.Head(rng.choice([-1, 1], (2, 60))))
    with pytest.raises(UserWarning, match=r"enumerates 140,737,488,355,328 combinations.* days"):
        sg.count(net)
