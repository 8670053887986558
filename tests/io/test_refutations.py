"""Proofs for other checkers: small readers accept them, reject damaged ones, and the formulas have a solution
exactly if the question has a violation.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest
from pysat.solvers import Solver

import sugenet as sg
from sugenet.checker.accelerate.origin import form_of
from sugenet.checker.accelerate.thresholds import ThresholdSystem, reach
from sugenet.engines.hard.outside.cnf import Cnf
from sugenet.errors import CertificateError, QuestionError, TooLargeError
from sugenet.io import Query, export_proof
from sugenet.io.refutations.claims import Lemmas, Resolution, claims_of
from sugenet.io.refutations.writers import PROOFS
from sugenet.nn import DenseLayer, Encoder, Head, Network, integer
from sugenet.reason.envelope import kind_of
from tests.checker import make_golden
from tests.checker.test_rup import proof_of
from tests.checker.test_sums import with_sums
from tests.checker.typed import check_rup
from tests.io.proof_readers import (
    RejectedError,
    check_drat,
    check_hinted,
    check_veripb,
    read_cnf,
    read_opb,
)
from tests.problem.small import random_network, random_sample

CHECKS = {"veripb": check_veripb, "drat": check_drat, "lrat": check_hinted, "xlrup": check_hinted}
CLAUSES = ("drat", "lrat")
"""Formats that a SAT solver's proof is written in, whatever the proof of the certificate is."""
REGIONS = [sg.Hamming(2), sg.L0(1), sg.L1(2), sg.L2(2), sg.Linf(1), sg.AnyInput()]
LARGEST = 14
"""Variables up to which all assignments are tried."""
ONE = np.ones((1, 1), np.int64)


def texts(claim, name):
    """The formula and the proof that a claim becomes."""
    return ["".join(f"{line}\n" for line in lines) for lines in PROOFS[name][1](claim)]


def exported(certificate, network, path, name, **more):
    return [file.read_text() for file in export_proof(certificate, network, path, name, **more)]


def questions(seed, count):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        network = random_network(
            rng, features=int(rng.integers(1, 4)), depth=int(rng.integers(0, 3)), width=2
        )
        x = random_sample(network, rng)
        yield network, sg.Robust(x, REGIONS[rng.integers(len(REGIONS))])


def is_solvable(formula, name):
    """Whether a formula has a solution: all assignments are tried, those of CNF by another solver."""
    if name == "veripb":
        count, rows = read_opb(formula)
    else:
        count, clauses, counting = read_cnf(formula)
    if name in ("drat", "lrat"):
        with Solver("cadical195", bootstrap_with=clauses) as solver:
            return solver.solve()
    if count > LARGEST:
        return None
    values = np.array(list(product((False, True), repeat=count)))
    holds = {v: values[:, v - 1] for v in range(1, count + 1)}
    holds |= {-v: ~column for v, column in holds.items()}
    met = np.ones(len(values), bool)
    if name == "veripb":
        for row, least in rows:
            met &= sum((w * holds[x] for x, w in row.items()), np.zeros(len(values), np.int64)) >= least
    else:
        for clause in clauses:
            met &= np.any([holds[x] for x in clause], axis=0)
        for literals, least, output in counting:
            met &= (np.sum([holds[x] for x in literals], axis=0) >= least) == holds[output]
    return bool(met.any())


# -- what the files say --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHECKS)
def test_formulas_have_a_solution_iff_the_question_has_a_violation(name, tmp_path):
    outcomes = {"proved": 0, "refuted": 0}
    for network, question in questions(5, 32):
        answer = sg.verify(network, question, engine="cdcl")
        certificate = json.loads(json.dumps(answer.certificate))
        if answer.outcome == "refuted":  # the same question with a forged proof
            forged(certificate, network)
            if name in CLAUSES:
                outcomes["refuted"] += 1
                with pytest.raises(CertificateError, match="have a solution"):
                    export_proof(certificate, network, tmp_path / "q", name)
                continue
        (claim,) = claims_of(certificate, network, None, PROOFS[name][0])
        formula = "".join(f"{line}\n" for line in PROOFS[name][1](claim)[0])
        solvable = is_solvable(formula, name)
        if solvable is not None:
            outcomes[answer.outcome] += 1
            assert solvable == (answer.outcome == "refuted")
        if answer.outcome == "proved":
            sg.check(certificate, network)
            assert exported(certificate, network, tmp_path / "q", name)[0] == formula
            CHECKS[name](*exported(certificate, network, tmp_path / "q", name))
        else:
            with pytest.raises((RejectedError, CertificateError)):
                CHECKS[name](*exported(certificate, network, tmp_path / "q", name))
    assert min(outcomes.values()) > 4


def forged(certificate, network):
    """Claim that a refuted question is proved."""

    from sugenet.checker.accelerate.integers import array_problem
    from sugenet.checker.accelerate.thresholds import thresholds_of
    from sugenet.checker.form import read_certificate
    from sugenet.checker.limit import Limit
    from sugenet.checker.setting import Asked, setting_of

    form = form_of(network)
    asked = Asked(read_certificate(certificate, form).question, form, form, {}, None)
    whole = array_problem(setting_of(asked, Limit()), Limit())
    certificate |= {"answer": "proved", "witness": None}
    total = thresholds_of(whole).starts[-1]
    certificate["proof"] = {"kind": "lemma", "variables": total, "facts": [], "cuts": [], "clauses": [[]]}


def test_certificates_that_were_kept_are_exported_or_refused_by_name(tmp_path):
    kept, accepted, refused = make_golden.stored(), Counter(), set()
    for row in kept["certificates"]:
        certificate, network = row["certificate"], kept["networks"][row["network"]]
        other = kept["networks"].get(row["other"])
        kind = kind_of(certificate.get("proof"))
        for name, check in CHECKS.items():
            if kind == "lemma" or (kind in ("bound", "enumerate", "dual", "order") and name in CLAUSES):
                if kind != "lemma" and accepted[name, kind] >= 5:
                    continue
                check(*exported(certificate, network, tmp_path / "q", name, other=other))
                accepted[name, certificate["question"]["kind"]] += 1
                accepted[name, kind] += 1
                continue
            if (name, kind) in refused:
                continue
            refused.add((name, kind))
            words = "has no proof" if kind in (None, "partition") else f"kind '{kind}' cannot be exported"
            if kind in ("list", "patches"):
                words = "cannot be exported|real numbers"
            if kind == "list" and name in CLAUSES:
                continue
            with pytest.raises((CertificateError, QuestionError), match=words):
                export_proof(certificate, network, tmp_path / "q", name, other=other)
    assert {question for name, question in accepted if name == "veripb"} >= {"robust", "whatif", "agree"}
    assert sum(accepted.values()) >= 90


@pytest.mark.parametrize("seed", range(300))
def test_facts_that_need_the_budget_are_derived_by_cutting_planes(seed):
    """As many features as can pay for their cheapest change, the best of them: `reach`, and not one less."""
    rng = np.random.default_rng(seed)
    chains, prices, spent, count = [], [], 0, 0
    for _ in range(rng.integers(1, 7)):
        costs = rng.choice([0, *[1, 2, 3, 4] * 2], rng.integers(1, 5))
        costs[rng.integers(len(costs))] = 0
        chains.append(tuple(range(count, count + len(costs) - 1)))
        prices += np.diff(costs).tolist()
        spent, count = spent + int(costs[0]), count + len(costs) - 1
    budget = (tuple(prices), int(rng.integers(4, 9)) - spent)
    weights = rng.integers(-4, 5, (1, count))
    free = ThresholdSystem(tuple(chains), budget, ((weights, np.array([0])), (ONE, np.array([1]))), ((0,),))
    high = int(reach(free)[1][0])
    fact = -count - 1
    tight = ThresholdSystem(tuple(chains), budget, ((weights, np.array([high + 1])), free.layers[1]), ((0,),))
    check_rup(proof_of([[]], tight.starts[-1], facts=[fact]), tight)
    check_veripb(*texts(Lemmas(tight, (fact,), (), [()]), "veripb"))
    loose = ThresholdSystem(tuple(chains), budget, ((weights, np.array([high])), free.layers[1]), ((0,),))
    with pytest.raises(CertificateError, match="does not follow"):
        check_rup(proof_of([[]], loose.starts[-1], facts=[fact]), loose)
    try:
        files = texts(Lemmas(loose, (fact,), (), [()]), "veripb")
    except CertificateError:
        return
    check_veripb(*files)  # if some features change for free, a sum of constraints can say a little more


def test_sums_are_written_with_the_numbers_of_the_formula(tmp_path):
    network, certificate = with_sums()
    formula, proof = exported(certificate, network, tmp_path / "q", "veripb")
    assert check_veripb(formula, proof)
    assert sum(line.startswith("pol") for line in proof.splitlines()) >= 9
    with pytest.raises(QuestionError, match="Use the format 'veripb'"):
        export_proof(certificate, network, tmp_path / "r", "xlrup")
    proof = certificate["proof"] | {"cuts": [[8, 1, 1]]}
    with pytest.raises(QuestionError, match="sums and cuts"):
        export_proof(certificate | {"proof": proof}, network, tmp_path / "r", "veripb")
    for word in ("w", "99", "x", ""):
        proof = certificate["proof"] | {"clauses": [f"1 {word}", []], "sums": 1}
        with pytest.raises(CertificateError, match="is not a word"):
            export_proof(certificate | {"proof": proof}, network, tmp_path / "r", "veripb")


def test_a_solver_that_needs_more_time_or_room_says_so(three, tmp_path, monkeypatch):
    network, certificate = three
    with pytest.raises(TooLargeError, match=r"did not refute .* clauses in 0 s. Allow more"):
        export_proof(sg.verify(*hard()).certificate, hard()[0], tmp_path / "q", "drat", time_limit=0)
    monkeypatch.setattr(Cnf, "of_cascade", partial(Cnf.of_cascade, limit=100))
    with pytest.raises(TooLargeError, match="but 100 is the limit"):
        export_proof(certificate, network, tmp_path / "q", "lrat")
    assert not list(tmp_path.iterdir())


def hard():
    """A question that takes more conflicts than a SAT solver has before it looks at the clock."""
    return sg.models.digits(), sg.Robust(sg.models.samples("digits")[0][3], sg.Hamming(3))


# -- damaged proofs ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def three():
    """A network, and a certificate with a long proof."""
    rng = np.random.default_rng(4)
    layers = [DenseLayer(rng.choice([-1, 1], (7, 9)), [5] * 7)]
    network = Network.of_bits(layers, Head(rng.choice([-1, 1], (3, 7)), [0, 0, 6]))
    asked = (sg.Robust(x, sg.Hamming(2)) for x in rng.integers(0, 2, (99, 9)).tolist())
    proved = [question for question in asked if sg.verify(network, question).outcome == "proved"]
    proofs = [sg.verify(network, question, engine="cdcl").certificate["proof"] for question in proved]
    question = max(zip(proved, proofs, strict=True), key=lambda pair: len(pair[1]["clauses"]))[0]
    return network, sg.verify(network, question, engine="cdcl").certificate


@pytest.mark.parametrize("name", CHECKS)
def test_damaged_proofs_are_rejected(three, name, tmp_path):
    network, certificate = three
    formula, proof = exported(certificate, network, tmp_path / "q", name)
    assert CHECKS[name](formula, proof)
    lines, draws, rejected = proof.splitlines(), random.Random(0), 0
    tries = 10 if name == "drat" else 40  # without hints, every check is a search
    for _ in range(tries):
        k = draws.randrange(len(lines))
        words = lines[k].split()
        w = draws.randrange(len(words))
        words[w] = draws.choice([words[w].replace("x", "~x"), f"-{words[w]}", "7", "1", "0"])
        changed = [*lines[:k], *([] if draws.random() < 0.3 else [" ".join(words)]), *lines[k + 1 :]]
        try:
            CHECKS[name](formula, "".join(f"{line}\n" for line in changed))
        except (RejectedError, ValueError, IndexError, TypeError):
            rejected += 1
    assert rejected > tries // 3  # others are proofs all the same: not every line is needed
    for cut in (lines[:-1], lines[: len(lines) // 2], []):
        with pytest.raises((RejectedError, IndexError)):
            CHECKS[name](formula, "".join(f"{line}\n" for line in cut))


@pytest.mark.parametrize("name", CHECKS)
def test_a_proof_of_another_formula_is_rejected(three, name, tmp_path):
    network, certificate = three
    formula, proof = exported(certificate, network, tmp_path / "q", name)
    lines = formula.splitlines()
    goal = next(k for k, line in enumerate(lines) if (k and ">= 1" in line) or (k and " " in line))
    head = lines[0].split()
    head[-1] = str(int(head[-1]) - len(lines[goal:]))
    with pytest.raises((RejectedError, ValueError)):
        CHECKS[name]("\n".join([" ".join(head), *lines[1:goal]]) + "\n", proof)


# -- edges ---------------------------------------------------------------------------------------------------


def system(weights, least, chains, goal=1, budget=None):
    """One neuron over steps, and a goal that wants it."""
    layers = ((np.array([weights], object), np.array([least], object)), (ONE, np.array([goal])))
    return ThresholdSystem(chains, budget, layers, ((0,),))


def test_huge_weights_are_exact_in_veripb_and_refused_for_xlrup():
    huge = 1 << 200
    odd = system([huge, huge + 1], 2 * huge + 2, ((0,), (1,)))
    check_veripb(*texts(Lemmas(odd, (), (), [()]), "veripb"))
    met = system([huge, huge + 1], 2 * huge + 1, ((0,), (1,)))
    with pytest.raises(RejectedError):
        check_veripb(*texts(Lemmas(met, (), (), [()]), "veripb"))
    with pytest.raises(TooLargeError, match="Use the format 'veripb'"):
        texts(Lemmas(odd, (), (), [()]), "xlrup")
    even = system([huge, -huge], huge + 1, ((0,), (1,)))  # a common factor is taken out
    check_hinted(*texts(Lemmas(even, (), (), [()]), "xlrup"))


def test_a_goal_without_cases_and_rows_without_weights():
    none = ThresholdSystem((), None, ((np.zeros((0, 0), np.int64), np.zeros(0, np.int64)),) * 2, ())
    never = system([0], 1, ((0,),))
    always = ThresholdSystem(
        ((0,),), ((0,), 5), ((np.zeros((1, 1), int), np.array([0])), (-ONE, np.array([0]))), ((0,),)
    )
    for odd in (none, never, always):
        claim = Lemmas(odd, (), (), [()])
        check_veripb(*texts(claim, "veripb"))
        check_hinted(*texts(claim, "xlrup"))


def test_lemmas_with_the_same_literal_twice_and_tautologies(tmp_path):
    network, certificate = Network.of_bits([DenseLayer([[1, 1]], [2])], Head([[-1], [1]])), None
    certificate = json.loads(
        json.dumps(sg.verify(network, sg.Robust([0, 0], sg.Hamming(1)), engine="cdcl").certificate)
    )
    certificate["proof"]["clauses"] = [[1, -1], [-3, -3], [2, -3, 2], []]
    certificate["proof"].pop("encoding", None)
    sg.check(certificate, network)
    for name in ("veripb", "xlrup"):
        formula, proof = exported(certificate, network, tmp_path / "q", name)
        CHECKS[name](formula, proof)
    for clauses, words in (([], "empty clause"), ([[1]], "empty clause"), ([[99], []], "beyond the")):
        certificate["proof"]["clauses"] = clauses
        with pytest.raises(CertificateError, match=words):
            exported(certificate, network, tmp_path / "q", "veripb")


def test_clauses_with_an_empty_one_and_lemmas_that_are_none():
    refuted = Resolution(1, [(1,), (-1,)], [])
    empty = Resolution(0, [()], [])
    odd = Resolution(2, [(1, 2), (1, -2), (-1, 2), (-1, -2), (1, -1)], [(2, -2), (1,), 0, 1, 9, ()])
    for claim in (refuted, empty, odd):
        check_drat(*texts(claim, "drat"))
        check_hinted(*texts(claim, "lrat"))
    with pytest.raises(CertificateError, match="does not follow"):
        texts(Resolution(2, [(1, 2)], [(1,)]), "lrat")
    with pytest.raises(CertificateError, match="without a contradiction"):
        texts(Resolution(2, [(1, 2)], [(1, 2)]), "lrat")


def test_unknown_formats_and_certificates_of_others_are_refused(tmp_path):
    network = sg.models.digits()
    with pytest.raises(QuestionError, match="unknown proof format 'frat'"):
        export_proof({}, network, tmp_path / "q", "frat")
    for certificate in ({}, [], {"ratings": 1}):
        with pytest.raises(QuestionError, match="one network or two"):
            export_proof(certificate, network, tmp_path / "q", "veripb")
    assert not list(tmp_path.iterdir())


def test_boxes_of_a_query_have_files_of_their_own(tmp_path):
    network = Network(Encoder([integer(0, 3)]), [DenseLayer([[1, 1, 1]], [2])], Head([[-1], [1]]))
    low, high = Query.within([0], [0], label=0, outputs=2), Query.within([3], [3], label=1, outputs=2)
    query = Query(1, 2, [*low.cases, *high.cases])
    answer = sg.verify(network, query, engine="cdcl")
    files = export_proof(answer.certificate, network, tmp_path / "q", "veripb")
    assert [file.name for file in files] == ["q.1.opb", "q.1.pbp", "q.2.opb", "q.2.pbp"]
    for formula, proof in pairwise(file.read_text() for file in files):
        if formula.startswith("*"):
            check_veripb(formula, proof)
