"""The envelope of every certificate: of which network, about which question; and what answers with a
certificate have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sugenet.bnn import Domain, Network
from sugenet.errors import CertificateError, refuse
from sugenet.plottable import Plottable
from sugenet.problem.boxes import plain
from sugenet.reason.phrases import engine_text
from sugenet.reason.questions import Asked, data_of, each, question_of

__all__ = [
    "Answered",
    "Certified",
    "Envelope",
    "Recorded",
    "Settled",
    "Source",
    "answered",
    "asked_of",
    "changes_between",
    "changes_data",
    "composed_envelope",
    "conditions_of",
    "domain_data",
    "envelope",
    "is_outcome",
    "kind_of",
    "opened",
]

_FORMAT, _VERSION = "sugenet certificate", 3


def envelope(network: Network, question: Asked, **contents: Any) -> dict[str, Any]:
    """A certificate about a question; its contents are the answer, and what shows it."""
    data = data_of(network, question)
    about = {"format": _FORMAT, "version": _VERSION, "network": network.fingerprint, "question": data}
    return Envelope(about | domain_data(network) | contents)


def composed_envelope(networks: Sequence[str], **contents: Any) -> dict[str, Any]:
    """A certificate about a whole of several readings, by the fingerprints of the networks that read them."""
    return Envelope({"format": _FORMAT, "version": _VERSION, "networks": list(networks)} | contents)


def domain_data(network: Network) -> dict[str, Any]:
    """Which inputs can occur, where the network knows that, as JSON."""
    if not network.domain:
        return {}
    laws = [
        {
            "text": law.text,
            "clauses": [
                sorted(map(list, clause), key=lambda one: (one[0], str(one[1]))) for clause in law.clauses
            ],
        }
        for law in network.domain.laws
    ]
    return {"domain": network.domain.data() | {"laws": laws}}


def asked_of(data: Mapping[str, Any], network: Network) -> Network:
    """The network that an answer or a certificate is about: with the domain that it names, and no other."""
    free = network.anywhere()
    if "domain" not in data:
        return free
    domain = data["domain"]
    if isinstance(domain, Mapping) and isinstance(domain.get("laws"), list):  # Domain.of refuses all others
        texts = [law.get("text") if isinstance(law, Mapping) else None for law in domain["laws"]]
        domain = {**domain, "laws": texts}
    return free.within(Domain.of(domain, network.encoder))


class Envelope(dict[str, Any]):
    """JSON data that shows an answer; at a prompt it says what it is about, since a proof may be long."""

    def __repr__(self) -> str:
        kind, network = kind_of(self.get("proof")), self.get("network", "")[:12]
        about = f"{self['answer']}, proof: {kind or 'none'}, network {network}"
        if "networks" in self:
            about = f"{self['answer']}, {len(self['parts'])} parts, {len(self['readings'])} readings"
        return f"<certificate: {self['question']['kind']}, {about}; fields {', '.join(self)}>"


def opened(certificate: Any, network: Network, other: Network | None = None) -> Asked:
    """The question that a certificate is about. What it says of it is not checked."""
    if not isinstance(certificate, Mapping) or certificate.get("format") != _FORMAT:
        raise CertificateError("this is no sugenet certificate.")
    name, fingerprint = certificate.get("network"), network.fingerprint
    refuse(
        CertificateError,
        (certificate.get("version") != _VERSION, f"this is no certificate of version {_VERSION}."),
        (
            name != fingerprint,
            f"the answer is about the network {str(name)[:12]}, not about {fingerprint[:12]}.",
        ),
        (
            certificate.get("domain") != domain_data(network).get("domain"),
            "the certificate is about other inputs that can occur than its answer.",
        ),
    )
    proof = certificate["proof"]
    parts = proof if isinstance(proof, list) else [] if proof is None else [proof]
    if not all(isinstance(part, Mapping) and isinstance(part.get("kind"), str) for part in parts):
        raise CertificateError("the proof of the certificate is damaged: it is of no kind.")
    return answered(certificate["question"], network, other)


def answered(data: Any, network: Network, other: Network | None = None) -> Asked:
    """The question that an answer says it answers: never one about each sample."""
    question = question_of(data, network, other)
    if getattr(question, "sample", None) is each:
        raise CertificateError("an answer is about one sample, but its question says each.")
    return question


def kind_of(proof: Any) -> str | None:
    """Of which kind a proof is; of which kinds the proofs of all cases are; None: there is none."""
    if isinstance(proof, list):
        return ", ".join(dict.fromkeys(str(part["kind"]) for part in proof))
    return None if proof is None else str(proof["kind"])


Source = str | Callable[[Any], Any]
"""Where a field of JSON comes from: an attribute or method of the answer, or a function of the answer."""


class _OutcomeTest(property):
    """A property that tests for one outcome."""


def is_outcome(word: str) -> Any:
    """A property of an answer: whether its outcome is this word."""
    return _OutcomeTest(lambda answer: answer.outcome == word, doc=f"Whether `outcome` is ``{word!r}``.")


class Answered(Plottable):
    """What all answers have in common: an outcome in one word, a question and a certificate.

    For each outcome that an answer may have there is a property, such as `is_proved`.
    """

    if TYPE_CHECKING:  # a property here would be the default of fields of that name

        @property
        def outcome(self) -> str:
            """The result in one word, such as ``"proved"``."""

        @property
        def certificate(self) -> dict[str, Any] | None:
            """JSON data that `check` verifies; None if there is none."""

    def __bool__(self) -> bool:
        tests = " or ".join(f"answer.{name}" for name in self._tests())
        raise TypeError(
            f"The truth value of an answer is ambiguous. Test {tests}; or compare answer.outcome, which is "
            f"{self.outcome!r} here."
        )

    @classmethod
    def _tests(cls) -> list[str]:
        """Names of the properties that test for an outcome."""
        return [
            name
            for kind in cls.__mro__
            for name, value in vars(kind).items()
            if isinstance(value, _OutcomeTest)
        ]


class Recorded(Answered):
    """An answer that goes to JSON and back by a table of its fields."""

    json: ClassVar[Mapping[str, Source]]
    """The fields in JSON, in their order, besides outcome, question and certificate. One whose value is `...`
    is left out.
    """

    network: Network
    question: Any

    def data(self) -> dict[str, Any]:
        """Everything as JSON data: the outcome, fields named like the attributes, question and certificate.

        With the question go the inputs that can occur, if these are limited.
        """
        contents: dict[str, Any] = {"outcome": self.outcome}
        for name, source in self.json.items():
            value = getattr(self, source) if isinstance(source, str) else source(self)
            value = value() if callable(value) else value
            if value is not ...:
                contents[name] = _plain_data(value)
        return contents | self._question_data() | {"certificate": self.certificate}

    def _question_data(self) -> dict[str, Any]:
        return {"question": data_of(self.network, self.question), **domain_data(self.network)}

    @classmethod
    def of(cls, network: Network, question: Any, data: Mapping[str, Any]) -> Self:
        """The answer from its JSON data; what follows from the question and the certificate is found anew."""
        known = cls.known(network, question, data)
        init_fields = [one for one in fields(cls) if one.init and one.name not in ("network", "question")]  # type: ignore[arg-type]
        values = {one.name: known[one.name] for one in init_fields if one.name in known}
        rest = [one for one in init_fields if one.name not in known]
        values |= {one.name: data[one.name] for one in rest if one.default is MISSING or one.name in data}
        return cls(network=network, question=question, **values)  # type: ignore[call-arg]

    @classmethod
    def known(cls, network: Network, question: Any, data: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG003
        """Fields that are not in the data as they are."""
        return {}

    @property
    def sample(self) -> tuple[Any, ...]:
        """The raw sample that was asked about."""
        return tuple(self.question.values(self.network))


def _plain_data(value: Any) -> Any:
    """A value of an answer as JSON: exact numbers as text, tuples as lists; all others, such as a proof, are
    as JSON has them.
    """
    if isinstance(value, tuple):
        return [_plain_data(one) for one in value]
    return str(value) if isinstance(value, Fraction) else value


class Certified(Recorded):
    """An answer with a certificate; None: the engine gives no proof."""

    certificate: dict[str, Any] | None

    @property
    def proof_kind(self) -> str | None:
        """Of which kind the proof is, such as ``bound`` or ``enumerate``; None: there is none."""
        return None if self.certificate is None else kind_of(self.certificate["proof"])

    @property
    def is_certified(self) -> bool:
        """Whether a certificate shows all that is claimed."""
        return self.certificate is not None


class Settled(Certified):
    """An answer that an engine gave."""

    engine: str
    sets: int | None = None
    """Sets of changes that the engine enumerated."""

    @property
    def settled_by(self) -> str:
        """What settled the question, in words."""
        return engine_text(self.engine, self.sets)

    @property
    def _uncertified(self) -> str:
        return f"not certified: {self.engine} gives no proof"


Changes = dict[str, tuple[Any, Any]]


def changes_between(network: Network, before: Sequence[Any], after: Sequence[Any]) -> Changes:
    """How two raw samples differ, by feature."""
    rows = zip(network.encoder.names, before, after, strict=True)
    return {name: (a, b) for name, a, b in rows if a != b}


def changes_data(changes: Changes) -> dict[str, Any]:
    """The same as JSON; a fraction that a float is, such as 5/2, as that number."""

    def number(value: Any) -> Any:
        is_float = isinstance(value, Fraction) and abs(value) < 1 << 53 and float(value) == value
        return float(value) if is_float else plain(value)

    return {name: [number(a), number(b)] for name, (a, b) in changes.items()}


def conditions_of(network: Network, changes: Changes) -> dict[str, str]:
    """What each changed value must fulfil to be as good: the range of raw values with the same code."""
    encoder = network.encoder
    indices = {name: index for index, name in enumerate(encoder.names) if name in changes}
    codings = {name: encoder.codings[index] for name, index in indices.items()}
    return {
        name: codings[name].describe(name, codings[name].state(after)) for name, (_, after) in changes.items()
    }
