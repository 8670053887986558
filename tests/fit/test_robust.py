"""Training against a region: the adversary stays inside by definition, and what comes out is more robust."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sugenet as sg
from sugenet.errors import EncodingError, SugenetError
from sugenet.fit import Epoch, Settings, learn_encoder, train
from sugenet.fit.settings import region_text, robust_region
from sugenet.fit.table import read_arrays
from sugenet.nn import Encoder, Head, Network, OneHot, Steps, bit, integer, thermometer, threshold
from tests.thinned import examples

torch = pytest.importorskip("torch")

from sugenet.fit.adversary import Adversary, Perturbation  # noqa: E402
from sugenet.fit.folding import compare  # noqa: E402
from sugenet.fit.module import LevelModule  # noqa: E402

SHORT = Settings(epochs=4, batch=16)


def numbers(n=80, features=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features)).round(2)
    return X, (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 1)


# -- the region is that of verify ----------------------------------------------------------------------------

quarters = st.integers(-16, 16).map(lambda n: n / 4)
floats = st.one_of(quarters, st.floats(-4, 4))


@st.composite
def codings(draw):
    kind = draw(st.sampled_from(["real", "whole", "one hot", "bit", "bounded"]))
    if kind == "one hot":
        return OneHot(tuple("abcd"[: draw(st.integers(1, 4))]))
    if kind == "bit":
        return bit()
    cuts = sorted(draw(st.sets(floats, min_size=1, max_size=4)))
    if kind == "whole":
        return Steps(tuple(cuts), -4, 4, True)
    return Steps(tuple(cuts), -3, 3.5) if kind == "bounded" else thermometer(cuts)


@st.composite
def cases(draw):
    """An encoder, a sample and a region."""
    encoder = Encoder(draw(st.lists(codings(), min_size=1, max_size=3)))
    sample = [
        draw(st.sampled_from(coding.categories))
        if isinstance(coding, OneHot)
        else draw(st.sampled_from([-1, 1]))
        if coding.bipolar
        else draw(st.integers(-4, 4) if coding.whole else floats.filter(lambda x: -3 <= x <= 3.5))
        for coding in encoder.codings
    ]
    radius = draw(st.one_of(st.sampled_from([0.25, 1, 2.5]), st.floats(0.01, 6)))
    region = draw(st.sampled_from([sg.Linf(radius), sg.Hamming(draw(st.integers(1, 4)))]))
    return encoder, sample, region


def reachable(encoder, sample, region):
    """All bit patterns of a region, by its definition."""
    network = Network(encoder, [], Head(np.ones((2, encoder.width), int)))
    near = region.around(network, sample)
    own = encoder.levels(np.array([sample], object))[0].tolist()
    found = {(tuple(own), Fraction(0))}
    for move in near.moves:
        found |= {
            ((*states[: move.feature], move.state, *states[move.feature + 1 :]), spent + move.price)
            for states, spent in found
            if states[move.feature] == own[move.feature]
        }
    return {
        tuple(encoder.bits_of_levels([states])[0].tolist())
        for states, spent in found
        if near.limit is None or spent <= near.limit
    }


@settings(max_examples=examples(60), deadline=None)
@given(cases(), st.integers(0, 3))
def test_the_adversary_stays_inside_and_ends_are_those_of_the_region(case, seed):
    encoder, sample, region = case
    if not encoder.width:
        return
    rows = np.array([sample], object)
    perturbation = Perturbation(encoder, region, levels=False)
    bits = encoder.encode(rows)
    distances = perturbation.distances(bits, rows)
    allowed = reachable(encoder, sample, region)
    low, high = perturbation.ends(bits, distances, perturbation.radius)
    if isinstance(region, sg.Linf):
        assert low[0].tolist() == np.all(list(allowed), axis=0).tolist()
        assert high[0].tolist() == np.any(list(allowed), axis=0).tolist()
    generator = torch.Generator().manual_seed(seed)
    module = LevelModule.start((encoder.width, 5, 2), generator)
    adversary = Adversary(perturbation)
    inputs = torch.where(torch.from_numpy(bits), 1.0, -1.0)
    limits = adversary.limits(bits, distances, 1.0)
    for steps in (1, 3):
        moved = adversary.attack(module, inputs, torch.tensor([0]), limits, steps, generator)
        assert tuple((moved[0] > 0).tolist()) in allowed
        assert set(moved.unique().tolist()) <= {-1.0, 1.0}


def test_one_step_on_a_linear_network_is_the_worst_there_is():
    # without hidden layers the loss of two classes rises with one sum: greedy moves are the best there are
    encoder = Encoder([thermometer([1, 2, 3]), threshold(0), OneHot(("a", "b", "c")), thermometer([0, 5])])
    generator = torch.Generator().manual_seed(3)
    rng = np.random.default_rng(3)
    for region in (sg.Linf(1.5), sg.Linf(0.5), sg.Hamming(1)):
        module = LevelModule.start((encoder.width, 2), generator)
        adversary = Adversary(Perturbation(encoder, region, levels=False))
        for _ in range(10):
            sample = [*rng.integers(-1, 5, 2) / 2, str(rng.choice(list("abc"))), float(rng.integers(-2, 7))]
            rows = np.array([sample], object)
            bits = encoder.encode(rows)
            limits = adversary.limits(bits, adversary.perturbation.distances(bits, rows), 1.0)

            def loss(patterns, module=module):
                logits = module.evaluate(torch.where(torch.tensor(patterns), 1.0, -1.0)).logits
                return (logits[:, 1] - logits[:, 0]).max().item()

            inputs = torch.where(torch.from_numpy(bits), 1.0, -1.0)
            moved = adversary.attack(module, inputs, torch.tensor([0]), limits, 1, generator)
            assert loss((moved > 0).tolist()) == loss(list(reachable(encoder, sample, region)))


@pytest.mark.parametrize("weight_bits", [1, 3])
@pytest.mark.parametrize("levels", [2, 4])
def test_bounds_hold_for_everything_inside(levels, weight_bits):
    generator = torch.Generator().manual_seed(levels + weight_bits)
    module = LevelModule.start((6, 7, 5, 3), generator, levels=levels, weight_bits=weight_bits)
    inputs = torch.where(torch.rand(20, 6, generator=generator) < 0.5, 1.0, -1.0)
    y = torch.randint(0, 3, (20,), generator=generator)
    free = torch.tensor([True, True, False, False, True, False])
    everything = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 6)
    for budget in (None, 2):
        low, high = (torch.where(free, end, inputs) for end in (-1.0, 1.0))
        with torch.no_grad():
            _, worst = module.learn_between(inputs, low, high, budget, y)
            values = inputs
            for layer in range(module.depth):  # the batch norm that the batch had
                sums = values @ module.weights(layer).T
                module.mean[layer].copy_(sums.mean(dim=0))
                module.var[layer].copy_(sums.var(dim=0, unbiased=False))
                active = module.climb(module.norm(layer, sums))
                values = (2 * active - (levels - 1)).float()
        for row, sample in enumerate(inputs):
            inside = everything[((everything == sample) | free).all(dim=1)]
            if budget is not None:
                inside = inside[(inside != sample).sum(dim=1) * 2 <= budget]
            logits = module.evaluate(inside).logits
            margins = (logits - logits[:, y[row], None]).max(dim=0).values
            assert (margins <= worst[row] + 1e-4).all()
        assert torch.allclose(worst[torch.arange(20), y], torch.zeros(20), atol=1e-5)


# -- training ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("region", ["linf:0.5", "hamming:2"])
@pytest.mark.parametrize("options", [{}, {"levels": 3, "weight_bits": 2}, {"bound_share": 0.0, "noise": 0.1}])
@pytest.mark.parametrize("coding", ["cuts", "integers"])
def test_robust_networks_are_exact_too(region, options, coding):
    X, y = numbers()
    raw = np.clip((X * 4 + 8).astype(int), 0, 15)
    encoder = learn_encoder(raw, coding=coding, cuts=3, low=0, high=15)
    region = "linf:2" if region.startswith("linf") else region
    trained = train(raw, y, (7,), encoder=encoder, settings=replace(SHORT, robust=region, **options))
    assert trained.comparison.differing == 0
    assert compare(trained.network, trained.module, np.full((1, 6), 7)).differing == 0
    assert trained.region == robust_region(region)
    assert 0 <= trained.attacked <= trained.test_accuracy <= 1


def test_tables_with_categories_can_be_trained_against_a_region():
    X, y = numbers()
    table = np.concatenate([X.astype(object), np.where(X[:, :1] > 0, "up", "down")], axis=1)
    for region in ("linf:0.3", "linf:1.5", "hamming:2"):
        assert train(table, y, (5,), settings=replace(SHORT, robust=region)).comparison.differing == 0


def test_the_seed_decides_and_a_resumed_run_ends_alike(tmp_path):
    X, y = numbers()
    chosen = replace(SHORT, epochs=6, robust="linf:0.4")
    whole = train(X, y, (9,), settings=chosen)
    assert train(X, y, (9,), settings=chosen).history == whole.history

    def stop(epoch):
        if epoch.number == 2:
            raise KeyboardInterrupt

    file = tmp_path / "run"
    assert train(X, y, (9,), settings=chosen, checkpoint=file, progress=stop).interrupted
    with pytest.raises(SugenetError, match="belongs to a run with other data, layers or settings"):
        train(X, y, (9,), settings=replace(chosen, robust="linf:0.5"), checkpoint=file)
    rest = train(X, y, (9,), settings=chosen, checkpoint=file)
    assert (rest.network, rest.history, rest.attacked) == (whole.network, whole.history, whole.attacked)


def test_the_epoch_kept_has_the_full_radius():
    X, y = numbers()
    trained = train(X, y, (9,), settings=replace(SHORT, epochs=8, robust="linf:0.4"))
    radii = [epoch.radius for epoch in trained.history]
    assert radii == sorted(radii)
    assert 0 < radii[0] < radii[-1] == 0.4
    assert trained.history[trained.best_epoch - 1].radius == 0.4
    flips = train(X, y, (9,), settings=replace(SHORT, epochs=8, robust="hamming:3")).history
    assert [epoch.radius for epoch in flips][:4] == [2, 3, 3, 3]


def test_more_samples_are_proved_after_robust_training():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X = X.astype(int)
    encoder = Encoder([thermometer([8], 0, 16, True)] * 64)

    def proved(seed, robust):
        chosen = Settings(epochs=10, batch=64, sparsity=0.6, seed=seed, robust=robust)
        network = train(X[200:], y[200:], (32,), encoder=encoder, test_share=0, settings=chosen).network
        right = X[:50][network.predict(X[:50]) == y[:50]]
        return sum(
            isinstance(sg.verify(network, sg.Robust(x, sg.Linf(3))), sg.Proved) for x in right.tolist()
        )

    plain, robust = (sum(proved(seed, region) for seed in (0, 1)) for region in (None, "linf:3"))
    assert robust >= plain + 6  # 43 against 25 of 100 when this was written


def test_among_equals_lots_are_drawn_and_what_is_kept_stays():
    module = LevelModule.start((40, 30, 2), torch.Generator().manual_seed(0))
    with torch.no_grad():
        module.latent[0].copy_(module.latent[0].sign())  # as an adversary leaves them
    module.prune(0.5, torch.Generator().manual_seed(1))
    half = module.kept[0].clone()
    module.prune(0.75, torch.Generator().manual_seed(1))
    quarter = module.kept[0]
    assert (half.sum(dim=1) == 20).all()
    assert (quarter.sum(dim=1) == 10).all()
    assert (quarter <= half).all()
    assert (quarter.sum(dim=0) > 0).all()  # every input is read by some neuron


def test_pruned_weights_rest():
    lots = torch.Generator().manual_seed(0)
    module = LevelModule.start((40, 30, 2), lots)
    module.prune(0.75)
    inputs = torch.where(torch.rand(8, 40, generator=lots) < 0.5, 1.0, -1.0)
    module.learn_from(inputs).square().sum().backward()
    whole = [rows.grad.clone() for rows in module.latent]
    assert (whole[0][module.kept[0] == 0] != 0).any()  # what they would learn
    module.rest_pruned()
    for rows, kept, before in zip(module.latent, module.kept, whole, strict=True):
        assert torch.equal(rows.grad, torch.where(kept == 1, before, 0.0))


# -- words ---------------------------------------------------------------------------------------------------


def test_what_an_attack_found_is_never_called_certified():
    epoch = Epoch(3, 60, 0.5, 0.9, 0.875, 0.75, 12.5)
    assert str(epoch).endswith("validation 87.50%, under attack 75.00% (radius 12.5)")
    X, y = numbers()
    trained = train(X, y, (4,), settings=replace(SHORT, robust=sg.Linf(0.5)))
    assert "under attack, with every feature changed by up to 0.5, " in str(trained)
    assert "no proof" in str(trained)
    assert "certified" not in str(trained)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ("l2:3", "robust='l2:3' is not a region to train against: write linf:R or hamming:K"),
        ("linf", "robust='linf' is not a region"),
        ("linf:x", "robust='linf:x' is not a region"),
        ("linf:nan", "robust='linf:nan' is not a region"),
        ("linf:0", r"robust=Linf\(radius=0\) allows no change"),
        ("linf:-1", "allows no change"),
        ("hamming:1.5", "the number of flipped bits must be an integer"),
        (sg.L1(2), r"robust=L1\(radius=2\) is not a region to train against: give Linf\(R\) or Hamming\(K\)"),
        (25, "robust=25 is not a region"),
    ],
)
def test_what_is_no_region_is_refused(given_, message):
    with pytest.raises(SugenetError, match=message):
        Settings(robust=given_)


def test_a_radius_is_a_number():
    with pytest.raises(SugenetError, match="radius is 'a', which is not a number"):
        sg.Linf("a")


def test_regions_are_read_as_they_are_written():
    for region in (sg.Linf(25), sg.Linf(0.25), sg.Hamming(3)):
        assert robust_region(region_text(region)) == region


@pytest.mark.parametrize(
    ("region", "message"),
    [
        ("linf:0.5", "'linf:0.5': .* no bit of any sample changes.*Give a larger radius"),
        ("linf:99", "'linf:99': .* every sample can become any other.*units of the features"),
        ("hamming:99", "'hamming:99': .* every sample can become any other.*it is in bits"),
    ],
)
def test_a_region_that_makes_no_sense_for_the_data_is_refused(region, message):
    X, y = numbers()
    with pytest.raises(SugenetError, match=message):
        train(X > 0, y, (4,), settings=replace(SHORT, robust=region))


def test_levels_reach_as_far_as_the_radius():
    perturbation = Perturbation(Encoder([integer(0, 9)] * 3), sg.Linf(2.5), levels=True)
    levels = np.array([[0, 5, 9]], np.uint8)
    low, high = perturbation.ends(levels, perturbation.distances(levels, levels), perturbation.radius)
    assert (low.tolist(), high.tolist()) == ([[0, 3, 7]], [[2, 7, 9]])


# -- arrays, cuts --------------------------------------------------------------------------------------------


def test_arrays_are_read_with_their_classes(tmp_path):
    file = tmp_path / "a.npz"
    np.savez(file, X=np.arange(12).reshape(3, 2, 2), y=[7, 1, 7])
    table = read_arrays(file)
    assert table.X.tolist() == np.arange(12).reshape(3, 4).tolist()
    assert (table.y.tolist(), table.classes, table.kinds) == ([1, 0, 1], ("1", "7"), ("whole",) * 4)
    for arrays, message in (
        ({"X": np.zeros((2, 2))}, "has no array y, only X"),
        ({"X": np.zeros(2), "y": [0, 1]}, r"X has shape \(2,\)"),
        ({"X": np.zeros((2, 2)), "y": [0, 1, 2]}, r"y \(3,\)"),
        ({"X": np.zeros((2, 2)), "y": [0.5, 1]}, "classes are integers or names"),
    ):
        np.savez(file, **arrays)
        with pytest.raises(EncodingError, match=message):
            read_arrays(file)
    with pytest.raises(EncodingError, match=r"none.npz cannot be read"):
        read_arrays(tmp_path / "none.npz")


def test_given_cuts_are_taken_where_they_part_the_values():
    X = np.array([[0, 5, 9], [200, 5, 130], [100, 5, 9]], np.uint8)
    encoder = learn_encoder(X, cuts=[50, 128])
    assert [coding.cuts for coding in encoder.codings] == [(50, 128), (), (50, 128)]
    with pytest.raises(EncodingError, match="do not rise"):
        learn_encoder(X, cuts=[128, 50])
    with pytest.raises(EncodingError, match="or the cuts themselves"):
        learn_encoder(X, cuts=0)
