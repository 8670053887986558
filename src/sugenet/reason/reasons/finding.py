"""Search for sets of raw features that suffice for the class, minimal or minimum, with proof (docs/theory.md
8.2).
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal

from sugenet.engines.walk.anneal import search
from sugenet.engines.walk.listing import needed_changes
from sugenet.engines.walk.singles import violating_singles
from sugenet.errors import QuestionError, TooLargeError, refuse
from sugenet.nn import Network, network_of
from sugenet.problem import L0, AnyInput, Clock, FeatureMove, Problem, Region, Ties, plain
from sugenet.reason.counterfactuals import Counterfactual
from sugenet.reason.counterfactuals.searching import nearest
from sugenet.reason.envelope import domain_data, envelope
from sugenet.reason.questions import Suffices, WhatIf, Why, described_within
from sugenet.reason.reasons.answers import Reason, Reasons
from sugenet.reason.reasons.hitting import HittingSets
from sugenet.reason.reasons.oracle import Contrast, Features, Oracle
from sugenet.reason.reasons.shares import estimated, probable
from sugenet.reprs import quoted

__all__ = ["each_reason", "why"]

Minimal = Literal["subset", "size"]

_NEAREST = 5.0
"""Seconds for finding the region of a reason, if none is given."""
_EXAMPLES = 80
"""Number of counterexamples that order features in networks with several hidden layers."""
_EXAMPLES_SHARE = 0.25
"""Share of the time for them; large networks need the rest to free features."""
_ASK_SHARE = 0.1
"""Share of the remaining time for one feature; if it stays open, it is asked about again at the end."""
_AFTER_INTERRUPT = 1.0
"""Seconds for the proof of a reason after Ctrl-C."""


def why(
    network: Network,
    x: Any,
    region: Region | None = None,
    *,
    minimal: Minimal | None = "subset",
    n: int | Literal["all"] = 1,
    precision: Any = None,
    target: Any = None,
    ties: Ties = "lowest",
    within: Any = None,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    notify: Callable[[str], None] | None = None,
    each: Callable[[Reason], None] | None = None,
    resume: Reasons | None = None,
) -> Reasons:
    """Find sets of features that suffice for the class of a sample.

    While these features stay as they are, the class does, whatever the others do inside the region.

    Parameters
    ----------
    network : Network, classifier or pipeline
        The network, a fitted `BNNClassifier`, or a fitted pipeline of scikit-learn that ends with one.
    x : array, list or mapping
        One raw sample: values in the order of the features, or by name.
    region : region or str, default: None
        Region in which the other features may change. None: the smallest `L0` region in which the class is
        known to change,
        which the answer says; or any input, if nothing is known to change the class.
    minimal : {"subset", "size"} or None, default: "subset"
        ``"subset"``: no feature of a reason can be left out. ``"size"``: no smaller reason exists. None: the
        first reason that is found.
    n : int or "all", default: 1
        How many reasons to list, shortest first.
    precision : float, Fraction or str, default: None
        Share of the inputs in the region, such as 0.95, that must keep the class while the features of the
        reason stay. Inputs are counted exactly, as by `count`; if there are too many, `Reasons.estimated` has
        an estimate. None: all inputs.
    target : str or int, default: None
        Explain why the class is not this one, instead of why it is what it is.
    ties : {"lowest", "against"}, default: "lowest"
        ``"lowest"``: a tie goes to the lowest class, as in `predict`. ``"against"``: a tie counts as a
        change.
    within : str, list of str or Domain, default: None
        Ask only about inputs that can occur: ``"data"`` for the range of the training data, ``"any"`` for
        any values, laws as text, or a `Domain`, as in `Network.within`. None: the domain of the network.
    time_limit : float, default: None
        Seconds after which the best answer so far is given. None: no limit.
    threads : int, default: None
        How many threads may work at once. None: one per core.
    seed : int, default: 0
        Seed of random choices. The answer is the same for the same seed, unless time runs out.
    notify : callable, default: None
        Called with a sentence about the progress.
    each : callable, default: None
        Called with each reason as soon as it is proved.
    resume : Reasons, default: None
        An unfinished answer to the same question, whose reasons and contrastive sets are not searched again.

    Returns
    -------
    Reasons
        Its `outcome` is ``"found"`` or ``"undecided"``. The first reason can be read from it directly:
        `conditions`, `features`, `certificate`.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network.
    EncodingError
        If the sample has a value that its feature cannot have.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> print(why(net, [+1, +1, +1, -1], AnyInput(), minimal="size"))
    on, for any input, because x1 = +1 and x2 = +1 (2 of 4 features: proved minimum)
    >>> why(net, [+1, +1, -1, -1]).region
    'up to 2 features changed'

    >>> why(net, [+1, +1, +1, -1], AnyInput(), precision=0.8).reasons[0].conditions()
    ['x2 = +1']

    See Also
    --------
    whatif : the cheapest change of the class.
    trace_reasons : reasons neuron by neuron.
    """
    if minimal not in ("subset", "size", None):
        raise QuestionError(f"minimal={quoted(minimal)} must be 'subset', 'size' or None.")
    if n != "all" and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
        raise QuestionError(f"n={quoted(n)} must be a number of reasons, at least 1, or 'all'.")
    network, clock = network_of(network).within(within), Clock(time_limit, threads, seed, notify)
    if region is None and resume is not None:
        region = resume.question.region
    chosen = _nearest_region(network, x, target, ties, clock) if region is None else region
    question = Why(x, chosen, target, ties, precision)
    refuse(
        QuestionError,
        (
            resume is not None and precision is not None,
            "resume= continues a list of reasons, and precision= finds one. Leave one of them out.",
        ),
        (
            question.precision is not None and n != 1,
            f"n={quoted(n)} lists reasons for all inputs, and precision= finds one. Leave one of them out.",
        ),
    )
    prop, near = question.label_goal(network), question.near(network)
    oracle = Oracle(Problem(near, prop.goal), clock)
    if question.precision is None:
        search = _Search(network, oracle, question, minimal, n, each)
        if resume is not None:
            search.resume(resume)
        answer = search.run()
    else:
        answer = _probable(network, oracle, question, minimal, each)
    return replace(answer, is_nearest=region is None and not isinstance(chosen, AnyInput))


def _nearest_region(network: Network, x: Any, target: Any, ties: Ties, clock: Clock) -> Region:
    """Return the smallest `L0` region in which the class is known to change; any input if none is known.

    In a smaller region no feature matters, and in a larger one reasons are longer. Part of the time limit is
    used for this.
    """
    left = clock.left()
    seconds = _NEAREST if left is None else min(_NEAREST, left / 4)
    about: dict[str, Any] = {"threads": clock.threads, "seed": clock.seed, "notify": clock.notify}
    answer = nearest(network, WhatIf(x, L0, target, ties=ties), time_limit=seconds, **about)
    if not isinstance(answer, Counterfactual):
        return AnyInput()
    if answer.interrupted:
        raise KeyboardInterrupt
    return L0(int(answer.cost))


def each_reason(
    network: Network,
    x: Any,
    region: Region | None = None,
    *,
    target: Any = None,
    ties: Ties = "lowest",
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    notify: Callable[[str], None] | None = None,
) -> Iterator[Reason]:
    """Yield minimal reasons, shortest first, each as soon as it is proved.

    Parameters
    ----------
    network : Network
        The network.
    x : array, list or mapping
        One raw sample: values in the order of the features, or by name.
    region : region or str, default: None
        As in `why`.
    target : str or int, default: None
        Class by name or index. None: any other class.
    ties : {"lowest", "against"}, default: "lowest"
        ``"lowest"``: a tie goes to the lowest class, as in `predict`. ``"against"``: a tie counts as a
        change.
    time_limit : float, default: None
        Seconds after which the best answer so far is given. None: no limit.
    threads : int, default: None
        How many threads may work at once. None: one per core.
    seed : int, default: 0
        Seed of random choices. The answer is the same for the same seed, unless time runs out.
    notify : callable, default: None
        Called with a sentence about the progress.

    Returns
    -------
    iterator of Reason
        All minimal reasons, as far as the time allows.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network.
    EncodingError
        If the sample has a value that its feature cannot have.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> for reason in each_reason(net, [+1, +1, -1, -1], AnyInput()):
    ...     print(reason)
    x1 = +1 and x2 = +1
    x1 = +1 and x3 = -1
    x2 = +1 and x3 = -1

    See Also
    --------
    why : the same in one answer.
    """
    clock = Clock(time_limit, threads, seed, notify)
    chosen = _nearest_region(network, x, target, ties, clock) if region is None else region
    question = Why(x, chosen, target, ties)
    prop, near = question.label_goal(network), question.near(network)
    yield from _Search(network, Oracle(Problem(near, prop.goal), clock), question, "size", "all").each()


def _probable(
    network: Network,
    oracle: Oracle,
    question: Why,
    minimal: Minimal | None,
    tell: Callable[[Reason], None] | None,
) -> Reasons:
    """Answer a question with a precision: find a reason for all inputs, then drop features while the share is
    reached.
    """
    clock, near = oracle.clock, oracle.problem.near
    left = clock.left()
    oracle.clock = clock if left is None else clock.within(left / 2)
    whole = replace(question, precision=None)
    first = _Search(network, oracle, whole, None if minimal is None else "subset", 1).run()
    start = first.reasons[0] if first.reasons and first.reasons[0].is_found else None
    features = frozenset(near.places) if start is None else frozenset(start.features)
    dropped = probable(network, question, near, features, minimal, clock, is_stopped=first.interrupted)
    guess = None
    if minimal is not None and dropped.status in ("sufficient", "unknown") and not dropped.is_stopped:
        try:
            guess = estimated(network, question, dropped.features, clock)
        except KeyboardInterrupt:
            dropped.is_stopped = True
    if dropped.proof is None and start is not None:  # it suffices for all inputs, so for a share of them, too
        status, contents = "sufficient", {"proof": start.certificate["proof"]}
    else:
        status, contents = dropped.status, {"proof": dropped.proof}
    contents |= {"witness": [] if status == "minimal" else None}
    if status == "minimum":
        contents["contrasts"] = []
    fixed = tuple(sorted(dropped.features))
    claim = Suffices(question.sample, question.region, question.target, "lowest", fixed, question.precision)
    reason = Reason(network, claim, status, envelope(network, claim, answer=status, **contents))
    if tell is not None:
        tell(reason)
    return replace(
        first,
        question=question,
        reasons=(reason,),
        contrasts=(),
        all_reasons=False,
        all_contrasts=False,
        lower=len(fixed) if status == "minimum" else 0,
        order="features are dropped first without which the largest share of inputs keeps the class",
        seconds=clock.seconds,
        interrupted=dropped.is_stopped,
        estimated=guess,
    )


class _Search:
    """State of the search for one question."""

    def __init__(
        self,
        network: Network,
        oracle: Oracle,
        question: Why,
        minimal: Minimal | None,
        n: int | Literal["all"],
        tell: Callable[[Reason], None] | None = None,
    ) -> None:
        self.network, self.oracle, self.question = network, oracle, question
        self.minimal, self.n, self.tell = minimal, n, tell
        self.reasons: list[Reason] = []
        self.complete = False
        """Whether all minimal reasons are listed."""
        self.all_contrasts = False
        self.exhausted = False
        """Whether no further set can be a minimal reason."""
        self.lower = 0
        """Lower bound on the size of a reason."""
        self.order = (
            "features are freed from the least to the most important: "
            "by what they bring to neurons near their threshold"
        )

    def resume(self, answer: Reasons) -> None:
        """Take over the reasons and contrastive sets of an earlier answer to the same question."""
        problem, network = self.oracle.problem, self.network
        if answer.network.fingerprint != network.fingerprint or (
            answer.question.data(answer.network) != self.question.data(network)
            or domain_data(answer.network) != domain_data(network)
        ):
            raise QuestionError("the answer to resume has another question or network.")
        for contrast in answer.contrasts:
            moves = [problem.near.move_to(f, value) for f, value in contrast.values.items()]
            known = tuple(move for move in moves if move is not None)
            if len(known) < len(moves) or not problem.replays(known):
                raise QuestionError(
                    "the answer to resume has a contrastive set that does not change the class."
                )
            self.oracle.contrasts.append(Contrast(contrast.features, known))
        self.reasons = [one for one in answer.reasons if one.status in ("minimal", "minimum")]
        self.oracle.sufficient += [frozenset(one.features) for one in self.reasons]
        self.lower = answer.lower

    def run(self) -> Reasons:
        """Find reasons, then collect the facts about every feature."""
        oracle, clock, interrupted = self.oracle, self.oracle.clock, False
        try:
            self._find()
        except KeyboardInterrupt:  # features known to suffice are returned for every setting
            interrupted = True
            clock.tell("interrupted")
            oracle.clock = clock.within(_AFTER_INTERRUPT)
            if not self.reasons and oracle.sufficient:
                self._found(self._reason(min(oracle.sufficient, key=len), None))
        return Reasons(
            question=self.question,
            network=self.network,
            region=described_within(self.network, self.question.described_region(self.network)),
            reasons=tuple(sorted(self.reasons, key=lambda one: len(one.features))),
            contrasts=tuple(sorted(oracle.contrasts, key=lambda c: (len(c.features), sorted(c.features)))),
            all_reasons=self.complete,
            all_contrasts=self.all_contrasts,
            lower=self.lower,
            movable=oracle.features,
            order=self.order,
            seconds=clock.seconds,
            interrupted=interrupted,
        )

    def _find(self) -> None:
        self._prepare()
        if self.n != "all" and len(self.reasons) >= self.n:  # of an answer that is resumed
            return
        if self.n == 1 and self.minimal != "size" and not self.all_contrasts:
            features = self._one()
            self._found(self._reason(features, self._needs(features)))
            return
        for _ in self.each(prepared=True):
            if self.n != "all" and len(self.reasons) >= self.n:
                return
        self.complete = self.exhausted

    def _found(self, reason: Reason) -> None:
        self.reasons.append(reason)
        if self.tell is not None:
            self.tell(reason)

    def _prepare(self) -> None:
        """Check that there is something to explain, and find the contrastive sets that are found quickly."""
        if self.oracle.problem.replays(()):
            raise QuestionError(
                "the sample itself is a tie at the top, so with ties='against' there is no answer to "
                "give reasons for."
            )
        self._singles()
        self._list_contrasts()

    def each(self, *, prepared: bool = False) -> Iterator[Reason]:
        """Yield reasons, shortest first."""
        if not prepared:
            self._prepare()
        for features, minimum in self._shortest_first():
            self._found(self._reason(features, self._needs(features), minimum=minimum))
            yield self.reasons[-1]

    # -- contrastive sets ------------------------------------------------------------------------------------

    def _singles(self) -> None:
        """Find features that change the class on their own: they are in every reason."""
        near = self.oracle.problem.near
        with suppress(TooLargeError):
            for move in violating_singles(self.oracle.problem, self.oracle.clock):
                if near.admits([move]) and not any(move.feature in c.features for c in self.oracle.contrasts):
                    self.oracle.contrasts.append(Contrast(frozenset({move.feature}), (move,)))

    def _list_contrasts(self) -> None:
        """Find all contrastive sets of a small region."""
        near = self.oracle.problem.near
        budget = near.budget if near.budget is not None else sum(near.columns.weights.tolist())
        listed = needed_changes(self.oracle.problem, budget, self.oracle.clock)
        if listed is None:
            return
        contrasts: dict[Features, tuple[FeatureMove, ...]] = {}
        for moves in sorted(listed, key=len):
            features = frozenset(move.feature for move in moves)
            if features not in contrasts and not any(
                smaller <= features for smaller in contrasts if len(smaller) < len(features)
            ):
                contrasts[features] = moves
        self.oracle.contrasts = [Contrast(features, moves) for features, moves in contrasts.items()]
        self.all_contrasts = True

    # -- reasons ---------------------------------------------------------------------------------------------

    def _order(self) -> list[int]:
        """Return features from least to most important: by their effect on first-layer neurons near the
        threshold.
        """
        near = self.oracle.problem.near
        try:
            weight = self.oracle.problem.importance()
        except TooLargeError:
            weight = dict.fromkeys(near.places, 0.0)
        return sorted(weight, key=lambda feature: (weight[feature], feature))

    def _one(self) -> Features:
        """Find one reason: free as many features as bounds allow at once, then one after another."""
        oracle = self.oracle
        deep = len(oracle.problem.near.network.layers) > 2
        order = self._often_changed() if deep else self._order()
        low, high = 0, len(order)  # freeing the first `low` features is allowed by bounds
        while low < high and not oracle.clock.up():
            middle = (low + high + 1) // 2
            if oracle.is_bounded(oracle.freed(order[middle:])):
                low = middle
            else:
                high = middle - 1
        enough = frozenset(order[low:])
        oracle.sufficient.append(enough)
        rest, at, step, clock = order[low:], 0, 1, oracle.clock
        while at < len(rest) and self.minimal is not None and not clock.up():
            chunk = enough.intersection(rest[at : at + step])
            if step > 1:  # bounds freed the last ones, so they may free several at once
                if oracle.known(enough - chunk) is not False and oracle.frees(enough, chunk):
                    enough, at, step = enough - chunk, at + step, 2 * step
                    clock.tell(f"{len(enough)} features suffice")
                else:
                    step //= 2
                continue
            at += 1
            if not chunk or oracle.known(enough - chunk) is False:
                continue
            if deep and oracle.frees(enough, chunk):
                enough, step = enough - chunk, 2
                clock.tell(f"{len(enough)} features suffice")
                continue
            is_first = at <= len(order) - low
            oracle.clock = clock.share(_ASK_SHARE) if is_first else clock
            answer = oracle.ask(enough - chunk, bounds=not deep)
            oracle.clock = clock
            if answer:
                enough = oracle.enough(enough - chunk)
                clock.tell(f"{len(enough)} features suffice")
            elif answer is None and is_first:
                rest += chunk  # again at the end, with all the time that is left
            elif deep:
                oracle.exchange(enough)
        return enough

    def _often_changed(self) -> list[int]:
        """Return features by how many counterexamples change them, most frequent first.

        With several hidden layers, proofs are by exhaustion. A few free features that fail soon are then
        better than many that hold for long.
        """
        oracle, clock = self.oracle, self.oracle.clock.share(_EXAMPLES_SHARE)
        for turn in range(_EXAMPLES):
            moves = search(oracle.problem, clock, turn=turn, light=False)
            if moves is None or clock.up():
                break
            oracle.learn(moves)
        often = Counter(feature for contrast in oracle.contrasts for feature in contrast.features)
        self.order = "features are freed first that most of the counterexamples change"
        return sorted(oracle.features, key=lambda feature: (-often[feature], feature))

    def _needs(self, reason: Features) -> dict[int, tuple[FeatureMove, ...]] | None:
        """Return for each feature of a reason a counterexample that changes no other feature of the reason.

        None if one is not known.
        """
        needs = {}
        for feature in sorted(reason):
            contrast = next((c for c in self.oracle.contrasts if c.features & reason == {feature}), None)
            if contrast is None and self.minimal is not None and self.oracle.ask(reason - {feature}) is False:
                contrast = next(
                    (c for c in self.oracle.contrasts if not c.features & (reason - {feature})), None
                )
            if contrast is None:
                return None
            needs[feature] = contrast.moves
        return needs

    def _shortest_first(self) -> Iterator[tuple[Features, bool]]:
        """Yield reasons by increasing size.

        Each candidate is a smallest set that meets all contrastive sets. It is tried and refuted by a new
        contrastive set until it suffices.
        """
        oracle = self.oracle
        spare = self._in_reserve()
        sets = HittingSets(c.features for c in oracle.contrasts)
        for reason in self.reasons:  # of an answer that is resumed
            sets.block(reason.features)
        while not oracle.clock.up():
            candidate = sets.smallest()
            if candidate is None:
                self.exhausted = True
                return
            if not self.reasons:
                self.lower = max(self.lower, len(candidate))
            enough = True if self.all_contrasts else oracle.ask(candidate)
            if enough:
                yield candidate, not self.reasons or len(candidate) == self.lower
                sets.block(candidate)
                continue
            if enough is None:
                break
            fresh = [c for c in oracle.contrasts if not c.features & candidate]
            for contrast in fresh:
                sets.hit(contrast.features)
            self._more_contrasts(candidate, sets)
            oracle.clock.tell(f"every reason has at least {self.lower} features")
        if not self.reasons:  # none proved to be the smallest: one that is minimal, or at least sufficient
            features = self._one() if spare is None else oracle.enough(spare)
            yield features, False

    def _in_reserve(self) -> Features | None:
        """Find a reserve under a time limit, in half of the time.

        It is returned if no reason is proved to be the smallest in time.
        """
        oracle, clock = self.oracle, self.oracle.clock
        left = clock.left()
        if left is None or self.all_contrasts:
            return None
        oracle.clock = clock.within(left / 2)
        try:
            return self._one()
        finally:
            oracle.clock = clock

    def _more_contrasts(self, candidate: Features, sets: HittingSets) -> None:
        """Find further contrastive sets disjoint from the last ones, while this is easy."""
        oracle, fixed = self.oracle, set(candidate)
        for _ in range(20):
            fixed |= oracle.contrasts[-1].features
            if oracle.clock.up() or oracle.ask(frozenset(fixed)) is not False:
                return
            sets.hit(oracle.contrasts[-1].features)

    def _reason(
        self, features: Features, needs: dict[int, tuple[FeatureMove, ...]] | None, *, minimum: bool = False
    ) -> Reason:
        """Return a reason with its proof, and the evidence that no feature can be left out."""
        oracle = self.oracle
        near = oracle.problem.near
        proof = oracle.proof(features)
        claim = "minimum" if minimum else "sufficient" if needs is None else "minimal"
        status = "unknown" if proof is None else claim
        witness = None
        if needs is not None:
            witness = [[f, [plain(value) for value in near.moved(moves)]] for f, moves in needs.items()]
        fixed, why = tuple(sorted(features)), self.question
        question = Suffices(why.sample, why.region, why.target, why.ties, fixed)
        contents: dict[str, Any] = {"answer": status, "witness": witness, "proof": proof}
        if status == "minimum":
            contents["contrasts"] = [[[m.feature, plain(m.value)] for m in c.moves] for c in oracle.contrasts]
        return Reason(self.network, question, status, envelope(self.network, question, **contents))
