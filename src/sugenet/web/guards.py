"""What stands between the browser and the server: only this machine's own page may ask, and nothing may be
too large or too slow.

uvicorn bounds neither the size of a body nor the time that it takes, so `Guard` does.

A page elsewhere can make a browser send requests to a server on this machine. It cannot choose `Host` (so a
name that was bound to 127.0.0.1 on purpose is refused), nor hide `Origin` and `Sec-Fetch-Site`, nor send
`X-Sugenet` without asking first, which is never granted.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, TypeAlias

from sugenet.errors import SugenetError
from sugenet.io.plain.strict import strict_json

__all__ = ["HEADERS", "Guard", "error_body", "is_loopback", "parse_json"]

MOST_BYTES = 1 << 20
"""Of a request's body."""
MOST_CERTIFICATE = 32 << 20
"""Of a certificate to check."""
BODY_SECONDS = 20.0
"""In which a body must arrive."""
_DRAIN_BYTES, _DRAIN_SECONDS = 8 << 20, 2.0
"""How much of a body that is too large is read and dropped, and for how long."""
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
"""Of every response, beside the Content-Security-Policy."""

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]


class _UnansweredError(Exception):
    """A request that is not answered, with its status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


def error_body(sentence: str) -> bytes:
    """An error as JSON, in letters that every encoding has."""
    return json.dumps({"error": sentence}).encode()


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def _address(host: str) -> Any:
    try:
        return ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def parse_json(body: bytes) -> Any:
    """Read JSON as strictly as it is defined: UTF-8, no NaN, no Infinity, no key twice.

    Examples
    --------
    >>> parse_json(b'{"n": 3}')
    {'n': 3}
    >>> parse_json(b"[NaN]")
    Traceback (most recent call last):
    sugenet.errors.SugenetError: the body is not JSON: NaN is no number of JSON.
    """
    try:
        return strict_json(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise SugenetError(f"the body is not UTF-8: byte {error.start} is wrong.") from None
    except ValueError as error:
        raise SugenetError(f"the body is not JSON: {error}.") from None
    except RecursionError:
        raise SugenetError("the body is nested too deeply.") from None


class Guard:
    """An ASGI application around another one: refuses what it must, and adds headers that browsers obey.

    Parameters
    ----------
    app
        What is guarded.
    host, port
        Where the server listens.
    policy
        The Content-Security-Policy of the page.
    """

    def __init__(self, app: App, *, host: str, port: int, policy: str) -> None:
        self._app, self._port = app, port
        names = {"127.0.0.1", "localhost", "[::1]"} if is_loopback(host) else set()
        plain = host.lower()
        names.add(f"[{plain}]" if ":" in plain else plain)
        address = _address(host)
        self._everywhere = address is not None and address.is_unspecified
        if self._everywhere:
            names |= {"localhost", socket.gethostname().lower()}
        self._names = names
        self._headers = [(b"content-security-policy", f"{policy}; frame-ancestors 'none'".encode()), *HEADERS]

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":  # its beginning and end; of web sockets there are none
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def answer(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self._headers]
            await send(message)

        try:
            self._look(scope)
            if scope["method"] == "HEAD":  # as GET; uvicorn leaves the body out
                scope = {**scope, "method": "GET"}
            elif scope["method"] != "GET":
                receive = await _read(scope, receive)
        except _UnansweredError as refused:
            await _refuse(answer, receive, refused)
            return
        except _GoneError:
            return
        try:
            await self._app(scope, receive, answer)
        except Exception as error:
            if not has_begun:  # here, since an answer made further out would lack the headers
                await _refuse(
                    answer,
                    receive,
                    _UnansweredError(500, f"a bug in sugenet, please report it: {type(error).__name__}."),
                )
            raise

    def _look(self, scope: Message) -> None:
        """Refuse what must not be answered, by its headers."""
        host = _one(scope, "host")
        if host is None or not self._is_ours(host):
            raise _UnansweredError(
                421,
                f"this server answers for {self._shown()}, not for {host!r}. "
                f"Use the address that it printed.",
            )
        origin = _one(scope, "origin")
        if origin is not None and origin.lower() != f"http://{host.lower()}":
            raise _UnansweredError(
                403, f"requests from {origin!r} are refused: only the page of this server may ask."
            )
        site = _one(scope, "sec-fetch-site")
        is_link = (
            scope["path"] == "/"
            and _one(scope, "sec-fetch-mode") == "navigate"
            and _one(scope, "sec-fetch-dest") == "document"
        )
        if site not in (None, "same-origin", "none") and not (is_link and scope["method"] == "GET"):
            raise _UnansweredError(403, f"a {site} request is refused: only the page of this server may ask.")
        length = _one(scope, "content-length")
        if length is not None and length.isdecimal() and int(length[:20]) > _most(scope):
            raise _UnansweredError(
                413, f"the body has {length[:20]} bytes, but at most {_most(scope):,} are read."
            )

    def _is_ours(self, host: str) -> bool:
        name, colon, port = host.lower().rpartition(":")
        if not colon or "]" in port:
            name, port = host.lower(), "80"
        if port != str(self._port):
            return False
        # a name can be bound to us; an address cannot
        return name in self._names or (self._everywhere and _address(name) is not None)

    def _shown(self) -> str:
        return " and ".join(f"{name}:{self._port}" for name in sorted(self._names))


def _one(scope: Message, name: str) -> str | None:
    """A header that may stand once; several are refused."""
    found = [value.decode("latin-1").strip() for key, value in scope["headers"] if key == name.encode()]
    if len(found) > 1:
        raise _UnansweredError(400, f"the header {name} stands {len(found)} times, but may stand once.")
    return found[0] if found else None


def _most(scope: Message) -> int:
    return MOST_CERTIFICATE if scope["path"] == "/api/check" else MOST_BYTES


class _GoneError(Exception):
    """The client went away."""


async def _read(scope: Message, receive: Receive) -> Receive:
    """Read the body, however it comes, while it is small and soon enough; what is left is to hand it over."""
    body, most = bytearray(), _most(scope)

    async def read() -> None:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _GoneError
            body.extend(message.get("body", b""))
            if len(body) > most:
                raise _UnansweredError(413, f"the body has more than {most:,} bytes.")
            if not message.get("more_body", False):
                return

    try:
        await asyncio.wait_for(read(), BODY_SECONDS)
    except TimeoutError:
        raise _UnansweredError(408, f"the body did not arrive within {BODY_SECONDS:g} s.") from None
    handed = False

    async def hand_over() -> Message:
        nonlocal handed
        if handed:
            return await receive()
        handed = True
        return {"type": "http.request", "body": bytes(body), "more_body": False}

    return hand_over


async def _refuse(send: Send, receive: Receive, refused: _UnansweredError) -> None:
    body = error_body(refused.sentence)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if refused.status in (408, 413):
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    # a client that is still sending would not see an answer on a connection that is closed at once
    if refused.status == 413:
        with suppress(TimeoutError):
            await asyncio.wait_for(_drain(receive), _DRAIN_SECONDS)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _drain(receive: Receive) -> None:
    left = _DRAIN_BYTES
    while left > 0:
        message = await receive()
        left -= len(message.get("body", b""))
        if not message.get("more_body", False):
            return
