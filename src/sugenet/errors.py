"""All errors that sugenet raises on purpose, in one tree.

::

    SugenetError
    ├── CapacityError            a set function, or a question about it, is invalid
    │   ├── ScaleError           a value that is not on the scale
    │   ├── CriteriaError        an unknown, doubled or missing criterion
    │   ├── NotMonotoneError     a larger set worth less than a smaller one
    │   └── TooLargeError        right, but more work than fits: says what to use instead
    ├── RuleSyntaxError          a rule or a base that cannot be read
    ├── NetworkError             a neuron, layer, head or network that does not fit together
    │   └── TieError             a sum of exactly zero can occur, and the declared sign(0) is not bipolar
    ├── EncodingError            a raw sample, or a bit pattern, that the encoder cannot take
    ├── FileError                a file that cannot be read or written
    │   └── UncomparableError    operations of a file that its interpreter cannot evaluate
    ├── CertificateError         a certificate that is damaged, for another network, or untrue
    │   └── CheckLimitError      one not checked within the limits of time and memory: it may be right
    ├── SweepError               samples of a sweep without an answer, or workers that ended
    ├── QuestionError            a question that makes no sense for this network
    ├── UsageError               words of a command line that do not fit together
    └── SoundnessError           two ways to the same answer disagree: a bug in sugenet, please report it

All of them are `ValueError`s too, since each names a wrong value and the fix.
"""

from sugenet.visible import visible

__all__ = [
    "CapacityError",
    "CertificateError",
    "CheckLimitError",
    "CriteriaError",
    "EncodingError",
    "FileError",
    "NetworkError",
    "NotMonotoneError",
    "QuestionError",
    "RuleSyntaxError",
    "ScaleError",
    "SoundnessError",
    "SugenetError",
    "SweepError",
    "TieError",
    "TooLargeError",
    "how_to_install",
    "refuse",
]


def how_to_install(extra: str) -> str:
    """Return the command that installs a missing extra; there is no release, so it uses a clone.

    >>> how_to_install("web")
    'from a clone of sugenet: pip install ".[web]"'
    """
    return f'from a clone of sugenet: pip install ".[{extra}]"'


class SugenetError(ValueError):
    """Base class of all errors that sugenet raises on purpose; the text is safe to show, whatever it
    quotes.
    """

    def __str__(self) -> str:
        return visible(super().__str__(), keep="\n")


class CapacityError(SugenetError):
    """A set function, or a question about it, is invalid."""


class ScaleError(CapacityError):
    """A value is not on the scale."""


class CriteriaError(CapacityError):
    """A criterion is unknown, doubled or missing."""


class NotMonotoneError(CapacityError):
    """A larger set is worth less than a smaller one."""


class TooLargeError(CapacityError):
    """The result exists but requires too much work; the message suggests an alternative."""


class RuleSyntaxError(SugenetError):
    """A rule or a possibilistic base cannot be read."""


class NetworkError(SugenetError):
    """A neuron, layer, head or network does not fit together."""


class TieError(NetworkError):
    """A sum of exactly zero can occur, and the declared sign(0) has no bipolar meaning."""


class EncodingError(SugenetError):
    """The encoder cannot take a raw sample or a bit pattern."""


class FileError(SugenetError):
    """A file cannot be read or written."""


class CertificateError(SugenetError):
    """A certificate is damaged, for another network, or untrue."""


class CheckLimitError(CertificateError):
    """A certificate was not checked within the limits of time and memory; it may still be right."""


class QuestionError(SugenetError):
    """A question makes no sense for this network."""


class SweepError(SugenetError):
    """Samples of a sweep have no answer, or its workers ended; existing answers are kept."""


class SoundnessError(SugenetError):
    """Two ways to the same answer disagree: a bug in sugenet."""


def refuse(error: type[SugenetError], *rules: tuple[object, str]) -> None:
    """Raise an error for the first broken rule, given as pairs of a condition and a message.

    >>> refuse(QuestionError, (3 < 2, "3 is below 2."), (3 < 4, "3 is below 4."))
    Traceback (most recent call last):
    sugenet.errors.QuestionError: 3 is below 4.
    """
    for is_broken, words in rules:
        if is_broken:
            raise error(words)
