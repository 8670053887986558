import os
import pickle
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sugenet.errors import EncodingError, FileError, SoundnessError, SugenetError
from sugenet.fit import Epoch, Settings, learn_encoder, print_progress, train
from sugenet.fit.settings import RowProgress
from sugenet.nn import DenseLayer, Encoder, LevelLayer, OneHot, QuantizedLayer, thermometer

torch = pytest.importorskip("torch")

from sugenet.fit import compare  # noqa: E402
from sugenet.fit import loop as loop_module  # noqa: E402

SHORT = Settings(epochs=4, batch=16)


def numbers(n=80, features=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features)).round(2)
    return X, (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 1)


def bits(n=120, features=8, seed=0):
    X = np.random.default_rng(seed).random((n, features)) < 0.5
    return X, X[:, :3].sum(axis=1) >= 2


# -- exactness -----------------------------------------------------------------------------------------------

OPTIONS = {
    "plain": {},
    "sparse": {"sparsity": 0.6},
    "low bounds": {"tau_decay": 3.0, "tau_goal": 1},
    "noisy": {"noise": 0.2, "smoothing": 0.0, "validation_share": 0.0},
    "all": {"sparsity": 0.4, "tau_decay": 1.0, "noise": 0.1, "patience": 2},
    "4 levels": {"levels": 4},
    "sums of 8 bits": {"levels": 256, "weight_bits": 8, "sparsity": 0.3, "noise": 0.1},
    "weights of 3 bits": {"weight_bits": 3},
}
CODINGS = {
    "threshold": {"coding": "cuts", "cuts": 1},
    "thermometer": {"coding": "cuts", "cuts": 4},
    "integers": {"coding": "integers"},
    "pixels": {"coding": "integers", "low": 0, "high": 255},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("coding", CODINGS.values(), ids=CODINGS)
@pytest.mark.parametrize("hidden", [(7,), (9, 5)], ids=str)
def test_network_and_module_agree_in_every_bit(coding, options, hidden):
    X, y = numbers()
    raw = np.clip((X * 40 + 128).astype(int), 0, 255)
    trained = train(raw, y, hidden, encoder=learn_encoder(raw, **coding), settings=replace(SHORT, **options))
    assert trained.comparison.differing == 0
    assert trained.comparison.samples == len(raw)
    kind = LevelLayer if coding["coding"] == "integers" else DenseLayer
    assert isinstance(trained.network.layers[0], QuantizedLayer if "levels" in options else kind)
    other = np.random.default_rng(5).integers(raw.min(axis=0), raw.max(axis=0) + 1, (300, raw.shape[1]))
    assert compare(trained.network, trained.module, other).differing == 0


@pytest.mark.parametrize(
    ("hidden", "options"),
    [
        ((), {}),
        ((6,), {}),
        ((6, 5, 4), {}),
        ((), {"weight_bits": 4}),
        ((6,), {"levels": 3}),
        ((6, 5, 4), {"levels": 8, "weight_bits": 2}),
    ],
    ids=str,
)
def test_they_agree_on_every_input_there_is(hidden, options):
    X, y = bits()
    trained = train(X, y, hidden, settings=replace(SHORT, **options))
    everything = np.array(list(product([False, True], repeat=8)))
    assert compare(trained.network, trained.module, everything).differing == 0
    assert trained.network.encoder == Encoder.of_bits(8)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("levels", [False, True])
@pytest.mark.parametrize(("steps", "weight_bits"), [(1, 1), (3, 1), (6, 3)])
def test_batch_norms_that_nearly_meet_a_cut_are_folded_exactly(seed, levels, steps, weight_bits):
    # beta is the rounded value that brings the batch norm of a sum that occurs to a cut: where a threshold
    # computed in floats goes wrong
    from sugenet.fit.folding import network_of
    from sugenet.fit.module import LevelModule

    generator = torch.Generator().manual_seed(seed)
    encoder = Encoder.of_integers(5, 0, 3) if levels else Encoder.of_bits(10)
    inputs, top = (5, 3) if levels else (10, 1)
    module = LevelModule.start((inputs, 40, 3), generator, top=top, levels=steps + 1, weight_bits=weight_bits)
    module.mean[0].copy_(torch.randn(40, generator=generator) * 3)
    module.var[0].copy_(torch.rand(40, generator=generator) * 9)
    sums = torch.randint(-4, 5, (40,), generator=generator) * (1 if levels else 2)
    with torch.no_grad():
        cuts = module.cuts[torch.randint(0, steps, (40,), generator=generator)]
        module.beta[0].copy_(cuts - module.norm(0, sums))
        drift = torch.randint(-1, 2, (40,), generator=generator)
        module.beta[0].copy_(torch.nextafter(module.beta[0], module.beta[0] + drift))
    every = (
        np.array(list(product(range(4), repeat=5))) if levels else np.array(list(product([-1, 1], repeat=10)))
    )
    assert compare(network_of(module, encoder), module, every).differing == 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("levels", "weight_bits"), [(2, 1), (3, 1), (5, 2), (16, 4)])
def test_the_network_computes_what_the_parameters_say(seed, levels, weight_bits):
    # in Python numbers, one neuron after the other: no code is shared with the module or the network
    from sugenet.fit.folding import network_of
    from sugenet.fit.module import LevelModule

    generator = torch.Generator().manual_seed(seed)
    module = LevelModule.start((5, 6, 4, 3), generator, top=3, levels=levels, weight_bits=weight_bits)
    largest = 2 ** (weight_bits - 1) - 1 if weight_bits > 1 else 1
    with torch.no_grad():
        for latent in module.latent:
            latent.copy_(2 * torch.rand(latent.shape, generator=generator) - 1)
    for layer in range(2):
        typical = largest * (levels - 1 if layer else 1)
        module.mean[layer].copy_(torch.randn(len(module.mean[layer]), generator=generator) * typical)
        module.var[layer].copy_((1 + torch.rand(len(module.var[layer]), generator=generator)) * typical**2)
    whole = [
        [[round(v * largest) if weight_bits > 1 else 1 if v >= 0 else -1 for v in row] for row in rows]
        for rows in (np.float32(latent.detach().numpy()) for latent in module.latent)
    ]
    network = network_of(module, Encoder.of_integers(5, 0, 3))
    X = np.random.default_rng(seed).integers(0, 4, (60, 5))
    met = set()
    for x, said in zip(X.tolist(), network.predict(X, engine="definition"), strict=True):
        given, inside = x, np.array([x])
        for layer in range(2):
            levels_here = []
            for j, row in enumerate(whole[layer]):
                s = sum(w * a for w, a in zip(row, given, strict=True))
                mean, var, beta = (of[layer].tolist()[j] for of in (module.mean, module.var, module.beta))
                n = (s - mean) * (1 / (var + 1e-5) ** 0.5) + beta
                levels_here.append(sum(n >= 2 * m / levels for m in range(levels - 1)))
            inside = network.layers[layer].activity(inside)
            assert inside[0].tolist() == levels_here
            met.update(levels_here)
            given = [2 * a - (levels - 1) for a in levels_here]
        scores = [sum(w * a for w, a in zip(row, given, strict=True)) for row in whole[2]]
        assert said == scores.index(max(scores))
    assert met == set(range(levels))


def test_scores_are_exact_so_ties_are_true_ties():
    X, y = numbers()
    trained = train(X, y, (8,), settings=SHORT)
    head = trained.network.head
    assert all((2**10 * scale).denominator == 1 for scale in head.scale)
    assert all((Fraction(bias) / head.scale[0] * 8).denominator == 1 for bias in head.bias)


def test_a_difference_is_found_and_named():
    X, y = bits()
    trained = train(X, y, (6,), settings=SHORT)
    layer = trained.network.layers[0]
    wrong = replace(
        trained.network, layers=(DenseLayer(layer.weights, np.where(np.arange(6) == 3, -1, layer.tau)),)
    )
    found = compare(wrong, trained.module, X)
    assert found.differing
    with pytest.raises(SoundnessError, match="layer 1, neuron 4: the network has 1, the module 0 on sample"):
        found.check()


# -- learning ------------------------------------------------------------------------------------------------


def test_it_learns_a_majority_of_some_bits():
    X, y = bits(n=400)
    trained = train(X, y, (12,), settings=Settings(epochs=30, batch=32))
    assert trained.accuracy >= 0.95
    assert trained.network.classes == ("False", "True")
    assert trained.accuracy == trained.history[trained.best_epoch - 1].validation
    assert trained.accuracy == max(epoch.validation for epoch in trained.history)


def test_categories_and_numbers_together():
    rng = np.random.default_rng(0)
    X = [
        [float(size), str(colour)]
        for size, colour in zip(
            rng.random(60).round(2), rng.choice(["red", "blue", "green"], 60), strict=True
        )
    ]
    y = ["big" if size > 0.5 and colour != "red" else "small" for size, colour in X]
    trained = train(
        X, y, (8,), settings=replace(SHORT, epochs=20), names=["size", "colour"], notes={"made": "today"}
    )
    assert trained.comparison.differing == 0
    assert trained.network.classes == ("big", "small")
    assert isinstance(trained.network.encoder.codings[1], OneHot)
    assert trained.network.notes == {"made": "today"}
    assert "exact: 60 samples" in str(trained)


@pytest.mark.parametrize("levels", [3, 8])
def test_more_levels_learn_too(levels):
    X, y = bits(n=400)
    trained = train(X, y, (12,), settings=Settings(epochs=30, batch=32, levels=levels))
    assert trained.accuracy >= 0.95
    assert trained.network.layers[0].height == trained.network.head.tops.max() == levels - 1
    assert np.abs(trained.network.layers[0].weights).max() == 1


@pytest.mark.parametrize(("weight_bits", "largest"), [(2, 1), (4, 7), (8, 127)])
def test_weights_of_several_bits_use_their_range(weight_bits, largest):
    X, y = bits(n=400)
    network = train(
        X, y, (12,), settings=Settings(epochs=30, batch=32, weight_bits=weight_bits, validation_share=0)
    ).network
    assert (network.predict(X) == y).mean() >= 0.95
    assert isinstance(network.layers[0], DenseLayer)
    for rows in (network.layers[0].weights, network.head.weights):
        assert largest / 3 < np.abs(rows).max() <= largest
        assert len(np.unique(rows)) >= min(largest, 10)


def test_every_neuron_keeps_the_same_share_of_its_inputs():
    X, y = bits(features=10)
    trained = train(X, y, (6, 5), settings=replace(SHORT, sparsity=0.7))
    assert [layer.sizes.tolist() for layer in trained.network.layers] == [[3] * 6, [2] * 5]


def test_the_best_epoch_has_the_sparsity_asked_for():
    X, y = bits(features=10)
    trained = train(X, y, (6,), settings=replace(SHORT, epochs=8, sparsity=0.7))
    assert trained.best_epoch > 4
    assert trained.network.layers[0].sizes.tolist() == [3] * 6


def test_tau_decay_lowers_cardinality_bounds():
    X, y = numbers(200, 10)

    def bound(decay):
        layer = train(
            X, y, (16,), settings=Settings(epochs=40, batch=16, tau_decay=decay, validation_share=0)
        ).network.layers[0]
        return np.minimum(layer.tau, layer.sizes + 1 - layer.tau).mean()

    assert bound(5.0) < bound(0.0) - 1


def test_patience_ends_the_run():
    X, y = bits()
    noise = np.random.default_rng(1).random(len(y)) < 0.5
    trained = train(X, noise, (4,), settings=Settings(epochs=60, patience=3, batch=32))
    best = max(epoch.validation for epoch in trained.history)
    first = next(epoch.number for epoch in trained.history if epoch.validation == best)
    assert len(trained.history) == first + 3 < 60


def test_held_out_samples_can_be_given():
    X, y = numbers(120)
    kinds = np.array(["a", "b", "c"])[y]
    trained = train(X[:80], kinds[:80], (8,), settings=SHORT, validation=(X[80:], kinds[80:]))
    assert trained.comparison.samples == 80
    right = trained.network.predict(X[80:], engine="definition") == y[80:]
    assert trained.accuracy == right.mean()


# -- seeds, checkpoints --------------------------------------------------------------------------------------


def test_the_seed_decides():
    X, y = numbers()
    settings = replace(SHORT, noise=0.1, sparsity=0.3)
    once, twice = (train(X, y, (9, 5), settings=settings) for _ in range(2))
    assert once.network == twice.network
    assert once.history == twice.history
    assert train(X, y, (9, 5), settings=replace(settings, seed=1)).network != once.network


def stop_after(number):
    def progress(epoch):
        if epoch.number == number:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize(
    ("stop", "options"),
    [(1, {"tau_decay": 0.5}), (3, {"tau_decay": 0.5}), (2, {"levels": 4, "weight_bits": 3})],
)
def test_a_resumed_run_ends_like_one_that_was_not_interrupted(stop, options, tmp_path):
    X, y = numbers()
    settings = replace(SHORT, epochs=6, noise=0.1, sparsity=0.3, **options)
    whole = train(X, y, (9, 5), settings=settings)
    file = tmp_path / "run.checkpoint"
    part = train(X, y, (9, 5), settings=settings, checkpoint=file, progress=stop_after(stop))
    assert part.interrupted
    assert "(interrupted)" in str(part)
    assert len(part.history) == stop
    rest = train(X, y, (9, 5), settings=settings, checkpoint=file)
    assert rest.network == whole.network
    assert rest.history == whole.history
    assert not rest.interrupted
    assert (
        train(X, y, (9, 5), settings=settings, checkpoint=file, progress=stop_after(1)).network
        == whole.network
    )  # nothing left to do
    assert [path.name for path in tmp_path.iterdir()] == ["run.checkpoint"]


def test_an_interruption_within_an_epoch_keeps_the_epochs_before(monkeypatch, tmp_path):
    X, y = numbers()
    whole = train(X, y, (5,), settings=SHORT)
    original = loop_module._one_epoch

    def interrupted(*args):
        epoch = original(*args)  # weights have moved already
        if args[-1] == 3:
            raise KeyboardInterrupt
        return epoch

    file = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(loop_module, "_one_epoch", interrupted)
        part = train(X, y, (5,), settings=SHORT, checkpoint=file)
    assert part.interrupted
    assert len(part.history) == 2
    assert train(X, y, (5,), settings=SHORT, checkpoint=file).network == whole.network


def test_an_interruption_before_the_first_epoch_is_passed_on(monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(loop_module, "_one_epoch", interrupted)
    X, y = bits()
    with pytest.raises(KeyboardInterrupt):
        train(X, y, (5,), settings=SHORT)


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    X, y = bits()
    file = tmp_path / "run"
    train(X, y, (4,), settings=SHORT, checkpoint=file)
    for other in ((X, y, (5,)), (X, ~y, (4,))):
        with pytest.raises(SugenetError, match="run belongs to a run with other data, layers or settings"):
            train(*other, settings=SHORT, checkpoint=file)
    for other in ({"seed": 9}, {"levels": 3}, {"weight_bits": 2}):
        with pytest.raises(SugenetError, match="other data, layers or settings"):
            train(X, y, (4,), settings=replace(SHORT, **other), checkpoint=file)


class Evil:
    def __reduce__(self):
        return print, ("code from a file was run",)


@pytest.mark.parametrize("kind", ["nonsense", "pickle", "zip of torch"])
def test_a_checkpoint_runs_no_code(kind, tmp_path, capsys):
    file = tmp_path / "run"
    if kind == "zip of torch":
        torch.save({"format": Evil()}, file)
    else:
        file.write_bytes(b"nonsense" if kind == "nonsense" else pickle.dumps(Evil()))
    X, y = bits()
    with pytest.raises(SugenetError, match="run is not a readable checkpoint"):
        train(X, y, (4,), settings=SHORT, checkpoint=file)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("lost", ["mark", "history", "module", "optimizer", "best", "best_epoch", "all"])
def test_a_checkpoint_with_parts_missing_is_refused(lost, tmp_path):
    X, y = bits()
    file = tmp_path / "run"
    train(X, y, (4,), settings=SHORT, checkpoint=file)
    content = torch.load(file, weights_only=True)
    torch.save(
        {name: part for name, part in content.items() if name == "format" or lost not in (name, "all")}, file
    )
    with pytest.raises(SugenetError, match=r"run is not a readable checkpoint \(KeyError\)"):
        train(X, y, (4,), settings=SHORT, checkpoint=file)


def test_a_checkpoint_whose_parts_do_not_fit_is_refused(tmp_path):
    X, y = bits()
    file = tmp_path / "run"
    train(X, y, (4,), settings=SHORT, checkpoint=file)
    content = torch.load(file, weights_only=True)
    for part, wrong in (
        ({"module": {}}, "not a readable checkpoint"),
        ({"best": {**content["best"], "bias": []}}, "not a readable checkpoint"),
        ({"best_epoch": 9}, "do not fit together"),
    ):
        torch.save(content | part, file)
        with pytest.raises(SugenetError, match=wrong):
            train(X, y, (4,), settings=SHORT, checkpoint=file)


def test_a_checkpoint_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    X, y = bits()
    with pytest.raises(FileError, match="there is no folder"):
        train(X, y, (4,), settings=SHORT, checkpoint=tmp_path / "nowhere" / "run", progress=stop_after(1))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="run' cannot be written: No space left on device"):
        train(X, y, (4,), settings=SHORT, checkpoint=tmp_path / "run")
    assert not list(tmp_path.iterdir())


# -- messages ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [0] * 80}, "y holds one class only"),
        ({"y": [0, 1]}, r"X has shape \(80, 6\) and y 2 entries"),
        ({"y": [0.5] * 80}, r"y\[0\] is 0.5, which is not a class"),
        (
            {"y": [0, 1] * 39 + [0, 7], "classes": ["no", "yes"]},
            r"y\[79\] is 7, but a class is a number from 0 to 1",
        ),
        ({"hidden": (4, 0)}, "holds a layer without neurons"),
        ({"hidden": 8}, r"hidden=8 must be a list of integers. For one layer write \(8,\)"),
        ({"hidden": ["a"]}, r"hidden=\['a'\] holds 'a', but the sizes of layers are integers"),
        ({"hidden": [8.7]}, r"holds 8.7, but the sizes"),
        ({"hidden": "64"}, r"holds '6', but the sizes"),
        (
            {"hidden": (), "settings": Settings(levels=4)},
            r"levels=4 is for hidden neurons, but hidden=\(\) has none. Give sizes, or leave levels= out",
        ),
        (
            {"hidden": (70_000, 2), "settings": Settings(levels=256, weight_bits=8)},
            r"layers of \(24, 70000, 2, 3\) inputs up to 1 with levels=256 and weight_bits=8 can give sums "
            r"of 2266950000, but sums must stay below 2\^31",
        ),
        ({"encoder": Encoder.of_bits(6), "names": "abcdef"}, "names= is for a learned encoder"),
        ({"encoder": Encoder([thermometer([1.0])] * 5)}, "samples have 5 features"),
        ({"validation": ([[0.0] * 6], ["maybe"])}, r"y\[0\] is 'maybe', but a class is one of 0, 1, 2"),
        ({"validation": ([[0.0] * 6], [1, 2])}, "1 validation samples but 2 classes"),
    ],
)
def test_mistakes_are_named(change, message):
    X, y = numbers()
    with pytest.raises(SugenetError, match=message):
        train(**({"X": X, "y": y, "hidden": (4,), "settings": SHORT} | change))


def test_missing_values_are_refused():
    X, y = numbers()
    X[7, 2] = np.nan
    with pytest.raises(EncodingError, match=r"gaps .* in 80 rows: 'x3' \(1\)"):
        train(X, y, (4,), settings=SHORT)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"epochs": 0}, "epochs=0 must be an integer of at least 1"),
        ({"batch": 1}, "batch=1 must be an integer of at least 2"),
        ({"patience": 0}, "patience=0"),
        ({"noise": 1.0}, "noise=1.0 must be at least 0 and below 1"),
        ({"rate": 0.0}, "rate=0.0 must be positive"),
        ({"rate": float("inf")}, "rate=inf must be a finite number"),
        ({"rate": float("nan")}, "rate=nan must be a finite number"),
        ({"rate": "fast"}, "rate='fast' must be a finite number"),
        ({"tau_decay": float("inf")}, "tau_decay=inf must be a finite number"),
        ({"threads": 10**11}, "threads=100000000000 must be at most 1024"),
        ({"tau_decay": -1.0}, "tau_decay=-1.0 must not be negative"),
        ({"levels": 1}, "levels=1 must be an integer of at least 2"),
        ({"levels": 2.5}, "levels=2.5 must be an integer of at least 2"),
        ({"levels": True}, "levels=True must be an integer"),
        ({"levels": "4"}, "levels='4' must be an integer"),
        ({"levels": 257}, "levels=257 must be at most 256"),
        ({"weight_bits": 0}, "weight_bits=0 must be an integer of at least 1"),
        ({"weight_bits": 9}, "weight_bits=9 must be at most 8"),
        ({"levels": 4, "tau_decay": 1.0}, "one threshold on a count of literals, but levels=4 has others"),
        ({"weight_bits": 2, "tau_decay": 1.0}, "but weight_bits=2 has others. Leave one of them out"),
    ],
)
def test_wrong_settings_are_named(setting, message):
    with pytest.raises(SugenetError, match=message):
        Settings(**setting)


def test_without_torch_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    X, y = bits()
    with pytest.raises(SugenetError, match=r'pip install "\.\[train\]"'):
        train(X, y)


def test_importing_the_package_does_not_import_torch():
    code = "import sugenet.fit, sugenet.data, sys; print('torch' in sys.modules, 'sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_progress_lines(capsys, monkeypatch):
    X, y = bits()
    seen = []
    trained = train(X, y, (4,), settings=SHORT, progress=seen.append)
    assert tuple(seen) == trained.history
    for epoch in seen:
        print_progress(epoch)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("epoch 1/4: loss ")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    print_progress(Epoch(4, 4, 0.25, 1.0, None))
    assert capsys.readouterr().err == "\r\x1b[Kepoch 4/4: loss 0.2500, training 100.00%\n"


@pytest.mark.parametrize("end", ["patience", "Ctrl-C", "last epoch"])
def test_the_progress_line_is_ended_however_the_run_ends(capsys, monkeypatch, end):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    X, y = bits()
    original = loop_module._one_epoch

    def interrupted(*args):
        if end == "Ctrl-C" and args[-1] == 3:
            raise KeyboardInterrupt
        return original(*args)

    monkeypatch.setattr(loop_module, "_one_epoch", interrupted)
    settings = replace(SHORT, patience=1, epochs=60) if end == "patience" else SHORT
    trained = train(X, y, (4,), settings=settings, progress=print_progress)
    written = capsys.readouterr().err
    assert written.count("\n") == 1
    assert written.endswith(f"{trained.history[-1]}\n")


def test_the_bar_of_a_long_epoch(capsys, monkeypatch):
    times = iter([0.0, 0.1, 30.0, 30.0, 30.2])
    bar = RowProgress(1, 3, 1000, lambda: next(times))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    for done in (10, 250, 260):  # the second is the first after half a second
        bar(2, done)
    # 250 rows in 30 s, of the 2000 that are left after the first epoch
    line = "epoch 2/3: [#####               ] 250 of 1,000 rows, 3.5 min left"
    assert capsys.readouterr().err == f"\r\x1b[K{line}"


def test_files_get_no_bar(capsys):
    times = iter(range(10))
    bar = RowProgress(0, 1, 1000, lambda: next(times))
    bar(1, 500)
    assert capsys.readouterr().err == ""


# -- limits --------------------------------------------------------------------------------------------------


def test_a_network_of_a_table_is_limited_to_its_training_range():
    pandas = pytest.importorskip("pandas")
    X, y = numbers()
    names = [f"n{i}" for i in range(X.shape[1])]
    given = learn_encoder(X, names=names)
    frame = pandas.DataFrame(X, columns=names)
    tables = [train(frame, y, (3,), settings=SHORT), train(X, y, (3,), names=names, settings=SHORT)]
    others = [
        train(X, y, (3,), settings=SHORT),
        train(frame, y, (3,), encoder=given, settings=SHORT),
        train(*bits(), (3,), names=list("abcdefgh"), settings=SHORT),
        train((X * 40 + 128).clip(0, 255).astype(np.uint8), y, (3,), names=names, settings=SHORT),
    ]
    for one in tables:
        assert one.network.is_within_data
        assert one.network.within("any").domain == others[0].network.domain
    assert [bool(one.network.domain) for one in others] == [False] * len(others)
    assert all(one.network.encoder.seen for one in [*tables, *others])


def test_an_estimator_is_limited_unless_it_was_given_an_encoder_bits_or_pixels():
    estimators = pytest.importorskip("sugenet.fit.estimators")
    X, y = numbers()
    made = {
        "numbers": estimators.BNNClassifier((3,), epochs=2).fit(X, y),
        "encoder": estimators.BNNClassifier((3,), epochs=2, encoder=learn_encoder(X)).fit(X, y),
        "bits": estimators.BNNClassifier((3,), epochs=2).fit(*bits()),
        "integers": estimators.BNNClassifier((3,), epochs=2, coding="integers").fit(X.round(), y),
        "pixels": estimators.BNNClassifier((3,), epochs=2).fit((X * 40 + 128).astype(np.uint8), y),
    }
    assert {name: bool(one.network_.domain) for name, one in made.items()} == {
        name: name == "numbers" for name in made
    }
