"""Damaged and hostile files of every kind but ONNX, through the importers that users call:
our errors and no others.
"""

import json
import resource
import zipfile
from pathlib import Path

import numpy as np
import pytest

from sugenet.errors import SugenetError
from sugenet.io import Bits, from_state_dict, import_file
from sugenet.io.larq.keras_file import planned_layers
from tests.fuzzing.keras_files import save
from tests.io.arrays.test_arrays import bits, folder, msakai

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
h5py = pytest.importorskip("h5py", reason="h5py is not installed")

STATISTICS = ("weight", "bias", "running_mean", "running_var")


def checkpoint(path, random):
    state = {
        "mod_list.0.weight": random.standard_normal((4, 5)),
        "mod_list.3.weight": random.standard_normal((3, 4)),
    }
    state |= {f"mod_list.1.{part}": random.uniform(0.5, 2, 4) for part in STATISTICS}
    torch.save(
        {name: torch.from_numpy(array.astype(np.float32)) for name, array in state.items()}, path / "net.pt"
    )
    return path / "net.pt"


def counts(path, random):
    np.savez(path / "net.npz", **bits(random))
    return path / "net.npz"


def blocks(path, random):
    np.savez_compressed(path / "net.npz", **msakai(random))
    return path / "net.npz"


def table(path, random):
    return folder(path / "net", random) / "blk1" / "bn_mean.csv"


def keras_archive(path, random):
    """A Keras model as an archive."""
    about = {"name": "fc", "units": 3, "kernel_quantizer": "ste_sign", "input_quantizer": "ste_sign"}
    about |= {"batch_input_shape": [None, 5], "use_bias": False}
    entry = {"class_name": "QuantDense", "config": about, "name": "fc"}
    model = {"class_name": "Sequential", "config": {"name": "net", "layers": [entry]}}
    return save(path, model, {"fc": {"kernel": random.standard_normal((5, 3))}}, "archive")[0]


def damaged(raw, random):
    """A few bytes changed, a stretch lost, doubled or zeroed, or the end cut off."""
    raw = bytearray(raw)
    a, b = sorted(random.integers(0, len(raw) + 1, 2).tolist())
    b = min(b, a + 64)
    match int(random.integers(5)):
        case 0:
            for place in random.integers(0, len(raw), int(random.integers(1, 5))):
                raw[place] = random.integers(256)
        case 1:
            del raw[a:]
        case 2:
            del raw[a:b]
        case 3:
            raw[a:a] = raw[a:b]
        case 4:
            raw[a:b] = bytes(b - a)
    return bytes(raw)


@pytest.mark.parametrize("make", [checkpoint, counts, blocks, table, keras_archive])
def test_damaged_files_end_in_our_errors_or_in_a_network(tmp_path, make):
    random = np.random.default_rng(5)
    place = make(tmp_path, random)
    whole = place.read_bytes()
    given, inputs = (
        place.parent.parent if place.suffix == ".csv" else place,
        None if make is blocks else Bits(),
    )
    import_file(given, inputs=inputs)
    refused = 0
    for _ in range(120):
        place.write_bytes(damaged(whole, random))
        try:
            import_file(given, inputs=inputs, zero=1)
        except SugenetError:
            refused += 1
    assert refused > 20


ODD = {
    "complex": np.ones((4, 5), np.complex64),
    "text": np.full((4, 5), "a"),
    "objects": np.full((4, 5), None),
    "dates": np.full((4, 5), np.datetime64("2020-01-01")),
    "long": np.ones((4, 5), np.longdouble),
    "nan": np.full((4, 5), np.nan, np.float32),
    "inf": np.full((4, 5), -np.inf),
    "empty": np.ones((0, 5), np.float32),
    "flat": np.ones(20, np.float32),
    "number": np.array(3.0),
    "too large": np.full((4, 5), 1e300),
    "deep": np.ones((1,) * 20),
    "wide": np.ones((4, 6), np.float32),
    "huge whole numbers": np.full((4, 5), 2**62),
}
FINE = {
    "bool": np.ones((4, 5), bool),
    "bytes": np.ones((4, 5), np.uint8),
    "half": np.ones((4, 5), np.float16),
    "double": np.ones((4, 5)),
    "tiny": np.full((4, 5), 5e-324),
    "large": np.full((4, 5), 3e38),
    "big-endian": np.ones((4, 5), ">f4"),
    "fortran": np.asfortranarray(np.ones((4, 5))),
}


@pytest.mark.parametrize("rule", ["sign", "ternary", "scaled", "scaled-all", "stored"])
@pytest.mark.parametrize("name", [*ODD, *FINE])
def test_odd_arrays_in_a_state_dict(name, rule):
    state = {"a.weight": (ODD | FINE)[name], "b.weight": np.ones((2, 4), np.float32)}
    text = f"linear:a(weights={rule}) sign linear:b"
    if name in ODD:
        with pytest.raises(SugenetError):
            from_state_dict(state, text, inputs=Bits(), shape=(5,))
        return
    found = from_state_dict(state, text, inputs=Bits()).report
    assert found.network.predict(np.ones((1, 5))).tolist() == [0]


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308, -1.0, 0.0, 3e38, 5e-324])
@pytest.mark.parametrize("part", STATISTICS)
def test_odd_numbers_in_a_batch_norm(part, value):
    state = {"a.weight": np.ones((4, 5), np.float32), "b.weight": np.ones((2, 4), np.float32)}
    state |= {f"n.{name}": np.ones(4) for name in STATISTICS} | {f"n.{part}": np.full(4, value)}
    try:
        found = from_state_dict(state, "linear:a batchnorm:n sign linear:b", inputs=Bits()).report
    except SugenetError:
        assert not value < 1e300 or (part == "running_var" and value < 0)
        return
    assert found.network.predict(np.ones((1, 5))).tolist() == [0]


def test_a_few_words_never_take_the_machine(tmp_path):
    """Sizes that a declaration, a configuration or a header only claims."""
    state = {"c.weight": np.ones((1, 1, 1, 2), np.float32), "d.weight": np.ones((2, 1), np.float32)}
    behind = "conv:c sign globalavgpool flatten linear:d"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for text, shape in (
        (f"pad(size=1000000) {behind}", (1, 3, 3)),
        (behind, (1, 65536, 65536)),
        ("conv:c(pad=1000000) sign globalavgpool flatten linear:d", (1, 3, 3)),
        (f"maxpool(kernel=60000x60000, pad=30000) {behind}", (1, 3, 3)),
    ):
        with pytest.raises(SugenetError, match=r"values that are read|values, more than the"):
            from_state_dict(state, text, shape=shape, inputs=Bits())
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("W0.npy", bytes(1 << 20))
        for number in range(600):
            archive.writestr(f"W{number + 1}.npy", b"")
        archive.infolist()[0].file_size = 1 << 40
    with pytest.raises(SugenetError):
        import_file(tmp_path / "bomb.npz")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(SugenetError, match="has no folder 'out_blk'"):
        import_file(tmp_path)
    (tmp_path / "out_blk").mkdir()
    with pytest.raises(SugenetError, match=r"lin_weight.csv cannot be read"):
        import_file(Path(tmp_path))


def test_odd_texts_of_keras_models_end_in_our_errors(tmp_path):
    """Every value of a configuration, replaced by something else."""
    random = np.random.default_rng(0)
    keras_archive(tmp_path, random)
    with zipfile.ZipFile(tmp_path / "net.keras") as archive:
        model = json.loads(archive.read("config.json"))
    places = list(leaves(model, ()))
    assert len(places) > 8
    for place in places:
        for odd in (None, [], {}, "x", -1, 1e300, [[None]], {"class_name": []}, {"layers": [1]}):
            text = json.dumps(replaced(model, place, odd))
            try:
                planned_layers(text)
            except SugenetError:
                continue


def leaves(value, place):
    """Paths of all values inside."""
    yield place
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inside in pairs:
        yield from leaves(inside, (*place, key))


def replaced(value, place, new):
    if not place:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = replaced(value[place[0]], place[1:], new)
    return copy
