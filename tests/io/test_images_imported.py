"""Pixels of imported networks: named from the file's own shape, or from `image=`, never guessed."""

import gzip

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import FileError
from sugenet.io import Bits, Integers, from_state_dict, from_torch, import_file

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn  # noqa: E402


class Sign(nn.Module):
    def forward(self, x):
        return torch.where(x >= 0, 1.0, -1.0)


def dense(n, *first_layer):
    """A network of n inputs whose weights are -1 and 1."""
    torch.manual_seed(0)
    module = nn.Sequential(*first_layer, nn.Linear(n, 3), Sign(), nn.Linear(3, 2))
    for part in module:
        if isinstance(part, nn.Linear):
            part.weight.data.sign_()
    return module.eval()


def names(module, *shape, **options):
    found = from_torch(module, torch.zeros(1, *shape), inputs=Bits(), prove=False, **options).report
    return found.network.encoder


def test_flat_rows_are_images_only_where_it_is_said():
    plain = names(dense(16), 16)
    assert (plain.names[:2], plain.shape) == (("x1", "x2"), None)
    said = names(dense(16), 16, image=(4, 4))
    assert said.names == tuple(f"pixel ({r},{c})" for r in range(4) for c in range(4))
    assert said.shape == (4, 4)
    assert said.codings == plain.codings


def test_files_with_two_axes_or_more_are_seen_to_be_images():
    flat = names(dense(6, nn.Flatten()), 2, 3)
    assert (flat.names[-1], flat.shape) == ("pixel (1,2)", (2, 3))
    assert names(dense(6, nn.Flatten()), 1, 2, 3).names[-1] == "pixel (1,2)"
    assert names(dense(6, nn.Flatten()), 3, 1, 2).names[1:3] == (
        "channel 0 pixel (0,1)",
        "channel 1 pixel (0,0)",
    )
    same = names(dense(6, nn.Flatten()), 1, 2, 3, image=(2, 3))
    assert (same.names[-1], same.shape) == ("pixel (1,2)", (1, 2, 3))


@pytest.mark.parametrize(
    ("image", "second"), [((2, 2, 3), "channel 1 pixel (0,0)"), ((3, 2, 2), "channel 0 pixel (0,1)")]
)
def test_colours_lie_as_they_are_said_to(image, second):
    said = names(dense(12), 12, image=image)
    assert said.names[1] == second
    assert len(set(said.names)) == 12
    picture = np.random.default_rng(0).choice([-1, 1], (5, *image))
    assert said.rows(picture).tolist() == picture.reshape(5, 12).tolist()


def test_it_is_the_same_network():
    found = [
        from_torch(dense(16), torch.zeros(1, 16), inputs=Integers(0, 9), image=image).report
        for image in (None, (4, 4))
    ]
    X = np.random.default_rng(1).integers(0, 10, (50, 16))
    plain, said = (one.network for one in found)
    assert (plain.match_counts(X) == said.match_counts(X.reshape(50, 4, 4))).all()
    assert found[1].proof == found[0].proof


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((16,), {"image": (4, 5)}, r"image=\(4, 5\) has 20 values, but the network reads 16 features"),
        ((16,), {"image": 4}, r"image=4 must be \(height, width\), such as \(28, 28\)"),
        ((16,), {"image": (16,)}, "must be .height, width."),
        ((16,), {"image": (4.0, 4)}, "must be .height, width."),
        ((16,), {"image": (-4, -4)}, "must be .height, width."),
        ((16,), {"image": (4, 4), "names": range(16)}, "names= and image= both say"),
        ((2, 8), {"image": (4, 4)}, r"samples of the source have the shape \(2, 8\) already"),
    ],
)
def test_images_that_do_not_fit_are_refused(shape, options, message):
    module = dense(16, nn.Flatten()) if len(shape) > 1 else dense(16)
    with pytest.raises(FileError, match=message):
        names(module, *shape, **options)


# -- examples of modules -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("example", "message"),
    [
        (None, r"Sequential: no example is given, and a module does not say what it reads. Give a batch"),
        ("digits", "the example, of type str, is not a tensor"),
        ([[1.0], [1.0, 2.0]], "the example, of type list, is not a tensor"),
        ({"a": 1}, "the example, of type dict, is not a tensor"),
        (torch.zeros(16), r"example has shape \(16,\), but a batch is needed"),
        (np.zeros((0, 16)), r"example has shape \(0, 16\), but a batch is needed"),
        (np.full((1, 16), np.nan, np.float32), "the example has a value that is not a finite number"),
        (torch.zeros(1, 16, dtype=torch.complex64), "the example has a value that is not a finite number"),
        (torch.zeros(1, 15), r"fails on samples of shape \(15,\) and type float32.*of the shape and type"),
        (torch.zeros(1, 1, 4, 4), r"fails on samples of shape \(1, 4, 4\) and type float32"),
        (torch.zeros(1, 16, dtype=torch.int64), r"fails on samples of shape \(16,\) and type int64"),
    ],
)
def test_wrong_examples_are_named(example, message):
    with pytest.raises(FileError, match=message):
        from_torch(dense(16), example, inputs=Bits())


def test_a_batch_norm_that_wants_other_axes_is_named():
    with pytest.raises(FileError, match=r"fails on samples of shape \(4,\).*expected 4D input"):
        from_torch(nn.Sequential(nn.BatchNorm2d(4), *dense(4)).eval(), torch.zeros(1, 4), inputs=Bits())


def test_what_is_no_module_is_named():
    with pytest.raises(FileError, match=r"a torch.nn.Module is needed, not int"):
        from_torch(7, torch.zeros(1, 4))


# -- packed files --------------------------------------------------------------------------------------------


def test_packed_checkpoints_are_read(tmp_path):
    module, text = dense(6), "linear:0 sign linear:2"
    torch.save(module.state_dict(), tmp_path / "net.pt")
    (tmp_path / "net.pt.gz").write_bytes(gzip.compress((tmp_path / "net.pt").read_bytes()))
    plain, packed, direct = (
        import_file(tmp_path / "net.pt", architecture=text, inputs=Bits()).report,
        import_file(tmp_path / "net.pt.gz", architecture=text, inputs=Bits()).report,
        from_state_dict(module.state_dict(), text, inputs=Bits()).report,
    )
    assert plain.network == packed.network == direct.network
    (tmp_path / "cut.pt.gz").write_bytes((tmp_path / "net.pt.gz").read_bytes()[:-5])
    with pytest.raises(FileError, match=r"cut.pt.gz: it is a gzip archive that is cut off"):
        import_file(tmp_path / "cut.pt.gz", architecture=text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"architecture": "sign"}, "architecture= is for a PyTorch checkpoint, and net.onnx is not one"),
        ({"bits": 1}, "bits= is for a PyTorch checkpoint"),
        ({"above": 0.5}, "above= is for an .npz file, and net.onnx is not one. Leave it out"),
    ],
)
def test_options_of_other_files_are_refused(tmp_path, options, message):
    sg.write_onnx(sg.models.digits(), tmp_path / "net.onnx")
    with pytest.raises(FileError, match=message):
        import_file(tmp_path / "net.onnx", inputs=Integers(0, 16), **options)
