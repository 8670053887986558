"""The explorer served on this machine: its socket, its workers, and its shutdown.

Connections are limited in number and time, so that idle clients do not keep others out. uvicorn itself limits
the size of a request's head, the time between two requests and the time of the shutdown
(`h11_max_incomplete_event_size`, `timeout_keep_alive`, `timeout_graceful_shutdown`). It lacks the following
limits, or has different ones:

- a first request whose head does not arrive, and an answer that is not fetched, are waited for without end;
- with `limit_concurrency` it answers 503 to those who ask, while connections that ask nothing stay;
- what is not HTTP is answered in plain text, without the headers that browsers obey.
"""

import asyncio
import os
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from html import escape
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from sugenet.errors import SugenetError
from sugenet.glance import Overview
from sugenet.logic import ComposedAnswer
from sugenet.nn import Network
from sugenet.web.api import PORT, app
from sugenet.web.guards import HEADERS, error_body, is_loopback
from sugenet.web.jobs import Desk

__all__ = [
    "Connection",
    "serve",
]

_REQUEST_SECONDS = 20.0
"""Seconds within which the head of a request must arrive, and some part of a response must be fetched."""
_CONNECTIONS = 400
"""Maximum number of open connections; fewer if the system allows less than twice as many files."""


class Connection(H11Protocol):
    """Connection that is closed if one side is too slow or there are too many; it rejects other protocols in
    JSON.
    """

    _timer: asyncio.TimerHandle | None = None
    """Timer for the head of a request."""
    _stall: asyncio.TimerHandle | None = None
    """Timer for a response that is not fetched."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # prefer one that is idle to one that may be about to ask
        if len(self.connections) > _max_connections():
            idle = (
                other
                for other in self.connections
                if isinstance(other, Connection) and other is not self and other.is_idle
            )
            left = next(idle, self)
            self.connections.discard(left)  # at once, so that it is not chosen again
            left.transport.abort()
        self._expect()

    def data_received(self, data: bytes) -> None:
        self._expect()
        super().data_received(data)
        if not self.is_idle:
            _cancel(self._timer)
            self._timer = None

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._timer)
        _cancel(self._stall)
        super().connection_lost(exc)

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _expect(self) -> None:
        if self._timer is None and self.is_idle:
            self._timer = self.loop.call_later(_REQUEST_SECONDS, self.transport.close)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall = self._watch()

    def resume_writing(self) -> None:
        _cancel(self._stall)
        super().resume_writing()

    def _watch(self) -> asyncio.TimerHandle:
        return self.loop.call_later(
            _REQUEST_SECONDS, self._look_again, self.transport.get_write_buffer_size()
        )

    def _look_again(self, before: int) -> None:
        if self.transport.get_write_buffer_size() >= before:
            self.transport.abort()
        else:
            self._stall = self._watch()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 its own words are not JSON
        body = error_body("this is not an HTTP request that the server understands.")
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
            (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
            *HEADERS,
        ]
        head = b"".join(b"%b: %b\r\n" % header for header in headers)
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n" + head + b"\r\n" + body)
        self.transport.close()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


@cache
def _max_connections() -> int:
    """Return a number that leaves files for the workers, whose pipes count too."""
    try:
        import resource
    except ImportError:  # Windows counts differently
        return _CONNECTIONS
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _CONNECTIONS if soft == resource.RLIM_INFINITY else min(_CONNECTIONS, soft // 2)


_BACKLOG = 32
"""Number of connections that are accepted before they are counted again."""


class _Server(uvicorn.Server):
    """Server that ends its workers first: clients that wait for one of them are told at once."""

    def __init__(self, config: uvicorn.Config, desk: Desk) -> None:
        super().__init__(config)
        self._desk = desk

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await asyncio.to_thread(self._desk.close)
        await super().shutdown(sockets)


def serve(
    network: Network,
    samples: Any = None,
    truth: Any = None,
    *,
    title: str = "sugenet",
    host: str = "127.0.0.1",
    port: int = PORT,
    open_browser: bool = False,
    index: int | None = None,
    workers: int | None = None,
    notify: Callable[[str], object] = print,
    results: str | None = None,
    token: bool = True,
    allow_hosts: Sequence[str] = (),
    composed: Sequence[ComposedAnswer] = (),
    seen: Overview | None = None,
) -> None:
    """Serve the explorer until Ctrl-C.

    Parameters
    ----------
    network, samples, truth, title, index
        As in `sugenet.web.payload`.
    host
        The address to listen at (default: this machine only).
    port
        The port; 0 for any free one. If the default port is taken, a free one is used.
    open_browser
        Whether to open the page.
    workers
        Number of questions that are answered at a time (default: number of cores plus one, from 3 to 9).
    notify
        Called with the address, and with other notes for the user.
    results
        The path of a results file about these samples; without samples those inside are shown.
    token
        Whether requests must contain the random token that is part of the address (default: yes).
    allow_hosts
        Further names by which the server is reached, NAME or NAME:PORT (default: none).
    composed
        Answers of `sugenet.logic` about several samples, which the page shows too (default: none).
    seen
        An overview of the network, which the page shows too (default: none).
    """
    listening = _listen(host, port, notify)
    with closing(listening):
        taken = listening.getsockname()[1]
        secret = token_urlsafe(24) if token else None
        made = app(
            network,
            samples,
            truth,
            title=title,
            index=index,
            host=host,
            port=taken,
            workers=min(9, max(3, 1 + (os.cpu_count() or 1))) if workers is None else workers,
            results=results,
            token=secret,
            allow_hosts=allow_hosts,
            composed=composed,
            seen=seen,
        )
        for warning in _warnings(host, token):
            notify(f"warning: {warning}")
        address = f"http://{_reachable(host)}:{taken}/" + ("" if secret is None else f"?token={secret}")
        config = uvicorn.Config(
            made,
            http=Connection,
            ws="none",
            lifespan="off",  # the workers are started and ended here, also after a second Ctrl-C
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_graceful_shutdown=1,
        )
        desk: Desk = made.state.desk
        server = _Server(config, desk)
        with suppress(KeyboardInterrupt), _hangup_terminates():
            try:
                desk.open()
                notify(f"{title} is at {address} (Ctrl-C ends it)")
                if open_browser:
                    where = address if secret is None else _way_in(desk.folder, address)
                    threading.Thread(target=webbrowser.open, args=(where,), daemon=True).start()
                _run(server, listening)
            finally:
                desk.close()


def _warnings(host: str, token: bool) -> Iterator[str]:
    if not token:
        who = "every user of this machine" if is_loopback(host) else "whoever reaches this address"
        yield f"there is no token, so {who} can see the model and its samples, and ask."
    if not is_loopback(host):
        yield f"{host} is not this machine alone, and HTTP is not encrypted. Use a trusted network only."


def _way_in(folder: str, address: str) -> str:
    """Return a file that redirects to the page: other users can see commands, so these must not contain the
    token.
    """
    path = Path(folder) / "open.html"
    path.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(address)}">')
    return path.as_uri()


@contextmanager
def _hangup_terminates() -> Iterator[None]:
    """End the server in order when its terminal is closed, unless it was started to outlive the terminal."""
    hangup = getattr(signal, "SIGHUP", None)
    if (
        hangup is None
        or threading.current_thread() is not threading.main_thread()
        or signal.getsignal(hangup) != signal.SIG_DFL
    ):
        yield
        return
    signal.signal(hangup, lambda *_: signal.raise_signal(signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(hangup, signal.SIG_DFL)


def _run(server: _Server, listening: socket.socket) -> None:
    """Run until interrupted; in a thread if an event loop already runs, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        server.run(sockets=[listening])
        return
    over = threading.Event()  # an interrupted join treats the thread as ended, though it still runs

    def run() -> None:
        try:
            server.run(sockets=[listening])
        finally:
            over.set()

    thread = threading.Thread(target=run)
    try:
        thread.start()
        over.wait()
    finally:
        server.should_exit = True
        if thread.ident is not None:
            over.wait()
            thread.join()


def _listen(host: str, port: int, notify: Callable[[str], object]) -> socket.socket:
    """Return a listening socket, at another port if the default one is taken."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        raise SugenetError(f"port={port!r} must be an integer from 0 to 65535.")
    try:
        return _bound(host, port)
    except OSError as error:
        if isinstance(error, socket.gaierror):
            raise SugenetError(
                f"host={host!r} is not an address of this machine: {error.strerror}."
            ) from None
        if port != PORT:
            raise SugenetError(
                f"{host}:{port} cannot be used: {error.strerror}. Choose another port, or 0 for any free one."
            ) from None
    try:
        listener = _bound(host, 0)
    except OSError as error:
        raise SugenetError(f"host={host!r} is not an address to listen on: {error.strerror}.") from None
    notify(f"port {port} is taken, so a free one is used.")
    return listener


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, where = _first(
        socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    )
    made = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere it would let two servers share a port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(where)
        made.listen(128)
    except OSError:
        made.close()
        raise
    return made


def _first(entries: Iterable[Any]) -> Any:
    """Return an address, IPv4 if there is a choice, since people type 127.0.0.1."""
    return min(entries, key=lambda entry: entry[0] != socket.AF_INET)


def _reachable(host: str) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{shown}]" if ":" in shown else shown
