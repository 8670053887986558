"""Protection of the server: requests need a token, and must not be too large or too slow.

The link that `serve` prints contains the token. The first visit sets a cookie and removes the token from the
address; scripts send it as `Authorization: Bearer`. The cookie is signed with the token and does not contain
it. Browsers send a cookie to every port of a machine, so its name contains the port.

uvicorn limits neither the size of a body nor the time to receive it, so `Guard` does.

A page from elsewhere can make a browser send requests to a server on this machine. It cannot choose `Host`,
so a name that was bound to 127.0.0.1 on purpose is refused. It cannot hide `Origin` and `Sec-Fetch-Site`. And
it cannot send `X-Sugenet` without asking first, which is never granted.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import socket
from base64 import b64encode
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from hashlib import sha256
from ipaddress import ip_address
from secrets import token_hex
from typing import Any, TypeAlias
from urllib.parse import parse_qs

from sugenet.errors import SugenetError
from sugenet.io.plain.texts import strict_json

__all__ = ["CLIENT", "HEADERS", "Guard", "error_body", "is_loopback", "parse_json"]

CLIENT = "sugenet.client"
"""Entry of a request's scope that identifies the client: a browser, a script by name, or an address."""

MOST_BYTES = 1 << 20
"""Maximum number of bytes of a request's body."""
MOST_CERTIFICATE = 32 << 20
"""Maximum number of bytes of a certificate to check."""
MOST_HELD = 64 << 20
"""Maximum number of bytes of all certificates held at a time, and of all other bodies together."""
BODY_SECONDS = 20.0
"""Seconds within which a body must arrive."""
_DRAIN_BYTES, _DRAIN_SECONDS = 1 << 30, 20.0
"""How many bytes of a body that is too large are read and dropped, and for how many seconds."""
_NAME_LETTERS = 64
"""Maximum number of characters of a script's name."""
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
"""Headers of every response, in addition to the Content-Security-Policy."""
_HOP = 'location.replace((location.href.includes("?") ? "/" : "/?") + location.hash);'
"""Script that reloads the page after a link from another site, since browsers send the cookie only on a visit
of the same site.

The address must differ from the previous one, or nothing is loaded.
"""
_HOP_PAGE = f"<!doctype html><meta charset=utf-8><title>sugenet</title><script>{_HOP}</script>".encode()
_HOP_POLICY = f"default-src 'none'; script-src 'sha256-{b64encode(sha256(_HOP.encode()).digest()).decode()}'"

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]


class _UnansweredError(Exception):
    """Request that is refused, with its status and a sentence."""

    def __init__(self, status: int, sentence: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, headers


def error_body(sentence: str) -> bytes:
    """Return an error as JSON in ASCII."""
    return json.dumps({"error": sentence}).encode()


def is_loopback(host: str) -> bool:
    """Return whether an address is only reachable from this machine.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def _address(host: str) -> Any:
    try:
        address = ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def parse_json(body: bytes) -> Any:
    """Read strict JSON: UTF-8, no NaN, no Infinity, no duplicate keys.

    Examples
    --------
    >>> parse_json(b'{"n": 3}')
    {'n': 3}
    >>> parse_json(b"[NaN]")
    Traceback (most recent call last):
    sugenet.errors.SugenetError: the body is not JSON: NaN is not a JSON number.
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
    """ASGI application around another one: refuses invalid requests, and adds security headers.

    Parameters
    ----------
    app
        The guarded application.
    host, port
        The address of the server.
    policy
        The Content-Security-Policy of the page.
    token
        The token that a request must contain. None: requests need no token.
    allowed
        Further names of this server, NAME or NAME:PORT, as a proxy or a forwarded port has.
    """

    def __init__(
        self, app: App, *, host: str, port: int, policy: str, token: str | None, allowed: Iterable[str] = ()
    ) -> None:
        self._app, self._port, self._token = app, port, None if token is None else token.encode()
        self._cookie = f"sugenet-{port}"
        names = {"127.0.0.1", "localhost", "[::1]"} if is_loopback(host) else set()
        plain, address = host.lower(), _address(host)
        names.add(f"[{plain}]" if ":" in plain else plain)
        if address is not None and address.is_unspecified:
            names = {"localhost", socket.gethostname().lower()}
        self._names = names
        self._allowed = frozenset(name.lower() for name in allowed)
        self._headers = [(b"content-security-policy", f"{policy}; frame-ancestors 'none'".encode()), *HEADERS]
        self._held: Counter[int] = Counter()
        """Bytes of bodies that are held now, for each size limit."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":  # startup and shutdown; there are no web sockets
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def answer(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self._headers]
            await send(message)

        body = _Body(receive, _most(scope))
        try:
            is_link = self._look(scope)
            if await self._let_in(scope, is_link, send):
                return
            if scope["method"] == "HEAD":  # like GET; uvicorn drops the body
                scope = {**scope, "method": "GET"}
            elif scope["method"] != "GET":
                receive = await self._read(body)
            await self._app(scope, receive, answer)
        except _UnansweredError as refused:
            self._let_go(body)
            await _refuse(answer, body, scope, refused)
        except _GoneError:
            return
        except Exception as error:
            if not has_begun:  # here, since a response made further out would lack the headers
                sentence = f"a bug in sugenet, please report it: {type(error).__name__}."
                await _refuse(answer, body, scope, _UnansweredError(500, sentence))
            raise
        finally:
            self._let_go(body)

    def _look(self, scope: Message) -> bool:
        """Refuse requests by their headers; return whether a link from another site was followed."""
        host = _one(scope, "host")
        if host is None or not self._is_ours(host, scope.get("server")):
            raise _UnansweredError(
                421,
                f"this server answers for {self._shown()}, not for {str(host)[:60]!r}. "
                f"Use the address that it printed, or start it with --allow-host NAME.",
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
        is_ours = site in (None, "same-origin", "none")
        if not is_ours and not (is_link and scope["method"] == "GET"):
            raise _UnansweredError(403, f"a {site} request is refused: only the page of this server may ask.")
        coding = _one(scope, "content-encoding")
        if coding is not None and coding.lower() != "identity":
            raise _UnansweredError(415, f"the body is encoded as {coding[:60]!r}. Send it as it is.")
        length = _one(scope, "content-length")
        if length is not None and length.isdecimal() and int(length[:20]) > _most(scope):
            raise _UnansweredError(
                413, f"the body has {length[:20]} bytes, but at most {_most(scope):,} are read."
            )

        return not is_ours

    def _is_ours(self, host: str, server: tuple[str, int] | None) -> bool:
        host = host.lower()
        name, colon, port = host.rpartition(":")
        if not colon or "]" in port:
            name, port = host, "80"
        if host in self._allowed or name in self._allowed:
            return True
        # a name can be bound to this machine; the connection's own address is safe
        ours = None if server is None else _address(server[0])
        return port == str(self._port) and (
            name in self._names or (ours is not None and _address(name) == ours)
        )

    def _shown(self) -> str:
        return " and ".join(sorted({f"{name}:{self._port}" for name in self._names} | self._allowed))

    # -- the token -------------------------------------------------------------------------------------------

    async def _let_in(self, scope: Message, is_link: bool, send: Send) -> bool:
        """Identify the client, and refuse it without a token; return whether the request was already
        redirected.
        """
        address = (scope.get("client") or ("",))[0]
        name = _one(scope, "x-sugenet-client")
        scope[CLIENT] = address if name is None else f"{address} {name[:_NAME_LETTERS]}"
        if self._token is None:
            return False
        is_page = scope["path"] == "/" and scope["method"] in ("GET", "HEAD")
        tokens = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token") if is_page else None
        if tokens is not None:
            self._compare(tokens[-1])
            await self._send_on(is_link, send, self._new_cookie())
            return True
        if is_link:
            await self._send_on(is_link, send)
            return True
        session = self._session(scope)
        if session is not None:
            scope[CLIENT] = f"session {session}"
            return False
        kind, _, token = (_one(scope, "authorization") or "").partition(" ")
        self._compare(token.strip() if kind.lower() == "bearer" else None)
        return False

    def _compare(self, token: str | None) -> None:
        assert self._token is not None
        if token is None or not hmac.compare_digest(token.encode(), self._token):
            how = "the token is missing" if token is None else "the token is wrong"
            sentence = f"{how}. Open the link that the server printed, or send Authorization: Bearer TOKEN."
            raise _UnansweredError(401, sentence, (b"www-authenticate", b"Bearer"))

    def _session(self, scope: Message) -> str | None:
        """Return the number of a browser with a valid cookie."""
        for pair in (_one(scope, "cookie") or "").split(";"):
            name, _, value = pair.strip().partition("=")
            number, _, signed = value.partition(".")
            if name == self._cookie and hmac.compare_digest(signed.encode(), self._sign(number)):
                return number
        return None

    def _sign(self, number: str) -> bytes:
        assert self._token is not None
        return hmac.new(self._token, number.encode(), sha256).hexdigest().encode()

    def _new_cookie(self) -> tuple[bytes, bytes]:
        number = token_hex(16)
        value = f"{self._cookie}={number}.{self._sign(number).decode()}"
        return b"set-cookie", f"{value}; Path=/; HttpOnly; SameSite=Strict".encode()

    async def _send_on(self, is_link: bool, send: Send, *headers: tuple[bytes, bytes]) -> None:
        """Redirect to the page without the token in its address."""
        status, body = (200, _HOP_PAGE) if is_link else (303, b"")
        policy = f"{_HOP_POLICY}; frame-ancestors 'none'".encode()
        all_headers = [
            (b"content-type", b"text/html; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
            (b"content-security-policy", policy),
            *HEADERS,
            *headers,
        ]
        if not is_link:
            all_headers.append((b"location", b"/"))
        await send({"type": "http.response.start", "status": status, "headers": all_headers})
        await send({"type": "http.response.body", "body": body})

    # -- the body --------------------------------------------------------------------------------------------

    async def _read(self, body: _Body) -> Receive:
        """Read the body while it is small and fast enough; return a function that passes it on."""

        async def read() -> None:
            while not body.is_whole:
                message = await body.receive()
                if message["type"] == "http.disconnect":
                    raise _GoneError
                more = message.get("body", b"")
                body.held.extend(more)
                body.size += len(more)
                self._held[body.most] += len(more)
                if body.size > body.most:
                    raise _UnansweredError(413, f"the body has more than {body.most:,} bytes.")
                if self._held[body.most] > MOST_HELD:
                    raise _UnansweredError(503, "too many bodies arrive at once. Send it again later.")

        try:
            await asyncio.wait_for(read(), BODY_SECONDS)
        except TimeoutError:
            raise _UnansweredError(408, f"the body did not arrive within {BODY_SECONDS:g} s.") from None
        handed = [bytes(body.held)]
        body.held.clear()

        async def hand_over() -> Message:
            if not handed:
                return await body.receive()
            return {"type": "http.request", "body": handed.pop(), "more_body": False}

        return hand_over

    def _let_go(self, body: _Body) -> None:
        self._held[body.most] -= body.size
        body.held.clear()
        body.size = 0


def _one(scope: Message, name: str) -> str | None:
    """Return a header that may occur once; several are refused."""
    values = [value.decode("latin-1").strip() for key, value in scope["headers"] if key == name.encode()]
    if len(values) > 1:
        raise _UnansweredError(400, f"the header {name} stands {len(values)} times, but may stand once.")
    return values[0] if values else None


def _most(scope: Message) -> int:
    return MOST_CERTIFICATE if scope["path"] == "/api/check" else MOST_BYTES


class _GoneError(Exception):
    """The client closed the connection."""


class _Body:
    """Body of a request while it arrives."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self.most = receive, most
        self.held = bytearray()
        self.size = 0
        """Number of bytes that are held, here or in the application."""
        self.is_whole = False
        """Whether the body is complete."""

    async def receive(self) -> Message:
        message = await self._receive()
        self.is_whole = not message.get("more_body", False)
        return message


async def _refuse(send: Send, body: _Body, scope: Message, refused: _UnansweredError) -> None:
    content = error_body(refused.sentence)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    is_sending = not body.is_whole and any(
        name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"]
    )
    if is_sending:
        headers.append((b"connection", b"close"))
    start = {"type": "http.response.start", "status": refused.status, "headers": [*headers, *refused.headers]}
    await send(start)
    await send({"type": "http.response.body", "body": content, "more_body": True})
    # a client that is still sending would not see a response if the connection closed at once
    if is_sending and refused.status != 408:
        with suppress(TimeoutError):
            await asyncio.wait_for(_drain(body), _DRAIN_SECONDS)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _drain(body: _Body) -> None:
    left = _DRAIN_BYTES
    while left > 0 and not body.is_whole:
        left -= len((await body.receive()).get("body", b""))
