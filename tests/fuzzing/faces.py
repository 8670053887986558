"""One question through every face: Python, command line with a CSV file, server, rule, law and VNN-LIB file.

`compare_faces` asks random questions, each spelled once as text. All faces must give the same verdict about
the same exact question. The numbers that Python is given are read by Python itself.
"""

from __future__ import annotations

import ast
import json
from fractions import Fraction
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import sugenet as sg
from sugenet.bnn import Encoder, Head, Network, bit, integer, thermometer
from sugenet.errors import SugenetError
from sugenet.io.vnnlib import parse_vnnlib
from sugenet.problem.query import Query
from sugenet.web.asking import ask
from tests.cli.runner import in_process

REFUSED = "refused"
CUTS = (0.1, 0.3, 1 / 3, 1.0, 1e-7, 2.5, -0.7, 5e-324)
SPELLINGS = (
    *(
        "0.1",
        "1/10",
        "0.09999999999999999999",
        "0.10000000000000001",
        "3/10",
        "0.30",
        "1/3",
        "1e-7",
        ".5",
        "5.",
    ),
    *(
        "+3",
        " 3 ",
        "-0.0",
        "0",
        "1e-400",
        "-7/10",
        "-0.7",
        "2.5",
        "5/2",
        "1",
        "1.0",
        "003",
        "9007199254740993",
    ),
)
WRONG = (
    *(
        "1e400",
        "-1e400",
        "0x10",
        "1_000",
        "inf",
        "-inf",
        "nan",
        "Infinity",
        "\u0661\u0662",
        "1/0",
        "1/2.5",
        "1 / 2",
    ),
    *("1e", ".", "--1", "0b1", "1,5", "1j", "True", "None", "1d0"),
)


def literal(text):
    """The number that Python reads; a fraction of two integers is that fraction."""
    top, slash, bottom = text.strip().partition("/")
    sign, digits = (top[0], top[1:]) if top[0] in "+-" else ("", top)
    number = ast.literal_eval(sign + (digits.lstrip("0") or "0" if digits.isdigit() else digits))
    return Fraction(number, int(bottom)) if slash else number


def network_of(random):
    """A network of two classes over a number, an integer and a bit."""
    cuts = sorted(random.sample(CUTS, random.randint(1, 2)))
    encoder = Encoder([thermometer(cuts), integer(0, 4), bit()], ["x", "k", "b"])
    rows = [[random.choice([-1, 0, 1]) for _ in range(encoder.width)] for _ in range(2)]
    return Network(encoder, [], Head(rows, bias=[0, random.choice([0, 0.5, -0.5])]), ["low", "high"])


def settled(run):
    """Verdict and exact question of an answer; that it was refused."""
    try:
        answer = run()
    except SugenetError:
        return REFUSED, None
    data = answer if isinstance(answer, dict) else answer.data()
    return data["outcome"], (data["certificate"] or {}).get("question")


def typed(words):
    """The same of a line that is typed; refused means a message, never a traceback."""
    code, out, err = in_process([*words, "--json", "--quiet"])
    if code not in (0, 1, 3):
        assert code == 2, (words, code, err)
        assert "Traceback" not in err, err
        return REFUSED, None
    data = json.loads(out)
    return data["outcome"], data["certificate"]["question"]


def around(network, folder, sample, kind, radius):
    """Whether the class stays within a radius, by face."""
    sg.save(network, folder / "net.sugenet")
    (folder / "x.csv").write_text("x,k,b\n" + ",".join(f'"{text}"' for text in sample) + "\n")
    where = [str(folder / name) for name in ("net.sugenet", "x.csv")]
    asked = {"kind": "verify", "sample": list(sample), "region": {"kind": kind, "radius": radius}}
    faces = {
        "command line": typed(["verify", *where, f"--{kind.lower()}={radius}"]),
        "server": settled(lambda: ask(network, asked)),
    }
    if radius not in WRONG and not set(sample) & set(WRONG):
        values, size = [literal(text) for text in sample], literal(radius)
        faces["Python"] = settled(lambda: sg.verify(network, sg.Robust(values, getattr(sg, kind)(size))))
        numbers = [v if isinstance(v, int | float) else text for v, text in zip(values, sample, strict=True)]
        region = {"kind": kind, "radius": size if isinstance(size, int | float) else radius}
        faces["server, numbers"] = settled(
            lambda: ask(network, asked | {"sample": numbers, "region": region})
        )
    return faces


def within(network, folder, low, high):
    """Whether every input with a feature between two limits has the last class, by face."""
    sg.save(network, folder / "net.sugenet")
    path = str(folder / "net.sugenet")
    law = network_within(network, f"x >= {low} and x <= {high}")
    text = "".join(f"(declare-const {name} Real)" for name in ("X_0", "X_1", "X_2", "Y_0", "Y_1"))
    text += f"(assert (<= {low} X_0 {high}))(assert (<= 0 X_1 4))(assert (<= 0 X_2 1))(assert (>= Y_0 Y_1))"
    faces = {
        "command line": typed(["verify", path, "--always", "high", "--where", f"x >= {low} and x <= {high}"]),
        "rule": settled(lambda: sg.check_rule(network, f"{low} <= x <= {high} -> high").verdict),
        "law": (settled(lambda: sg.verify(law(), sg.Always("high")))[0], None),
        "law, command line": (
            typed(["verify", path, "--always", "high", "--law", f"{low} <= x and x <= {high}"])[0],
            None,
        ),
        "VNN-LIB": settled(lambda: sg.verify(network, parse_vnnlib(text))),
    }
    if not {low, high} & set(WRONG):
        ends = literal(low), literal(high)
        faces["Python"] = settled(lambda: sg.verify(network, sg.Always("high", {"x": ends})))
        lower, upper = ([end, *rest] for end, rest in zip(ends, ([0, 0], [4, 1]), strict=True))
        faces["Query"] = settled(lambda: sg.verify(network, Query.within(lower, upper, 1, 2)))
    return faces


def network_within(network, law):
    """What makes the network that knows a law, refusals of it included."""
    return lambda: network.within(law)


def bits(network, folder, value):
    """Whether every input with a bit of a value has the last class, by face."""
    sg.save(network, folder / "net.sugenet")
    path = str(folder / "net.sugenet")
    law = network_within(network, f"b = {value}")
    return {
        "command line": typed(["verify", path, "--always", "high", "--where", f"b = {value}"])[:1],
        "Python": settled(lambda: sg.verify(network, sg.Always("high", {"b": literal(value)})))[:1],
        "rule": settled(lambda: sg.check_rule(network, f"b = {value} -> high").verdict)[:1],
        "law": settled(lambda: sg.verify(law(), sg.Always("high")))[:1],
    }


def differing(faces):
    """Faces whose verdict, or whose question, differs from another's; a law and a query have their own."""
    verdicts = {face[0] for face in faces.values()}
    kinds = {}
    for face in faces.values():
        if len(face) > 1 and face[1] is not None:
            kinds.setdefault(face[1]["kind"], []).append(face[1])
    same = all(question == several[0] for several in kinds.values() for question in several)
    return {} if len(verdicts) == 1 and same else faces


def compare_faces(seed, n):
    """Ask `n` random questions through all faces: how many answers were compared, and those that differ."""
    random, compared, differ = Random(seed), 0, []
    with TemporaryDirectory() as name:
        for _ in range(n):
            network, number = network_of(random), lambda: random.choice(SPELLINGS)
            match random.randrange(4):
                case 0:
                    sample = [
                        number(),
                        random.choice(["0", "1.0", "4", " 2", "4/2"]),
                        random.choice(["-1", "0", "1"]),
                    ]
                    asked = (sample, random.choice(["Linf", "L1", "L2", "L0"]), number())
                    faces = around(network, Path(name), *asked)
                case 1:
                    asked = tuple(sorted((number(), number()), key=literal))
                    faces = within(network, Path(name), *asked)
                case 2:
                    asked = random.sample([number(), random.choice(WRONG)], 2)
                    faces = within(network, Path(name), *asked)
                    wrong = around(network, Path(name), [asked[0], "1", "1"], "Linf", asked[1])
                    faces |= {f"{face}, sample": found for face, found in wrong.items()}
                case _:
                    asked = random.choice(["-1", "0", "1", "+1", "-1.0", "0.0"])
                    faces = bits(network, Path(name), asked)
            compared += len(faces)
            if differing(faces):
                differ.append((network.encoder.codings[0].cuts, asked, faces))
    return compared, differ
