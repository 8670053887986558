"""Spiking networks from files: NIR as the package nir writes it, state dicts of snnTorch, arrays."""

from contextlib import suppress
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import FileError, NetworkError, SoundnessError, TooLargeError
from sugenet.spiking import (
    Convention,
    SpikingLayer,
    SpikingNetwork,
    from_snntorch,
    import_spiking,
    read_nir,
    read_spiking_npz,
    simulate,
    unroll,
)
from sugenet.spiking.importing import prove_unrolled
from tests.spiking.nets import convention

LATENCY = {"code": "latency", "decision": "first spike"}
WEIGHT1 = np.array([[0.5, 1.0, -0.25], [1.0, 0.0, 0.5]])
BIAS1 = np.array([0.125, 0.0])
WEIGHT2 = np.array([[1.0, -0.5], [0.25, 1.0]])


# -- NIR -----------------------------------------------------------------------------------------------------


def nir_graph(nir, *, neurons=None, last=None, first=None):
    nodes = [
        nir.Input(np.array([3])),
        first or nir.Affine(WEIGHT1, BIAS1),
        neurons
        or nir.LIF(
            tau=np.array([4.0, 2.0]),
            r=np.array([16.0, 8.0]),
            v_leak=np.array([0.0, 0.5]),
            v_threshold=np.array([1.0, 0.75]),
        ),
        nir.Linear(WEIGHT2),
        last or nir.IF(r=np.ones(2), v_threshold=np.array([0.5, 0.25])),
        nir.Output(np.array([2])),
    ]
    return nir.NIRGraph.from_list(*nodes)


@pytest.fixture
def nir_file(tmp_path):
    nir = pytest.importorskip("nir")
    path = tmp_path / "net.nir"
    nir.write(path, nir_graph(nir))
    return path


def test_a_nir_file_is_its_equations_in_euler_steps(nir_file):
    found = read_nir(nir_file, convention(4, fires=">", step=Fraction(1, 2), **LATENCY)).report
    by_hand = SpikingNetwork(
        [
            SpikingLayer(
                [[2 * Fraction(w) for w in row] for row in WEIGHT1],
                leak=["7/8", "3/4"],
                threshold=[1, "3/4"],
                bias=["1/4", "1/8"],
            ),
            SpikingLayer(
                [[Fraction(w) / 2 for w in row] for row in WEIGHT2], leak=1, threshold=["1/2", "1/4"]
            ),
        ],
        convention(4, fires=">", step=Fraction(1, 2), **LATENCY),
    )
    assert found.network == unroll(by_hand).network
    samples = list(product(range(5), repeat=3))
    labels = [simulate(by_hand, x).label for x in samples]
    assert found.network.predict(samples).tolist() == labels
    assert set(labels) == {0, 1}
    assert found.proof is not None
    assert found.proof.samples == 40
    assert any("Euler steps of length 1/2" in remark for remark in found.remarks)


def test_nir_says_too_little_without_a_step(nir_file):
    with pytest.raises(FileError, match=r"net\.nir: NIR gives time constants in continuous time.*step="):
        read_nir(nir_file, convention(4, **LATENCY))
    with pytest.raises(FileError, match="longer than tau"):
        read_nir(nir_file, convention(4, step=3, **LATENCY))
    told = read_nir(nir_file, convention(4, step=1, reset="subtract", **LATENCY)).report.remarks
    assert any("v_reset after a spike; reset='subtract' was asked for" in remark for remark in told)
    assert any("'>=' was asked for" in remark for remark in told)


def test_leaky_integrators_have_potentials_and_no_spikes(tmp_path):
    nir = pytest.importorskip("nir")
    last = nir.LI(tau=np.full(2, 2.0), r=np.full(2, 2.0), v_leak=np.zeros(2))
    nir.write(tmp_path / "net.nir", nir_graph(nir, last=last))
    said = convention(3, step=1, reset="subtract", decision="last potential")
    found = read_nir(tmp_path / "net.nir", said).report
    assert any("no spikes" in remark for remark in found.remarks)
    with pytest.raises(FileError, match="the last layer does not spike"):
        read_nir(tmp_path / "net.nir", convention(3, step=1))


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"neurons": "CubaLIF"}, r"cubalif.*\(CubaLIF\): it has a current of its own"),
        ({"first": "Conv1d"}, r"\(Conv1d\): supported are Linear"),
        ({"neurons": "Threshold"}, r"\(Threshold\): supported are"),
        ({"last": "reset"}, "v_reset is not 0"),
        ({"neurons": "Linear"}, r"\(Linear\): weights and neurons come in turn"),
    ],
)
def test_nodes_that_are_not_read_are_named(tmp_path, parts, said):
    nir = pytest.importorskip("nir")
    two = np.ones(2)
    nodes = {
        "CubaLIF": lambda: nir.CubaLIF(tau_syn=two, tau_mem=two, r=two, v_leak=0 * two, v_threshold=two),
        "Conv1d": lambda: nir.Conv1d(1, np.ones((2, 3, 1)), 1, 0, 1, 1, np.zeros(2)),
        "Threshold": lambda: nir.Threshold(two),
        "reset": lambda: nir.IF(r=two, v_threshold=two, v_reset=two / 4),
        "Linear": lambda: nir.Linear(np.eye(2)),
    }
    graph = nir_graph(nir, **{key: nodes[kind]() for key, kind in parts.items() if kind != "Conv1d"})
    if "first" in parts:
        graph.nodes["affine"] = nodes["Conv1d"]()
    nir.write(tmp_path / "net.nir", graph)
    with pytest.raises(FileError, match=said):
        read_nir(tmp_path / "net.nir", convention(3, step=1, **LATENCY))


def test_branches_and_recurrent_connections_are_refused(tmp_path):
    nir = pytest.importorskip("nir")
    graph = nir_graph(nir)
    graph.edges.append(("lif", "affine"))
    nir.write(tmp_path / "net.nir", graph)
    with pytest.raises(FileError, match="only chains are read"):
        read_nir(tmp_path / "net.nir", convention(3, step=1, **LATENCY))


def test_damaged_files_are_refused_with_a_word(nir_file, tmp_path):
    raw = nir_file.read_bytes()
    random = Random(1)
    said = convention(3, step=1, **LATENCY)
    broken = tmp_path / "broken.nir"
    for damage in range(8):
        bytes_ = bytearray(raw)
        if damage < 3:
            bytes_ = bytes_[: len(raw) * damage // 4]
        else:
            for _ in range(6):
                bytes_[random.randrange(len(raw))] = random.randrange(256)
        broken.write_bytes(bytes_)
        with suppress(FileError, TooLargeError):  # a bit in a gap, or in a weight, may be none the wiser
            read_nir(broken, said)


def test_numbers_that_are_not_finite_are_refused(tmp_path):
    nir = pytest.importorskip("nir")
    nir.write(tmp_path / "net.nir", nir_graph(nir, first=nir.Affine(WEIGHT1 * np.nan, BIAS1)))
    with pytest.raises(FileError, match="not finite"):
        read_nir(tmp_path / "net.nir", convention(3, step=1, **LATENCY))


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("node/nodes/input/shape", [4], r"input \(Input\): its shape is \(4,\), but there are 3 inputs"),
        ("node/nodes/output/shape", [1, 5], r"its shape is \(1, 5\), but there are 2 neurons in the last"),
        ("node/nodes/input/axes", [1], r"input \(Input\): its array 'axes' would be left over"),
        ("node/delays", [1], "the part 'delays' of its graph would be left over"),
    ],
)
def test_what_a_graph_says_beside_its_weights_is_read_or_refused(nir_file, place, value, said):
    h5py = pytest.importorskip("h5py")
    with h5py.File(nir_file, "a") as file:
        if place in file:
            del file[place]
        file[place] = np.array(value)
    with pytest.raises(FileError, match=said):
        read_nir(nir_file, convention(3, step=1, **LATENCY))


def test_metadata_is_named(tmp_path):
    nir = pytest.importorskip("nir")
    graph = nir_graph(nir)
    graph.nodes["lif"].metadata = {"reset": "subtract"}
    nir.write(tmp_path / "net.nir", graph)
    found = read_nir(tmp_path / "net.nir", convention(3, step=1, **LATENCY)).report
    assert "metadata of the file is not used: lif (reset)" in found.remarks


# -- snnTorch ------------------------------------------------------------------------------------------------


def state(**changed):
    parts = {
        "fc1.weight": WEIGHT1.astype(np.float32),
        "fc1.bias": BIAS1.astype(np.float32),
        "lif1.threshold": np.ones((), np.float32),
        "lif1.graded_spikes_factor": np.ones(()),
        "lif1.reset_mechanism_val": np.array(0),
        "lif1.beta": np.array(0.75, np.float32),
        "fc2.weight": WEIGHT2.astype(np.float32),
        "lif2.beta": np.array([0.5, 1.5], np.float32),
        "lif2.threshold": np.ones(()),
    } | changed
    return {name: value for name, value in parts.items() if value is not None}


def leaky(**said) -> Convention:
    usual = {"steps": 3, "reset_mechanism": "subtract", "reset_delay": True, "ties": "lowest"}
    return Convention.of_snntorch(**(usual | {"code": "spikes", "decision": "spike count"} | said))


def test_a_state_dict_is_read():
    found = from_snntorch(state(), leaky()).report
    by_hand = SpikingNetwork(
        [
            SpikingLayer(WEIGHT1, leak="3/4", threshold=1, bias=BIAS1),
            SpikingLayer(WEIGHT2, leak=["1/2", 1], threshold=1),  # beta is clipped to 1, as snnTorch does
        ],
        leaky(),
    )
    assert found.network == unroll(by_hand).network
    assert "layers in the order fc1, lif1, fc2, lif2" in found.remarks
    again = from_snntorch(
        dict(reversed(state().items())), leaky(), layers=["fc1", "lif1", "fc2", "lif2"]
    ).report
    assert again.network == found.network


@pytest.mark.parametrize(
    ("changed", "options", "said"),
    [
        ({"lif1.reset_mechanism_val": np.array(1)}, {}, "saved with reset_mechanism='zero'"),
        (
            {"lif1.reset_mechanism_val": np.zeros(0)},
            {},
            r"reset_mechanism_val is \[\], but snnTorch writes one",
        ),
        ({"lif1.reset_mechanism_val": np.array([0, 1])}, {}, r"reset_mechanism_val is \[0, 1\]"),
        ({"lif1.reset_mechanism_val": np.array(0.5)}, {}, r"reset_mechanism_val is \[0.5\]"),
        ({"bn.running_mean": np.ones(2)}, {}, "of another kind. Synaptic, RLeaky"),
        ({"lif1.graded_spikes_factor": np.array(2.0)}, {}, "spikes of other sizes"),
        ({"lif1.threshold": np.array(-1.0)}, {}, "resets before the first spike"),
        ({"lif1.alpha": np.array(0.5)}, {}, "'alpha' would be left over"),
        ({"fc1.weight": np.ones((2, 1, 3, 3))}, {}, "only dense layers"),
        ({"lif2.beta": np.array([0.5] * 3)}, {}, "3 values for 2 neurons"),
        ({"fc2.weight": None}, {}, "one is missing"),
        ({}, {"layers": ["fc1", "lif1"]}, "name each once"),
        ({}, {"layers": ["lif1", "fc1", "fc2", "lif2"]}, "torch.nn.Linear is expected there"),
        ({}, {"leak": "9/10"}, "a leak of 9/10 was given, but the file says about 0.75"),
        ({}, {"names": ["a"]}, "1 names for 3 inputs"),
        ({}, {"image": (2, 2)}, r"image=\(2, 2\) is no"),
    ],
)
def test_what_a_state_dict_cannot_mean_is_refused(changed, options, said):
    with pytest.raises(FileError, match=said):
        from_snntorch(state(**changed), leaky(), **options)


def test_conventions_that_snntorch_has_not_are_refused():
    for said in ({"when": "at once", "reset": "subtract"}, {"reset": "once", "when": None}):
        with pytest.raises(FileError, match=r"nothing that snntorch\.Leaky does"):
            from_snntorch(state(), convention(3, fires=">", **said))
    with pytest.raises(FileError, match="'>'"):
        from_snntorch(state(), convention(3))
    with pytest.raises(FileError, match="Give no step="):
        from_snntorch(state(), convention(3, fires=">", step=1))


def test_floats_as_they_are_or_as_they_are_meant():
    tenths = state(**{"lif1.beta": np.array(0.9, np.float32), "lif2.beta": np.array(0.9, np.float32)})
    with pytest.raises(TooLargeError, match=r"floats='decimal'"):
        from_snntorch(tenths, leaky())
    for options in ({"floats": "decimal"}, {"leak": "9/10"}, {"leak": ["9/10", Fraction(9, 10)]}):
        found = from_snntorch(tenths, leaky(), **options).report
        assert "fc1, lif1: 2 neurons, leak 9/10" in found.remarks
    with pytest.raises(FileError, match="1 leaks for 2 layers"):
        from_snntorch(tenths, leaky(), leak=["9/10"])


def test_a_grid_is_said_to_be_one():
    thirds = state(**{"fc1.weight": np.array([[1 / 3, 0.1, -0.2], [0.7, 0.0, 0.5]], np.float32)})
    found = from_snntorch(thirds, leaky(), grid="1/8").report
    assert any("rounded to multiples of 1/8, by up to 0.05" in remark for remark in found.remarks)
    with pytest.raises(NetworkError, match="grid=0 is not positive"):
        from_snntorch(thirds, leaky(), grid=0)


@pytest.mark.parametrize("mechanism", ["subtract", "zero", "none"])
@pytest.mark.parametrize("delay", [True, False])
def test_networks_of_snntorch_itself(mechanism, delay, tmp_path):
    """The modules of snnTorch, run step by step in float32 on numbers that floats hold exactly."""
    torch = pytest.importorskip("torch")
    snn = pytest.importorskip("snntorch")
    random = np.random.default_rng(5)
    first, second = (torch.nn.Linear(a, b) for a, b in ((3, 4), (4, 2)))
    with torch.no_grad():
        for layer in (first, second):
            for part in (layer.weight, layer.bias):
                part.copy_(torch.tensor(random.integers(-6, 9, part.shape) / 4))
    leaks = [
        snn.Leaky(beta=beta, threshold=threshold, reset_mechanism=mechanism, reset_delay=delay)
        for beta, threshold in ((0.5, 0.75), (0.75, 1.0))
    ]
    modules = torch.nn.ModuleDict({"fc1": first, "lif1": leaks[0], "fc2": second, "lif2": leaks[1]})
    torch.save(modules.state_dict(), tmp_path / "net.pt")
    said = leaky(reset_mechanism=mechanism, reset_delay=delay)
    network = import_spiking(tmp_path / "net.pt", said)
    samples = list(product((0, 1), repeat=9))
    x = torch.tensor(samples, dtype=torch.float32).reshape(-1, 3, 3)
    one, two = torch.zeros(len(x), 4), torch.zeros(len(x), 2)
    counts = torch.zeros(len(x), 2)
    with torch.no_grad():
        for t in range(3):
            spikes, one = leaks[0](first(x[:, t]), one)
            out, two = leaks[1](second(spikes), two)
            counts += out
    assert np.array_equal(network.logits(samples), counts.numpy())


# -- arrays, and all of them ---------------------------------------------------------------------------------


def test_arrays(tmp_path):
    path = tmp_path / "net.npz"
    np.savez(path, weight1=WEIGHT1, leak1=0.75, threshold1=1.0, bias1=BIAS1, weight2=WEIGHT2, leak2=0.5)
    said = convention(3, reset="none", when=None, decision="summed potential")
    found = read_spiking_npz(path, said).report
    layers = [
        SpikingLayer(WEIGHT1, leak="3/4", threshold=1, bias=BIAS1),
        SpikingLayer(WEIGHT2, leak="1/2", spikes=False),
    ]
    assert found.network == unroll(SpikingNetwork(layers, said)).network
    with pytest.raises(FileError, match="layers= is for state dicts"):
        import_spiking(path, said, layers=["fc1"])
    with pytest.raises(FileError, match="is not a file of a spiking network"):
        import_spiking(tmp_path / "net.onnx", said)
    np.savez(path, weight1=WEIGHT1, threshold1=1.0)
    with pytest.raises(FileError, match=r"net\.npz: there is no array 'leak1'"):
        read_spiking_npz(path, said)
    np.savez(path, weight1=WEIGHT1, leak1=0.5, threshold1=1.0, weight3=WEIGHT2)
    with pytest.raises(FileError, match="weight3"):
        read_spiking_npz(path, convention(3))


def test_a_wrong_network_does_not_pass_its_proof():
    layer = SpikingLayer(WEIGHT1, leak="3/4", threshold=1)
    spiking = SpikingNetwork([layer], convention(3))
    other = SpikingNetwork([SpikingLayer(WEIGHT1, leak="3/4", threshold=1)], convention(3, fires=">"))
    assert prove_unrolled(spiking, unroll(spiking).network).scores == 80
    with pytest.raises(SoundnessError, match="Please report"):
        prove_unrolled(spiking, unroll(other).network)


def test_images_and_files(tmp_path):
    said = convention(2, reset="none", when=None, code="latency", decision="first spike")
    path = tmp_path / "net.npz"
    np.savez(path, weight1=np.array([[1.0, 0.5, 1, 0.5], [0.5, 1, 0.5, 1]]), leak1=1.0, threshold1=1.5)
    network = read_spiking_npz(path, said, image=(2, 2))
    assert network.encoder.names[1] == "time of pixel (0,1)"
    assert network.predict([[[0, 1], [0, 2]]]).tolist() == [0]
    sg.save(network, tmp_path / "net.sugenet")
    again = sg.load(tmp_path / "net.sugenet")
    assert again == network
    assert again.notes == network.notes
    assert Path(again.notes["source"]).name == "net.npz"
