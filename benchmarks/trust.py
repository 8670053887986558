"""Attacks on what must be trusted: ``python -m benchmarks.trust [--quick] [--minutes M] [--seed N]``.

Forged certificates go to the checker: real ones damaged at random, numbers of other types, integers at the
edges of the machine. Questions at the edges of floats are answered by enumeration, and no question may have
both an accepted proof and an accepted counterexample. The same question goes through Python, the command
line, the server, CSV files, rules and laws. Random models are imported, and each of their operations is
compared alone with the framework's own. Kept certificates are exported as proofs for other checkers, and
read by small readers and by those of veripb, drat-trim, cake_lpr and cake_xlrup that are on the PATH.
What a check loads is counted. Last, checks of enumerations and reasons of public MNIST networks are timed
(SUGENET_ZOO names their folder).
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, get_args

import torch

import sugenet as sg
from benchmarks import _zoo
from benchmarks.frontier import recheck
from sugenet.bits import prepare
from sugenet.checker import form
from sugenet.errors import CertificateError, QuestionError, SugenetError, TooLargeError
from sugenet.io import export_proof
from sugenet.reason.envelope import kind_of
from tests.checker import make_golden, test_attacks, test_twin
from tests.checker.loading import SOURCE, loaded_by, statements, statements_in
from tests.fuzzing import forgeries, torch_models
from tests.fuzzing.faces import compare_faces
from tests.io.proof_readers import RejectedError, check_drat, check_hinted, check_veripb

SHARES = {"forged": 0.35, "questions": 0.3, "faces": 0.15, "imports": 0.2}
QUICK = 16.0
"""Seconds of all attacks."""
READERS: dict[str, tuple[Callable[[str, str], int], str]] = {
    "veripb": (check_veripb, "veripb"),
    "drat": (check_drat, "drat-trim"),
    "lrat": (check_hinted, "cake_lpr"),
    "xlrup": (check_hinted, "cake_xlrup"),
}
"""For each proof format our small reader, and the program of others that reads it."""
VERIFIED = ("s VERIFIED", "Verification succeeded")
"""What the programs print, besides ending with code 0, if they accept a proof."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="all attacks for half a minute")
    parser.add_argument("--minutes", type=float, default=20.0, help="of all attacks (default: 20)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    prepare()
    seconds = QUICK if options.quick else 60 * options.minutes
    forged, accepted = attacked(options.seed, SHARES["forged"] * seconds)
    print(f"{forged:>9,} forged certificates, {len(accepted)} false ones accepted", flush=True)
    asked, contradictions = questioned(options.seed, SHARES["questions"] * seconds)
    print(f"{asked:>9,} questions by enumeration, {len(contradictions)} contradictions", flush=True)
    compared, differ = faced(options.seed, SHARES["faces"] * seconds)
    print(f"{compared:>9,} answers compared between faces, {len(differ)} differ", flush=True)
    judged, refused = imported(options.seed, SHARES["imports"] * seconds)
    print(f"{judged:>9,} operations of imports compared alone, {len(refused)} differ", flush=True)
    proofs, rejected = exported()
    print(f"{proofs['written']:>9,} proofs exported, {len(rejected)} rejected", flush=True)
    sizes = sized()
    print(f"{sizes['loaded_statements']:>9,} statements loaded by sugenet check, "
          f"{sizes['plain_statements']:,} by the plain checker", flush=True)  # fmt: skip
    ratio = checked_over_found()
    for what in (*accepted, *contradictions, *differ, *refused, *rejected):
        print("FOUND " + str(what)[:2000])
    result = {
        "forgeries": forged,
        "accepted": len(accepted),
        "contradiction_questions": asked,
        "contradictions": len(contradictions),
        "faces_compared": compared,
        "faces_differ": len(differ),
        "operations_compared_alone": judged,
        "operations_differ": len(refused),
        "proofs_exported": proofs,
        "proofs_rejected": len(rejected),
        **sizes,
        "check_over_find": ratio,
        "why_mnist_median_s": reasons(2 if options.quick else 20),
    }
    print("RESULT " + json.dumps(result))


def attacked(seed: int, seconds: float) -> tuple[int, list[str]]:
    """How many forged certificates were tried, and the false ones that were accepted."""
    found, tried = [], 0
    end = time.perf_counter() + seconds / 2
    for forgery in forgeries.forgeries(seed):
        tried += 1
        wrong = forgeries.difference(forgery)
        found += [wrong] if wrong else []
        if time.perf_counter() > end:
            break
    end = time.perf_counter() + seconds / 2
    while time.perf_counter() < end:
        for values in (test_attacks.spellings, test_attacks.edges):
            try:
                tried += test_attacks.attack(seed, values, 20)
            except AssertionError as error:
                found.append(str(error))
        seed += 1
    return tried, found


def questioned(seed: int, seconds: float) -> tuple[int, list[str]]:
    """How many questions were compared with enumeration, and those where something differs."""
    checks: list[Callable[[int], None]] = [
        test_twin.check_verdict,
        test_twin.check_counterfactual,
        test_twin.check_count,
        test_twin.check_pairs,
    ]
    found, asked, end = [], 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        for check in checks:
            asked += 1
            try:
                check(seed + asked)
            except AssertionError as error:
                found.append(f"{check.__name__}({seed + asked}): {error}")
    return asked, found


def faced(seed: int, seconds: float) -> tuple[int, list[str]]:
    """How many answers of different faces were compared, and those that differ."""
    compared, differ, end = 0, [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        many, wrong = compare_faces(seed, 2)
        compared, differ, seed = compared + many, differ + list(wrong), seed + 1
    return compared, differ


def imported(seed: int, seconds: float) -> tuple[int, list[str]]:
    """How many operations of random PyTorch models were compared alone, and those that differ."""
    judged, found, end = 0, [], time.perf_counter() + seconds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in torch_models.cases(seed):
            try:
                report = sg.from_torch(
                    case.module, torch.zeros(1, *case.shape), inputs=case.inputs, zero=case.zero
                ).report
                judged += report.operations_compared_alone
            except SugenetError as error:
                found += [str(error)] if "alone" in str(error) else []
            if time.perf_counter() > end:
                break
    return judged, found


def exported() -> tuple[dict[str, int], list[str]]:
    """How many proofs of kept certificates were written, and how many each reader accepted; and those that
    some reader rejected.
    """
    kept, accepted, rejected = make_golden.stored(), Counter[str](written=0, ours=0), []
    with tempfile.TemporaryDirectory() as folder:
        for row in kept["certificates"]:
            for name, (check, program) in READERS.items():
                other = kept["networks"].get(row["other"])
                if kind_of(row["certificate"]["proof"]) != "lemma":
                    continue
                try:
                    files = export_proof(
                        row["certificate"],
                        kept["networks"][row["network"]],
                        f"{folder}/proof",
                        name,
                        other=other,
                    )
                except (CertificateError, QuestionError, TooLargeError):  # too large for a format
                    continue
                for formula, proof in zip(files[::2], files[1::2], strict=True):
                    accepted["written"] += 1
                    try:
                        check(formula.read_text(), proof.read_text())
                        accepted["ours"] += 1
                    except RejectedError as error:
                        rejected.append(f"{name}, {row['name']}: {error}")
                    if shutil.which(program) is not None:
                        said = run_reader(program, formula, proof)
                        accepted[program] += said is None
                        rejected += [] if said is None else [f"{program}, {row['name']}: {said}"]
    return dict(accepted), rejected


def run_reader(program: str, formula: Path, proof: Path) -> Any:
    """What a program says of a proof that it does not accept; None if it accepts it."""
    command = [program, str(formula), str(proof)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    said = done.stdout + done.stderr
    return None if any(words in said for words in VERIFIED) else said[-300:] or f"code {done.returncode}"


def sized() -> dict[str, int]:
    """How many rules proofs about networks have, and how many statements a check of a small one loads."""
    kinds = [*(kind.tag[1] for kind in get_args(form.Single)), form.Partition.tag[1], "witness"]
    plainly = [kind for kind in kinds if plain_form_of(kind)]
    with tempfile.TemporaryDirectory() as folder:
        certificate, network = Path(folder, "c.json"), Path(folder, "n.sugenet")
        sample = sg.models.samples("digits")[0][7]
        answer = sg.verify(sg.models.digits(), sg.Robust(sample, sg.L0(1)))
        certificate.write_text(json.dumps(answer.certificate))
        sg.save(sg.models.digits(), network)
        loaded = [
            [name for name in loaded_by(*words)[2] if name.split(".")[0] == "sugenet"]
            for words in (
                ("sugenet", "check", certificate, network),
                ("sugenet.checker", certificate, network),
            )
        ]
    ours = sum(map(statements, (SOURCE / "checker").rglob("*.py")))
    return {
        "rules": len(kinds),
        "plain_rules": len(plainly),
        "loaded_statements": statements_in(loaded[0]),
        "checker_statements": ours,
        "plain_statements": statements_in(loaded[1]),
    }


def plain_form_of(kind: str) -> bool:
    """Whether a kept certificate of a kind is accepted in the plain form."""
    for row in make_golden.stored()["certificates"]:
        certificate, proof = row["certificate"], row["certificate"]["proof"]
        own = "witness" if certificate["answer"] == "refuted" else isinstance(proof, dict) and proof["kind"]
        if own == kind and "Error" not in row["said"]:
            networks = make_golden.stored()["networks"]
            try:
                sg.check(
                    certificate,
                    networks[row["network"]],
                    networks.get(row["other"]),
                    plain=True,
                    time_limit=5,
                )
            except CertificateError:
                continue
            return True
    return False


def checked_over_found() -> float | None:
    """The worst ratio of checking to finding, of one enumeration of each form."""
    return recheck.run(quick=True).figures["check_over_find"]


def reasons(images: int) -> float | None:
    """Median seconds of a minimal reason of a public MNIST network in an L-inf ball of radius 1."""
    zoo = _zoo.folder()
    if zoo is None:
        print("SUGENET_ZOO is not set: reasons of MNIST were not timed.")
        return None
    network = _zoo.msakai(zoo)
    samples = _zoo.right(network, *_zoo.mnist(zoo), images + 1)
    times = []
    for x in samples:
        start = time.perf_counter()
        sg.why(network, x.tolist(), sg.Linf(1), time_limit=60)
        times.append(time.perf_counter() - start)
    return round(median(times[1:]), 3)  # the first one compiles


if __name__ == "__main__":
    main()
