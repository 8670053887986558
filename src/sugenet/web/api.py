"""The explorer as an application: the page, and an API that answers its questions (FastAPI with worker
processes).
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Annotated, Any, Literal, get_type_hints

from fastapi import FastAPI, Header, HTTPException, Path, Query, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field, create_model
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.routing import Match

from sugenet.errors import SugenetError
from sugenet.glance import Overview
from sugenet.logic import ComposedAnswer
from sugenet.nn import Network
from sugenet.sweeps import Results, Row
from sugenet.web.bundle import content_policy, page_html
from sugenet.web.composites import composed_data, overview_data
from sugenet.web.fields import checked, question_schema
from sugenet.web.guards import CLIENT, Guard, error_body, parse_json
from sugenet.web.jobs import OPEN_MOST, Desk, Job, TooManyError
from sugenet.web.page_data import first_right, payload, raw_values
from sugenet.web.predicting import Predictor, predict_schema
from sugenet.web.results import COLUMNS, Shelf, overview, sample_data, stored, with_results
from sugenet.web.worker import CHECK_SECONDS

__all__ = [
    "PORT",
    "Accepted",
    "Answer",
    "Certificate",
    "Checked",
    "Error",
    "Prediction",
    "Predictions",
    "ResultRow",
    "ResultRows",
    "ResultsFile",
    "Sample",
    "Standing",
    "Stored",
    "app",
]

PORT = 8765
MOST_WAIT = 25.0
"""Maximum number of seconds that a request waits for news of a question."""
_QUIET = 0.3
"""Seconds before news of progress alone are sent."""
_MOVE = 1.0
"""Seconds between two checks of a question's position in the queue."""


# -- what the OpenAPI description says -----------------------------------------------------------------------


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Error(_Closed):
    """Error message of one or more sentences."""

    error: str


class Sample(_Closed):
    """A raw sample and the index of its true class, if it is known."""

    index: int
    values: list[float | str | bool | None]
    truth: int | None


Place = Annotated[Annotated[int, Field(ge=1)] | None, Field(description="Place in the queue while it waits")]


class Accepted(_Closed):
    """The number of an accepted question, and its position in the queue."""

    id: str = Field(pattern="^[0-9a-f]{32}$")
    place: Place


class Answer(BaseModel):
    """All results, with a certificate if something is claimed; further fields depend on the kind."""

    model_config = ConfigDict(extra="allow")
    kind: Literal["verify", "whatif", "why", "rule", "count", "predict"]
    outcome: str
    sentence: str


_ROW = {name: kind for name, kind in get_type_hints(Row).items() if name in COLUMNS}
ResultRow = create_model(  # type: ignore[call-overload]  # fields by name
    "ResultRow",
    __base__=_Closed,
    __doc__="What a results file says about one sample, without the answer itself.",
    **{name: (kind, ...) for name, kind in _ROW.items()},
)
ResultRows = create_model(  # type: ignore[call-overload]
    "ResultRows",
    __base__=_Closed,
    __doc__="The same of all answered samples, one list for each column.",
    **{name: (list[kind], ...) for name, kind in _ROW.items()},  # type: ignore[valid-type]
)


class ResultsFile(_Closed):
    """Current contents of a results file; a running sweep may add to it."""

    name: str
    question: str
    cost: str | None
    samples: int
    summary: list[str]
    notes: list[str]
    rows: ResultRows  # type: ignore[valid-type]


class Stored(_Closed):
    """The entry of a results file for one sample; null if it is not answered yet."""

    sample: int
    row: ResultRow | None  # type: ignore[valid-type]
    answer: Answer | None


class Standing(_Closed):
    """Status of a question."""

    id: str
    state: Literal["waiting", "working", "done", "failed", "cancelled"]
    place: Place
    progress: str
    seconds: float
    parts: list[dict[str, Any]]
    answer: Answer | None
    error: str | None


class Prediction(_Closed):
    """The class of a sample, by name and index, with the scores of all classes."""

    label: str
    index: int = Field(ge=0)
    scores: list[float]
    is_tie: bool


class Predictions(_Closed):
    """One prediction for each sample, in order."""

    predictions: list[Prediction]


class Certificate(_Closed):
    """A certificate to check."""

    certificate: dict[str, Any]


class Checked(_Closed):
    """Whether a certificate holds, and a description of the check; null if checking took too long."""

    holds: bool | None
    said: str


_SENTENCES = {
    400: "The request is not well formed, or its body is not JSON",
    401: "The token is missing or wrong",
    403: "A request from another site, or without X-Sugenet: 1",
    404: "There is nothing of this name or number",
    405: "This address does not take this method",
    408: "The body did not arrive in time",
    413: "The body is too large",
    415: "The body is not declared as application/json, or is compressed",
    421: "The Host is not one of this server",
    422: "A field or a parameter is wrong; the sentence names it",
    429: f"This client has {OPEN_MOST} open questions; ask again when one is done",
    503: "The server has too much to do, or the results file cannot be read now; the sentence says why",
}
_READ = (400, 401, 403, 405, 415, 421, 422)
_STOP = (*_READ, 408, 413, 503)
_ASK = (*_STOP, 429)


def _errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": Error, "description": _SENTENCES[status]} for status in sorted(statuses)}


Marked = Annotated[Literal["1"], Header(alias="X-Sugenet", description="Shows that no other site asks")]
Id = Annotated[
    str,
    Path(
        alias="id",
        pattern="^[0-9a-f]{32}$",
        description="Number of a question, as it was given when the question was taken",
    ),
]


def _json(data: Any, status: int = 200) -> Response:
    """Return JSON in ASCII, so that half a surrogate pair in a message cannot fail to be encoded."""
    return Response(json.dumps(data, allow_nan=False), status, media_type="application/json")


def _error(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    return Response(error_body(sentence), status, headers, media_type="application/json")


# -- the application -----------------------------------------------------------------------------------------


def app(
    network: Network,
    samples: Any = None,
    truth: Any = None,
    *,
    title: str = "sugenet",
    index: int | None = None,
    host: str = "127.0.0.1",
    port: int = PORT,
    workers: int = 3,
    results: str | None = None,
    token: str | None,
    allow_hosts: Sequence[str] = (),
    composed: Sequence[ComposedAnswer] = (),
    seen: Overview | None = None,
) -> FastAPI:
    """Return the server as an ASGI application; its workers run between startup and shutdown.

    Parameters
    ----------
    network, samples, truth, title, index
        As in `sugenet.web.payload`.
    host, port
        The address to listen at. Requests for other hosts are refused, except for those of `allow_hosts`.
    workers
        Number of questions that are answered at a time, each in its own process.
    results
        The path of a results file about these samples; without samples those inside are shown.
    token
        The token that every request must contain. None: requests need no token.
    allow_hosts
        Further names by which the server is reached, NAME or NAME:PORT.
    composed
        Answers about several samples, which the page shows too (`sugenet.logic`).
    seen
        An overview of the network, which the page shows too.
    """
    from sugenet import __version__

    rows: Sequence[Any] = [] if samples is None else list(network.encoder.rows(samples))
    shelf = None if results is None else Shelf(results, network)
    if shelf is None:
        start = first_right(network, samples, truth) if index is None else index
        data = payload(network, samples, truth, title=title, index=start)
    else:
        network = shelf.asked()
        about: dict[str, Any] = {"title": title, "index": index, "server": True, "network": network}
        data = shelf.ask(lambda file: with_results(file, samples, truth, **about))
    if composed:
        data["composed"] = composed_data(composed)
    if seen is not None:
        data["overview"] = overview_data(seen)
    page = page_html(data, server=True).encode()
    model = json.dumps(
        {
            name: value
            for name, value in data.items()
            if name not in ("samples", "start", "answers", "results", "composed", "overview")
        }
        | {"server": True}
    ).encode()
    warm = data["samples"][data["start"]]["values"]
    desk, predictor = Desk(network, warm=warm, workers=workers), Predictor(network)

    async def from_file(read: Callable[[Results], Any]) -> Any:
        if shelf is None:
            raise HTTPException(404, "no results file is open. Serve one: sugenet serve MODEL --results FILE")
        with _refusing(503):
            return await asyncio.to_thread(shelf.ask, read)

    @asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        desk.open()
        try:
            yield
        finally:
            desk.close()

    made = FastAPI(
        title="sugenet",
        version=__version__,
        description=f"Exact questions to {network}.",
        docs_url=None,  # they would be loaded from another host
        redoc_url=None,
        lifespan=life,
        redirect_slashes=False,
        dependencies=[Security(HTTPBearer(auto_error=False))] if token else None,  # `Guard` handles this
    )
    made.state.desk = desk
    policy = content_policy(server=True)
    made.add_middleware(Guard, host=host, port=port, policy=policy, token=token, allowed=allow_hosts)
    _answer_errors(made)

    @made.get(
        "/",
        response_class=Response,
        responses={200: {"content": {"text/html": {}}, "description": "The page"}, **_errors(*_READ)},
    )
    async def explorer() -> Response:
        """Return the explorer: one page that loads nothing from elsewhere."""
        return Response(page, media_type="text/html; charset=utf-8")

    @made.get("/api/model", response_model=dict[str, Any], responses=_errors(*_READ))
    async def the_model() -> Response:
        """Return the network, its classes and features."""
        return Response(model, media_type="application/json")

    @made.get("/api/samples/{index}", response_model=Sample, responses=_errors(404, *_READ))
    async def one_sample(
        index: Annotated[int, Path(ge=0, le=10**9, description="Number from 0")],
    ) -> Response:
        """Return one raw sample."""
        if samples is None and shelf is not None:
            stored_sample = await from_file(lambda file: sample_data(file, index))
            if stored_sample is None:
                raise HTTPException(404, f"the results file has no answer about a sample {index}.")
            return _json(stored_sample)
        if index >= len(rows):
            raise HTTPException(404, f"there is no sample {index}: there are {len(rows)}, numbered from 0.")
        known = truth is not None and truth[index] is not None
        return _json(
            {
                "index": index,
                "values": raw_values(network, rows[index], index),
                "truth": int(truth[index]) if known else None,
            }
        )

    @made.post(
        "/api/questions",
        status_code=202,
        response_model=Accepted,
        responses=_errors(*_ASK),
        openapi_extra=_takes(question_schema(network)),
    )
    async def take(request: Request, _marked: Marked) -> Response:
        """Submit a question; the returned number fetches its answer."""
        question = await _parsed(request)
        with _refusing(422):
            checked(network, question)
        job = desk.submit(question, request.scope[CLIENT])
        return _json({"id": job.id, "place": desk.place(job)}, 202)

    @made.get("/api/questions/{id}", response_model=Standing, responses=_errors(404, *_READ))
    async def look(
        id_: Id,
        seen: Annotated[int, Query(ge=0, le=1_000_000, description="Parts that are known already")] = 0,
        wait: Annotated[
            float, Query(ge=0, le=MOST_WAIT, allow_inf_nan=False, description="Seconds to wait for news")
        ] = 0.0,
    ) -> Response:
        """Return the status of a question, with the new parts of its answer."""
        job = _found(desk, id_)
        await _news(desk, job, seen, wait)
        return _standing(desk, job, seen)

    @made.delete("/api/questions/{id}", response_model=Standing, responses=_errors(404, *_STOP))
    async def cancel(id_: Id, _marked: Marked) -> Response:
        """Stop a question: it ends soon, with partial results."""
        job = _found(desk, id_)
        desk.cancel(job)
        return _standing(desk, job)

    @made.get("/api/results", response_model=ResultsFile, responses=_errors(404, 503, *_READ))
    async def all_results() -> Response:
        """Return the results file as it is now: figures, and a row for each answered sample."""
        return _json(await from_file(overview))

    @made.get("/api/results/{sample}", response_model=Stored, responses=_errors(404, 503, *_READ))
    async def one_result(
        sample: Annotated[int, Path(ge=0, le=10**9, description="Number from 0")],
    ) -> Response:
        """Return the answer about one sample, with its certificate."""
        answer = await from_file(lambda file: stored(file, sample) if sample < file.samples else file.samples)
        if isinstance(answer, int):
            raise HTTPException(404, f"there is no sample {sample}: there are {answer:,}, numbered from 0.")
        return _json(answer)

    @made.post(
        "/api/check",
        response_model=Checked,
        responses=_errors(*_ASK),
        openapi_extra=_takes(Certificate.model_json_schema()),
    )
    async def check(request: Request, _marked: Marked) -> Response:
        """Check a certificate by the definition alone."""
        return await _checked(desk, await _body(request), request.scope[CLIENT])

    @made.post(
        "/api/predict",
        response_model=Predictions,
        responses=_errors(*_STOP),
        openapi_extra=_takes(predict_schema(network)),
    )
    async def predict(request: Request, _marked: Marked) -> Response:
        """Return the classes and scores of one or many samples at once."""
        asked = await _parsed(request)
        with _refusing(422):
            return Response(await predictor.answer(asked), media_type="application/json")

    return made


async def _body(request: Request) -> bytes:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, f"the content type is {kind!r}, but must be application/json.")
    return await request.body()


async def _parsed(request: Request) -> Any:
    body = await _body(request)
    with _refusing(400):
        return parse_json(body)


@contextmanager
def _refusing(status: int) -> Iterator[None]:
    """Convert an error of sugenet to a response with a status."""
    try:
        yield
    except SugenetError as error:
        raise HTTPException(status, str(error)) from None


def _takes(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a JSON body."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def _found(desk: Desk, id_: str) -> Job:
    job = desk.find(id_)
    if job is None:
        raise HTTPException(404, "there is no question of this number; answers are kept for a while only.")
    return job


def _standing(desk: Desk, job: Job, seen: int = 0) -> Response:
    return Response(job.text(seen, desk.place(job)), media_type="application/json")


async def _news(desk: Desk, job: Job, seen: int, wait: float) -> None:
    """Wait until there is a new part, the question is over, or there has been other news for a while."""
    loop, happened = asyncio.get_running_loop(), asyncio.Event()

    def listener() -> None:
        with suppress(RuntimeError):  # the event loop may have ended
            loop.call_soon_threadsafe(happened.set)

    job.listeners.add(listener)
    start, before, index = loop.time(), (job.state, job.progress), desk.place(job)
    try:
        while not job.is_over and len(job.parts) <= seen:
            passed = loop.time() - start
            is_other = (job.state, job.progress) != before
            if passed >= wait or (is_other and passed >= _QUIET):
                return
            if index is not None and passed >= _MOVE and desk.place(job) != index:
                return
            look = _QUIET if is_other else wait - passed if index is None else min(_MOVE, wait - passed)
            with suppress(TimeoutError):
                await asyncio.wait_for(happened.wait(), look)
            happened.clear()
    finally:
        job.listeners.discard(listener)


async def _checked(desk: Desk, body: bytes, client: str) -> Response:
    job = desk.submit_check(body, client)
    try:
        end = asyncio.get_running_loop().time() + 2 * CHECK_SECONDS
        while not job.is_over and (left := end - asyncio.get_running_loop().time()) > 0:
            await _news(desk, job, 0, left)
    finally:
        desk.drop(job)
    if job.answer is None:
        return _json(
            {
                "holds": None,
                "said": job.error or "not finished in time. Use `sugenet check`, which takes its time.",
            }
        )
    answer = json.loads(job.answer)
    if "error" in answer:
        raise HTTPException(answer["status"], answer["error"])
    return _json(answer)


def _answer_errors(made: FastAPI) -> None:
    """Return every error as JSON with one sentence."""

    @made.exception_handler(StarletteHTTPException)
    async def known(request: Request, error: Exception) -> Response:
        assert isinstance(error, StarletteHTTPException)
        if error.status_code == 404 and error.detail == "Not Found":
            return _error(404, f"there is nothing at {request.url.path!r}.")
        if error.status_code == 405:
            allowed = _allowed(made, request)
            return _error(405, f"{request.method} is not possible here, only {allowed}.", {"Allow": allowed})
        return _error(error.status_code, str(error.detail))

    @made.exception_handler(TooManyError)
    async def too_many(_request: Request, error: Exception) -> Response:
        assert isinstance(error, TooManyError)
        return _error(429 if error.own else 503, str(error), {"Retry-After": "1"})

    @made.exception_handler(RequestValidationError)
    async def wrong(_request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        if tuple(first["loc"]) == ("header", "X-Sugenet"):
            return _error(
                403, "the header X-Sugenet: 1 is missing, without which nothing is asked or cancelled."
            )
        return _error(422, f"{first['loc'][-1]}: {first['msg']}.")


def _allowed(made: FastAPI, request: Request) -> str:
    """Return all methods of an address; the router would return only those of the first matching route."""
    methods: set[str] = set()
    for route in made.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            methods |= set(getattr(route, "methods", None) or ())
    return ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))
