"""A network: encoder, layers, head (paper section 3.3). It is frozen and computes on packed words.

Layers and neurons are numbered from 1, like the literals by which the next layer names them; classes are
numbered from 0.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from sugenet.errors import NetworkError
from sugenet.nn.arrays import Ints
from sugenet.nn.binary_expansion import expanded_layers, is_expanded
from sugenet.nn.domain import Domain
from sugenet.nn.encoder import Encoder
from sugenet.nn.head import Head
from sugenet.nn.lawful import lawful_parts
from sugenet.nn.laws import Law, some_obey
from sugenet.nn.layers import Layer
from sugenet.nn.neuron import Condition, Neuron, QuantizedNeuron
from sugenet.nn.packed import Packed, compiled
from sugenet.nn.samples import is_single
from sugenet.nn.source import Source
from sugenet.nn.trace import many, trace
from sugenet.plottable import Plottable
from sugenet.reprs import cut, quoted, set_fields
from sugenet.visible import see_name, see_unicode, visible

__all__ = ["EngineChoice", "Network", "network_of"]

_Array = TypeVar("_Array", npt.NDArray[np.intp], npt.NDArray[np.float64])
EngineChoice = Literal["auto", "numba", "numpy", "definition"]
CHUNK = 1 << 16  # samples at a time, to bound the memory of a batch


@dataclass(frozen=True)
class Network(Plottable):
    """A network over raw features: encoder, hidden layers and head, evaluated in exact integers.

    The network is frozen. `report` is the report of the importer; None if it was not imported.

    Parameters
    ----------
    encoder : Encoder
        From raw features to bits or levels. `Encoder.of_bits(n)` is for inputs that are bits already.
    layers : iterable of layers
        Hidden layers, first to last; each reads the bits or levels of the one before. The first may read the
        levels of the encoder.
    head : Head
        The last layer: one score per class.
    classes : iterable, default: None
        Names of the classes. None: ``"0"``, ``"1"``, ...
    notes : mapping, default: None
        Text to keep with the model, such as its origin. Not part of the fingerprint.
    source : Source, default: None
        How its numbers relate to those of the file it was read from, for questions about that file. Not part
        of the fingerprint.
    domain : Domain, default: None
        Inputs that can occur (`within`); all questions are about these. Not part of the fingerprint.

    Raises
    ------
    NetworkError
        If a layer does not fit the output of the one before, or names do not fit.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer
    >>> layer = DenseLayer([[+1, +1, -1, +1], [-1, +1, +1, +1]], tau=[2, 3])
    >>> net = Network(Encoder.of_bits(4), [layer], Head([[+1, -1], [-1, +1]]), ["no", "yes"])
    >>> net.predict([[+1, -1, +1, -1], [+1, +1, +1, +1]])
    array([0, 0])
    >>> net.logits([[+1, -1, +1, -1]])
    array([[0., 0.]])

    See Also
    --------
    from_torch : reads a trained network.
    load : reads a network from a file.
    verify : decides claims about it.
    """

    encoder: Encoder
    layers: tuple[Layer, ...]
    head: Head
    classes: tuple[str, ...]
    notes: Mapping[str, str] = field(default_factory=dict, compare=False)
    source: Source = field(default=Source(), compare=False)
    domain: Domain = field(default=Domain(), compare=False)
    report: Any = field(default=None, init=False, repr=False, compare=False)
    """Report of an importer (`sugenet.io.ImportReport`); None if the network was not imported."""

    def __init__(
        self,
        encoder: Encoder,
        layers: Iterable[Layer],
        head: Head,
        classes: Iterable[object] | None = None,
        notes: Mapping[str, str] | None = None,
        source: Source | None = None,
        domain: Domain | None = None,
    ) -> None:
        kept = tuple(layers)
        names = (
            tuple(str(k) for k in range(head.outputs))
            if classes is None
            else tuple(str(name) for name in classes)
        )
        if len(names) != head.outputs or len(set(names)) < len(names):
            raise NetworkError(
                f"class names {list(names)} do not fit {head.outputs} classes: give each a name of its own."
            )
        about = {str(key): str(value) for key, value in (notes or {}).items()}
        for name in names:
            see_name(name, "class name", NetworkError)
        for note in about.items():
            see_unicode(": ".join(note), "note", NetworkError)
        set_fields(self, encoder=encoder, layers=kept, head=head, classes=names, notes=about)
        set_fields(self, source=source or Source(), domain=domain or Domain())
        known = self.source.step
        if isinstance(known, tuple) and len(known) != encoder.features:
            raise NetworkError(f"the source has steps for {len(known)} features, not {encoder.features}.")
        _check_chain(encoder, kept, head)

    @classmethod
    def of_bits(
        cls,
        layers: Iterable[Layer],
        head: Head,
        *,
        classes: Iterable[object] | None = None,
        notes: Mapping[str, str] | None = None,
        source: Source | None = None,
    ) -> Network:
        """Return a network whose raw inputs are bits; `classes`, `notes` and `source` as in `Network`.

        Parameters
        ----------
        layers : list of Layer
            The hidden layers.
        head : Head
            The last layer.
        classes : iterable, default: None
            Names of the classes. None: ``"0"``, ``"1"``, ...
        notes : mapping, default: None
            Text to keep with the model.
        source : Source, default: None
            How its numbers relate to those of the file it was read from.

        Returns
        -------
        Network
            The network.
        """
        kept = tuple(layers)
        encoder = Encoder.of_bits(kept[0].inputs if kept else head.inputs)
        return cls(encoder, kept, head, classes, notes, source)

    # -- evaluation ------------------------------------------------------------------------------------------

    def match_counts(self, X: Any, engine: EngineChoice = "auto", threads: int | None = None) -> Ints:
        """Return the match counts of the classes for raw samples, one row per sample.

        ``engine="definition"`` evaluates layer by layer by definition; the others use packed words and give
        the same result.

        Parameters
        ----------
        X : array, data frame, list or mapping
            A batch of raw samples, one per row.
        engine : str, default: "auto"
            ``"numba"``, ``"numpy"`` or ``"definition"``; all give the same.
        threads : int, default: None
            Number of threads. None: one per core.

        Returns
        -------
        array of int
            One match count per class.
        """
        rows = self.encoder.rows(X)
        packed = self.packed(engine)
        if rows.ndim != 2 or len(rows) <= CHUNK:  # the encoder raises an error for other shapes
            return packed.match_counts(self._read(rows), threads)
        parts = (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))
        return np.concatenate([packed.match_counts(self._read(part), threads) for part in parts])

    def inputs(self, X: Any) -> npt.NDArray[Any]:
        """Return the inputs of the first layer: levels, real numbers or bits, whichever it reads.

        Parameters
        ----------
        X : array, data frame, list or mapping
            A batch of raw samples, one per row.

        Returns
        -------
        array
            One row per sample.
        """
        return self._read(self.encoder.rows(X))

    def _read(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the inputs of the first layer for rows of feature values."""
        if self.passes_reals:
            return self._features.reals(rows)
        return self._features.levels(rows) if self.reads_levels else self._features.encode(rows)

    @cached_property
    def _features(self) -> Encoder:
        """The encoder of samples that are given as features."""
        return self.encoder if self.encoder.columns is None else replace(self.encoder, columns=None)

    @cached_property
    def reads_levels(self) -> bool:
        """Whether the first layer reads levels instead of bits."""
        return bool(self.layers) and _reads_levels(self.encoder, self.layers[0])

    @cached_property
    def has_levels(self) -> bool:
        """Whether any value after the encoder has more than two levels, or a layer is a staircase."""
        first_levels = bool(self.layers) and self.layers[0].tops is not None and not self.reads_levels
        return first_levels or not is_expanded(self.layers, self.head)

    @cached_property
    def expanded(self) -> Network:
        """Return the same network with every staircase cut into its steps, so that all values after the first
        layer are bits; the network itself if it has no staircases.
        """
        if not self.has_levels:
            return self
        layers, head = expanded_layers(self.layers, self.head, from_levels=self.reads_levels)
        return replace(self, layers=layers, head=head)

    def within(self, what: Any) -> Network:
        """Return the same network for questions about inputs that can occur; its predictions stay the same.

        Parameters
        ----------
        what : str, list of str or Domain
            ``"data"``: each feature within its training range, as the encoder remembers it; a law as text, or
            several, which may include ``"data"``; or a `Domain`. It is added to the existing domain.
            ``"any"``, also among laws: any value that a feature can have. It removes the limits of the
            domain, such as those of a network that was trained from a table, and keeps the laws.

        Returns
        -------
        Network
            The same network with the restricted domain.

        Examples
        --------
        >>> net = Network(Encoder.of_bits(2, ["a", "b"]), [], Head([[1, 1], [-1, -1]]))
        >>> print(net.within("if a then b").domain)
        inputs that obey "if a then b"

        See Also
        --------
        anywhere : without limits and laws.
        """
        if what is None:
            return self
        known = self.encoder
        if isinstance(what, str) and what == "any":
            return self._with(domain=self.domain.only_laws) if self.domain.limits else self
        if isinstance(what, str) and what == "data":
            if known.seen is None:
                raise NetworkError(
                    "the network does not know the range of its training data: tell it with "
                    "net.with_training_range(X), or with sugenet convert MODEL --seen SAMPLES."
                )
            domain = Domain(dict(enumerate(known.seen)))
        elif isinstance(what, Domain):
            beyond = next((feature for feature in what.limits if not 0 <= feature < known.features), None)
            if beyond is not None:
                raise NetworkError(f"there are limits of feature {beyond}, but {known.features} features.")
            domain = Domain(what.limits, [Law(law.text, known) for law in what.laws])  # over its own features
        elif isinstance(what, Mapping) or not isinstance(what, Iterable) or not getattr(what, "ndim", 1):
            raise NetworkError(
                f"within={quoted(what)} does not say which inputs can occur. Give 'data', 'any', laws as "
                f"text or a Domain."
            )
        else:
            several = [what] if isinstance(what, str) else list(what)
            words = [word for word in ("data", "any") if word in several]
            if len(words) > 1:
                raise NetworkError("within names both 'data' and 'any', which exclude each other. Give one.")
            if words:
                return self.within(words[0]).within([law for law in several if law != words[0]])
            domain = Domain({}, [Law(text, known) for text in several])
        joined = self.domain.both(domain, known)
        if len(joined.laws) > 1 and not some_obey((c for law in joined.laws for c in law.clauses), known):
            raise NetworkError(f"there are no {joined.only_laws}: no input can obey all these laws.")
        return self if joined == self.domain else self._with(domain=joined)

    def anywhere(self) -> Network:
        """Return the same network for questions about any input, without limits and laws."""
        return self._with(domain=Domain()) if self.domain else self

    def by_itself(self) -> Network:
        """Return the same network without its source: questions are about its own numbers."""
        return self._with(source=Source())

    def with_classes(self, classes: Iterable[int | str]) -> Network:
        """Return the network that chooses among some of its classes, by name or number, in their old order.

        It is another network, with its own fingerprint.

        Parameters
        ----------
        classes : list of str or int
            Classes to keep, by name or index.

        Returns
        -------
        Network
            A network with these classes only.

        Examples
        --------
        >>> net = Network.of_bits([], Head([[1, 1], [1, -1], [-1, -1]]), classes=["a", "b", "c"])
        >>> net.with_classes(["c", "a"]).classes
        ('a', 'c')
        """
        wanted = [classes] if isinstance(classes, str) else list(classes)
        kept = set()
        for one in wanted:
            if isinstance(one, str) and one in self.classes:
                kept.add(self.classes.index(one))
            elif not isinstance(one, str | bool) and one in range(self.head.outputs):
                kept.add(int(one))
            else:
                names = cut(", ".join(self.class_texts), letters=200)
                raise NetworkError(
                    f"{quoted(one)} is not a class. The {len(self.classes)} classes are {names}."
                )
        if not kept:
            raise NetworkError("a network needs a class to choose: name at least one.")
        rows, head = tuple(sorted(kept)), self.head
        if len(rows) == head.outputs:
            return self
        if rows not in self._some:
            bias, scale = ([row[k] for k in rows] for row in (head.bias, head.scale))
            some = Head(head.weights[list(rows)], bias, scale, head.tops)
            self._some[rows] = replace(self, head=some, classes=tuple(self.classes[k] for k in rows))
        return self._some[rows]

    @cached_property
    def _some(self) -> dict[tuple[int, ...], Network]:
        return {}

    def with_training_range(self, X: Any) -> Network:
        """Return the same network; its encoder remembers the range of each feature in these samples.

        If the network was limited to its training range, it is limited to the new one.

        Parameters
        ----------
        X : array, data frame or list
            Raw samples, one per row.

        Returns
        -------
        Network
            The same network with this training range.
        """
        made = self._with(encoder=self.encoder.with_training_range(X))
        return made.within("any").within("data") if self.is_within_data else made

    @property
    def is_within_data(self) -> bool:
        """Whether the limits of the domain are the training range."""
        seen = self.encoder.seen
        return (
            seen is not None
            and self.domain.limits == Domain().both(Domain(dict(enumerate(seen))), self.encoder).limits
        )

    def with_report(self, report: Any) -> Network:
        """Return the same network with the report of its import.

        Parameters
        ----------
        report : ImportReport
            Report of the import.

        Returns
        -------
        Network
            The same network with this report.
        """
        return self._with(report=report)

    def _with(self, **parts: Any) -> Network:
        """Return the network with other parts that do not change what it computes; compiled forms are
        kept.
        """
        made = object.__new__(Network)
        made.__dict__.update(
            {k: v for k, v in self.__dict__.items() if k not in ("expanded", "lawful", "_some")}
        )
        made.__dict__.update(parts)
        return made

    @cached_property
    def lawful(self) -> Network:
        """Return the network for engines: the network itself, or with laws, one with a further class that
        wins for inputs that break them (`sugenet.nn.lawful`).
        """
        if not self.domain.laws:
            return self
        expanded = self.expanded
        encoder, layers, head = lawful_parts(
            expanded.encoder, expanded.layers, expanded.head, self.domain.laws
        )
        name = "what cannot occur"
        while name in self.classes:
            name += "!"
        return Network(encoder, layers, head, (*self.classes, name), domain=self.domain.only_limits)

    @property
    def passes_reals(self) -> bool:
        """Whether raw inputs are real numbers that are kept unchanged."""
        return bool(self.layers) and self.layers[0].kind == "real"

    def hidden(self, X: Any, engine: EngineChoice = "definition") -> list[npt.NDArray[Any]]:
        """Return the activity of every hidden layer, bits or levels (default engine: by definition).

        Parameters
        ----------
        X : array, data frame, list or mapping
            A batch of raw samples, one per row.
        engine : str, default: "definition"
            ``"definition"``, ``"numba"``, ``"numpy"`` or ``"auto"``; all give the same.

        Returns
        -------
        list of array
            One array per hidden layer, with one row per sample.
        """
        return self.packed(engine).hidden(self.inputs(X))

    def packed(self, engine: EngineChoice = "auto") -> Packed:
        """Return the packed form of the network, built once per engine.

        Parameters
        ----------
        engine : str, default: "auto"
            ``"numba"``, ``"numpy"`` or ``"definition"``; all give the same.

        Returns
        -------
        Packed
            Layers and head in the form that the engine computes with.
        """
        if engine not in self._packed:
            self._packed[engine] = compiled(self.layers, self.head, engine)
        return self._packed[engine]

    @cached_property
    def _packed(self) -> dict[str, Packed]:
        return {}

    def predict(
        self, X: Any, engine: EngineChoice = "auto", threads: int | None = None
    ) -> npt.NDArray[np.intp]:
        """Predict the class of each raw sample, as a number from 0.

        Parameters
        ----------
        X : array, data frame, list or mapping
            A batch of raw samples, or one sample.
        engine : str, default: "auto"
            ``"numba"``, ``"numpy"`` or ``"definition"``; all give the same.
        threads : int, default: None
            Number of threads. None: one per core.

        Returns
        -------
        array of int, or int
            One index per sample; for one sample its index. A tie goes to the lowest index.

        Raises
        ------
        EncodingError
            If a value is not one that its feature can have.

        Examples
        --------
        >>> net = Network.of_bits([], Head([[1, 1], [-1, -1]]), classes=["yes", "no"])
        >>> net.predict([[1, 1], [-1, -1]])
        array([0, 1])
        >>> int(net.predict([1, 1]))
        0

        See Also
        --------
        predict_one : name of the class of one sample.
        """
        return self._each(X, lambda rows: self.head.classes(self.match_counts(rows, engine, threads)))

    def predict_one(self, x: Any) -> str:
        """Predict the class of one raw sample, by name.

        Parameters
        ----------
        x : array, list or mapping
            One raw sample.

        Returns
        -------
        str
            Name of the class. A tie goes to the class with the lowest index.

        Raises
        ------
        EncodingError
            If `x` is not one sample, or if a value is not one that its feature can have.

        Examples
        --------
        >>> Network.of_bits([], Head([[1, 1], [-1, -1]]), classes=["yes", "no"]).predict_one([1, 1])
        'yes'

        See Also
        --------
        predict : indices of the classes of many samples.
        """
        row = np.array([self.encoder.values(x)], dtype=object)
        return self.classes[int(self.head.classes(self.match_counts(row))[0])]

    def logits(
        self, X: Any, engine: EngineChoice = "auto", threads: int | None = None
    ) -> npt.NDArray[np.float64]:
        """Return the scores of the classes: one row per sample; for one sample, its row.

        Parameters
        ----------
        X : array, data frame, list or mapping
            A batch of raw samples, or one sample.
        engine : str, default: "auto"
            ``"numba"``, ``"numpy"`` or ``"definition"``; all give the same.
        threads : int, default: None
            Number of threads. None: one per core.

        Returns
        -------
        array of float
            Scores rounded to floats. Predictions compare the exact scores.
        """
        return self._each(X, lambda rows: self.head.logits(self.match_counts(rows, engine, threads)))

    def probability(self, X: Any, temperature: float = 1.0) -> npt.NDArray[np.float64]:
        """Return the softmax of the scores: one row per sample; for one sample, its row.

        Parameters
        ----------
        X : array, data frame, list or mapping
            A batch of raw samples, or one sample.
        temperature : float, default: 1.0
            Divisor of score differences, positive; larger values make the result flatter.

        Returns
        -------
        array of float
            One number per class; each row sums to 1.
        """
        return self._each(X, lambda rows: self.head.probability(self.match_counts(rows), temperature))

    def possibility(self, X: Any, temperature: float = 1.0) -> npt.NDArray[np.float64]:
        """Return the possibility distribution over the classes: one row per sample; for one sample, its row.

        The best class has possibility 1.

        Parameters
        ----------
        X : array, data frame, list or mapping
            A batch of raw samples, or one sample.
        temperature : float, default: 1.0
            Divisor of score differences, positive; larger values make the result flatter.

        Returns
        -------
        array of float
            One number from 0 to 1 per class.
        """
        return self._each(X, lambda rows: self.head.possibility(self.match_counts(rows), temperature))

    def _each(self, X: Any, evaluate: Callable[[npt.NDArray[Any]], _Array]) -> _Array:
        """Evaluate a batch; for one sample, return the first row."""
        rows = self.encoder.rows(X)
        if is_single(X, rows):
            first: _Array = evaluate(rows.reshape(1, -1))[0]
            return first
        return evaluate(rows)

    # -- inspection ------------------------------------------------------------------------------------------

    def trace(self, X: Any) -> Any:
        """Return every layer's match counts, thresholds and activity: a `Trace` for one raw sample, a list of
        them for a batch.

        Parameters
        ----------
        X : array, data frame, list or mapping
            A batch of raw samples, or one sample.

        Returns
        -------
        Trace or list of Trace
            One trace per sample.
        """
        rows = self.encoder.rows(X)
        if is_single(X, rows):
            return trace(self, rows.reshape(1, -1))
        return [trace(self, row[None, :]) for row in rows]

    def unrolled(self) -> Network:
        """Return the same network with every layer as neurons over bits."""
        expanded = self.expanded
        return replace(expanded, layers=tuple(layer.unrolled() for layer in expanded.layers))

    def layer(self, number: int) -> Layer:
        """Return a hidden layer by its number, from 1.

        Parameters
        ----------
        number : int
            Number of the layer, from 1.

        Returns
        -------
        Layer
            The hidden layer.
        """
        if not 1 <= number <= len(self.layers):
            raise NetworkError(
                f"there is no layer {number}: the network has {many(len(self.layers), 'hidden layer')}, "
                f"numbered from 1."
            )
        return self.layers[number - 1]

    def neuron(self, layer: int, j: int) -> Neuron | QuantizedNeuron:
        """Return neuron j of a hidden layer, both numbered from 1.

        Parameters
        ----------
        layer : int
            Number of the hidden layer, from 1.
        j : int
            Number of the neuron, from 1.

        Returns
        -------
        Neuron or QuantizedNeuron
            The neuron.
        """
        try:
            return self.layer(layer).neuron(j)
        except NetworkError as error:
            raise NetworkError(
                f"layer {layer}: {error}" if 1 <= layer <= len(self.layers) else str(error)
            ) from None

    def words(self, layer: int, literal: int | Condition) -> str:
        """Describe an input literal of a layer, or a condition on a level, in the words of the encoder or as
        a neuron of the layer before.

        Parameters
        ----------
        layer : int
            Number of the layer that reads the input, from 1.
        literal : int or Condition
            Literal `+i` or `-i`, or a condition on a level.

        Returns
        -------
        str
            Condition such as ``age >= 16``.
        """
        if isinstance(literal, Condition):
            if layer == 1 and self.reads_levels:
                feature = literal.place - 1
                coding = self.encoder.codings[feature]
                states = [state for state in range(coding.states) if literal.holds(state)]
                return coding.describe_several(self.encoder.names[feature], states)
            if layer > 1 and not self.layers[layer - 2].is_binary:
                return f"neuron {literal.place} of layer {layer - 1} {literal.relation}"
            literal = literal.place if literal.at_least is not None else -literal.place
        index = abs(literal) - 1
        if layer == 1:
            return self.encoder.words(index, literal > 0)
        return f"neuron {index + 1} of layer {layer - 1} is {'on' if literal > 0 else 'off'}"

    @cached_property
    def class_texts(self) -> tuple[str, ...]:
        """Names of the classes, safe to show."""
        return tuple(map(visible, self.classes))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the function of the network and of the names of its inputs and classes; notes and source
        are not included.
        """
        digest = hashlib.sha256(b"sugenet network 1\n")
        known: dict[Any, bytes] = {}
        for coding in self.encoder.codings:
            if coding not in known:
                known[coding] = hashlib.sha256(coding.spelled.encode()).digest()
            digest.update(known[coding])
        digest.update(json.dumps([self.encoder.names, self.classes]).encode())
        for layer in self.layers:
            digest.update(layer.fingerprint_name.encode())
            _digest(digest, *layer.spelled())
        _digest(digest, self.head.weights, *([] if self.head.tops is None else [self.head.tops]))
        digest.update(
            json.dumps([[str(value) for value in row] for row in (self.head.bias, self.head.scale)]).encode()
        )
        return digest.hexdigest()

    def __str__(self) -> str:
        shape = "-".join(
            str(size)
            for size in (
                self.encoder.features if self.reads_levels or self.passes_reals else self.encoder.width,
                *(layer.outputs for layer in self.layers),
                self.head.outputs,
            )
        )
        return (
            f"network {shape} over {many(self.encoder.features, 'feature')}, "
            f"classes {', '.join(self.class_texts)}"
        )


def network_of(model: Any, X: Any = None) -> Network:
    """Return the network that a model predicts with.

    All functions that ask about a network accept such a model.

    Parameters
    ----------
    model : Network, classifier or pipeline
        The network, a fitted `BNNClassifier`, or a fitted pipeline or search of scikit-learn that ends with
        one.
    X : data frame or array, default: None
        Rows in raw columns, such as the training data, that tell the range of each feature. As in
        `from_sklearn`.

    Returns
    -------
    Network
        The network itself, or that of the model. The network of a pipeline reads its raw columns.

    Raises
    ------
    NetworkError
        If the model is not a network and does not contain one.
    EncodingError
        If a step of the pipeline cannot be turned around, or `X` does not fit.

    Examples
    --------
    >>> net = Network.of_bits([], Head([[1, 1], [-1, -1]]))
    >>> network_of(net) is net
    True
    >>> network_of("a model")
    Traceback (most recent call last):
    ...
    sugenet.errors.NetworkError: A str is not a network. Give a Network, a fitted BNNClassifier, or a fitted \
pipeline of scikit-learn whose last step is one.

    See Also
    --------
    from_sklearn : the same, for pipelines.
    Network : the result.
    """
    if isinstance(model, Network):
        return model if X is None else model.with_training_range(X)
    chosen = getattr(model, "best_estimator_", model)
    steps = getattr(chosen, "steps", None)
    convert = getattr(steps[-1][1] if steps else chosen, "to_network", None)
    if convert is None:
        raise NetworkError(
            f"A {type(model).__name__} is not a network. Give a Network, a fitted BNNClassifier, or a fitted "
            "pipeline of scikit-learn whose last step is one."
        )
    network: Network = convert(chosen if steps else None, X)
    return network


def _reads_levels(encoder: Encoder, first: Layer) -> bool:
    """Return whether a first layer reads the levels of the encoder."""
    return first.tops is not None and encoder.tops == tuple(first.tops.tolist())


def _check_chain(encoder: Encoder, layers: tuple[Layer, ...], head: Head) -> None:
    """Check that each layer, and the head, fits the output of the one before."""
    width, top = _width_read(encoder, layers), None
    for number, layer in enumerate(layers, start=1):
        before = "the encoder" if number == 1 else f"layer {number - 1}"
        if layer.inputs != width:
            verb = "gives" if number == 1 else "has"
            raise NetworkError(f"layer {number} reads {layer.inputs} inputs, but {before} {verb} {width}.")
        if number > 1:
            if layer.kind == "real":
                raise NetworkError(f"layer {number} reads real numbers, which only the first one can.")
            _check_levels(f"layer {number}", layer.tops, before, top)
        width, top = layer.outputs, layer.max_level
    before = f"layer {len(layers)}" if layers else "the encoder"
    if head.inputs != width:
        verb = "has" if layers else "gives"
        raise NetworkError(f"the head reads {head.inputs} inputs, but {before} {verb} {width}.")
    _check_levels("the head", head.tops, before, top)


def _width_read(encoder: Encoder, layers: tuple[Layer, ...]) -> int:
    """Return how many values of the encoder the first layer reads."""
    if not layers:
        return encoder.width
    first = layers[0]
    if (first.kind == "real") != encoder.passes_reals:
        raise NetworkError(
            "a first layer over real numbers (RealLayer) and features that are kept as real "
            "numbers (Real) go together: the network has one without the other."
        )
    if first.kind == "real" or _reads_levels(encoder, first):
        return encoder.features
    if first.tops is not None and not (
        first.kind == "dense"
        and not first.is_binary
        and set(first.tops.tolist()) <= {1}
        and first.inputs == encoder.width
    ):
        raise NetworkError("layer 1 reads levels, but its tops are not those of the encoder.")
    return encoder.width


def _check_levels(what: str, tops: Ints | None, before: str, top: int | None) -> None:
    """Check that levels 0..top, or bits, are read as such."""
    produced = f"{before} gives {'bits' if top is None else f'levels 0..{top}'}"
    if tops is None and top is not None:
        raise NetworkError(f"{what} reads bits, but {produced}.")
    read = [] if tops is None else tops.tolist()
    wrong = next((t for t in read if t != (top or 1)), None)
    if wrong is not None:
        raise NetworkError(f"{what} reads levels 0..{wrong}, but {produced}.")


def _digest(digest: Any, *parts: Any) -> None:
    """Add arrays, with their shapes, and text to a digest."""
    for part in parts:
        if isinstance(part, str):
            digest.update(part.encode())
        else:
            digest.update(json.dumps(part.shape).encode() + np.ascontiguousarray(part, dtype="<i8").tobytes())
