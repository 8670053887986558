"""The envelope of certificates, with network and question, and base classes of certified answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sugenet.errors import CertificateError, refuse
from sugenet.nn import Domain, Network
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
    """Return a certificate about a question; its contents are the answer and the proof."""
    data = data_of(network, question)
    about = {"format": _FORMAT, "version": _VERSION, "network": network.fingerprint, "question": data}
    return Envelope(about | domain_data(network) | contents)


def composed_envelope(networks: Sequence[str], **contents: Any) -> dict[str, Any]:
    """Return a certificate about a composite of several readings, with the fingerprints of their networks."""
    return Envelope({"format": _FORMAT, "version": _VERSION, "networks": list(networks)} | contents)


def domain_data(network: Network) -> dict[str, Any]:
    """Return the inputs that can occur as JSON data, if the network restricts them."""
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
    """Return the network of an answer or a certificate, restricted to exactly the domain that it names."""
    free = network.anywhere()
    if "domain" not in data:
        return free
    domain = data["domain"]
    if isinstance(domain, Mapping) and isinstance(domain.get("laws"), list):  # Domain.of rejects all others
        texts = [law.get("text") if isinstance(law, Mapping) else None for law in domain["laws"]]
        domain = {**domain, "laws": texts}
    return free.within(Domain.of(domain, network.encoder))


class Envelope(dict[str, Any]):
    """JSON data that proves an answer; its repr is a short description, since a proof may be long."""

    def __repr__(self) -> str:
        kind, network = kind_of(self.get("proof")), self.get("network", "")[:12]
        about = f"{self['answer']}, proof: {kind or 'none'}, network {network}"
        if "networks" in self:
            about = f"{self['answer']}, {len(self['parts'])} parts, {len(self['readings'])} readings"
        return f"<certificate: {self['question']['kind']}, {about}; fields {', '.join(self)}>"


def opened(certificate: Any, network: Network, other: Network | None = None) -> Asked:
    """Return the question of a certificate. Its claims are not checked."""
    if not isinstance(certificate, Mapping) or certificate.get("format") != _FORMAT:
        raise CertificateError("this is not a sugenet certificate.")
    name, fingerprint = certificate.get("network"), network.fingerprint
    refuse(
        CertificateError,
        (certificate.get("version") != _VERSION, f"this is not a certificate of version {_VERSION}."),
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
    """Return the question of an answer, which is never about `each` sample."""
    question = question_of(data, network, other)
    if getattr(question, "sample", None) is each:
        raise CertificateError("an answer is about one sample, but its question says each.")
    return question


def kind_of(proof: Any) -> str | None:
    """Return the kind of a proof, or the kinds of the proofs of all cases; None if there is no proof."""
    if isinstance(proof, list):
        return ", ".join(dict.fromkeys(str(part["kind"]) for part in proof))
    return None if proof is None else str(proof["kind"])


Source = str | Callable[[Any], Any]
"""Source of a JSON field: an attribute or method of the answer, or a function of the answer."""


class _OutcomeTest(property):
    """Property that tests for one outcome."""


def is_outcome(word: str) -> Any:
    """Return a property that tells whether the outcome of an answer is this word."""
    return _OutcomeTest(lambda answer: answer.outcome == word, doc=f"Whether `outcome` is ``{word!r}``.")


class Answered(Plottable):
    """Base class of all answers: an outcome in one word, a question and a certificate.

    Each possible outcome of an answer has a property, such as `is_proved`.
    """

    if TYPE_CHECKING:  # a property here would become the default of fields with that name

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
    """Answer that is written to JSON and read back by a table of its fields."""

    json: ClassVar[Mapping[str, Source]]
    """JSON fields in order, except outcome, question and certificate. A field with the value `...` is left
    out.
    """

    network: Network
    question: Any

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data: the outcome, fields named like the attributes, question and
        certificate.

        If inputs are restricted, the data includes the restrictions.
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
        """Return the answer from its JSON data; values that follow from question and certificate are
        recomputed.
        """
        known = cls.known(network, question, data)
        init_fields = [one for one in fields(cls) if one.init and one.name not in ("network", "question")]  # type: ignore[arg-type]
        values = {one.name: known[one.name] for one in init_fields if one.name in known}
        rest = [one for one in init_fields if one.name not in known]
        values |= {one.name: data[one.name] for one in rest if one.default is MISSING or one.name in data}
        return cls(network=network, question=question, **values)  # type: ignore[call-arg]

    @classmethod
    def known(cls, network: Network, question: Any, data: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG003
        """Return the fields that the data does not store directly."""
        return {}

    @property
    def sample(self) -> tuple[Any, ...]:
        """The raw sample of the question."""
        return tuple(self.question.values(self.network))


def _plain_data(value: Any) -> Any:
    """Return a value of an answer as JSON data: exact numbers as text, tuples as lists, other values
    unchanged.
    """
    if isinstance(value, tuple):
        return [_plain_data(one) for one in value]
    return str(value) if isinstance(value, Fraction) else value


class Certified(Recorded):
    """Answer with a certificate, which is None if the engine gives no proof."""

    certificate: dict[str, Any] | None

    @property
    def proof_kind(self) -> str | None:
        """Kind of the proof, such as ``bound`` or ``enumerate``; None if there is no proof."""
        return None if self.certificate is None else kind_of(self.certificate["proof"])

    @property
    def is_certified(self) -> bool:
        """Whether a certificate proves the whole claim."""
        return self.certificate is not None


class Settled(Certified):
    """Answer that an engine gave."""

    engine: str
    sets: int | None = None
    """Sets of changes that the engine enumerated."""

    @property
    def settled_by(self) -> str:
        """Description of the method that settled the question."""
        if self.engine == "bounds" and self.proof_kind == "order":
            return "the signs of weights along all paths"
        return engine_text(self.engine, self.sets)

    @property
    def _uncertified(self) -> str:
        return f"not certified: {self.engine} gives no proof"


Changes = dict[str, tuple[Any, Any]]


def changes_between(network: Network, before: Sequence[Any], after: Sequence[Any]) -> Changes:
    """Return the differences between two raw samples, by feature."""
    rows = zip(network.encoder.names, before, after, strict=True)
    return {name: (a, b) for name, a, b in rows if a != b}


def changes_data(changes: Changes) -> dict[str, Any]:
    """Return the changes as JSON data; a fraction that equals a float, such as 5/2, becomes that float."""

    def number(value: Any) -> Any:
        is_float = isinstance(value, Fraction) and abs(value) < 1 << 53 and float(value) == value
        return float(value) if is_float else plain(value)

    return {name: [number(a), number(b)] for name, (a, b) in changes.items()}


def conditions_of(network: Network, changes: Changes) -> dict[str, str]:
    """Return the condition on each changed value: the range of raw values with the same code."""
    encoder = network.encoder
    indices = {name: index for index, name in enumerate(encoder.names) if name in changes}
    codings = {name: encoder.codings[index] for name, index in indices.items()}
    return {
        name: codings[name].describe(name, codings[name].state(after)) for name, (_, after) in changes.items()
    }
