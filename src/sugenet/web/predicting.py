"""Predictions over HTTP: requests that arrive while others are evaluated are evaluated together."""

import asyncio
import json
from collections import deque
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from sugenet.errors import QuestionError, SugenetError
from sugenet.nn import Network, OneHot
from sugenet.web.fields import read_sample, sample_schema

__all__ = ["Predictor", "predict_schema"]

_TOGETHER = 4096
"""Maximum number of samples of several requests that are evaluated together."""
_EXACT = 2**53
"""Integers up to this are exact in float64."""


def predict_schema(network: Network) -> dict[str, Any]:
    """Return the JSON schema of a request: one sample, or a list of them."""
    one = sample_schema(network)
    batch = {"type": "array", "items": one, "minItems": 1}
    return {
        "oneOf": [
            {
                "type": "object",
                "properties": {name: schema},
                "required": [name],
                "additionalProperties": False,
            }
            for name, schema in (("sample", one), ("samples", batch))
        ]
    }


class Predictor:
    """Evaluator of a network for many requests at once, outside the event loop.

    Parameters
    ----------
    network
        The network.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self._plain = not any(isinstance(coding, OneHot) for coding in network.encoder.codings)
        self._waiting: deque[tuple[Any, asyncio.Future[bytes]]] = deque()
        self._running: asyncio.Task[None] | None = None

    async def answer(self, asked: Any) -> bytes:
        """Return the predictions as JSON.

        Raises
        ------
        QuestionError
            If the request is not {"sample": ...} or {"samples": [...]}.
        EncodingError
            If the network cannot read a value.
        """
        rows = self._rows(_samples(asked))
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting.append((rows, future))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await future

    def _rows(self, samples: Sequence[Any]) -> Any:
        """Return samples as an array without changing a value: plain numbers as they are, others value by
        value.
        """
        features = self._network.encoder.features
        is_table = self._plain and all(type(row) is list and len(row) == features for row in samples)
        if is_table and set(map(type, chain.from_iterable(samples))) <= {int, float}:
            plain = np.array(samples)
            if plain.dtype.kind in "if" and ((plain > -_EXACT) & (plain < _EXACT)).all():
                return plain
        rows = np.empty((len(samples), features), dtype=object)
        for number, sample in enumerate(samples):
            try:
                rows[number] = read_sample(self._network, sample)
            except SugenetError as error:
                raise QuestionError(
                    str(error) if len(samples) == 1 else f"number {number}: {error}"
                ) from None
        return rows

    async def _run(self) -> None:
        try:
            while self._waiting:
                batch, size = [self._waiting.popleft()], 0
                while self._waiting and (size := size + len(batch[-1][0])) < _TOGETHER:
                    batch.append(self._waiting.popleft())
                replies = await asyncio.to_thread(self._evaluate, [rows for rows, _ in batch])
                for (_, future), reply in zip(batch, replies, strict=True):
                    if future.done():  # the client closed the connection
                        continue
                    if isinstance(reply, bytes):
                        future.set_result(reply)
                    else:
                        future.set_exception(reply)
        finally:
            self._running = None

    def _evaluate(self, batch: list[Any]) -> list[bytes | Exception]:
        """Return the predictions of each request, or its error."""
        try:
            counts = self._network.match_counts(np.concatenate(batch))
        except Exception as error:
            return [error] if len(batch) == 1 else [self._evaluate([rows])[0] for rows in batch]
        head, classes = self._network.head, self._network.classes
        columns = head.classes(counts).tolist(), head.logits(counts).tolist(), head.tied(counts).tolist()
        predictions = [
            {"label": classes[label], "index": label, "scores": scores, "is_tie": tie}
            for label, scores, tie in zip(*columns, strict=True)
        ]
        ends = np.cumsum([len(rows) for rows in batch]).tolist()
        starts = [0, *ends[:-1]]
        return [
            json.dumps({"predictions": predictions[start:end]}, allow_nan=False).encode()
            for start, end in zip(starts, ends, strict=True)
        ]


def _samples(asked: Any) -> Sequence[Any]:
    if isinstance(asked, dict) and set(asked) == {"sample"}:
        return [asked["sample"]]
    if isinstance(asked, dict) and set(asked) == {"samples"}:
        samples = asked["samples"]
        if isinstance(samples, list) and samples:
            return samples
        raise QuestionError("samples must be a list of at least one sample.")
    raise QuestionError('the body must be {"sample": [...]} or {"samples": [[...], ...]}.')
