"""The explorer served on this machine: its socket, its workers, and how they end."""

import asyncio
import os
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from html import escape
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

import uvicorn

from sugenet.bnn import Network
from sugenet.errors import SugenetError
from sugenet.web.api import PORT, app
from sugenet.web.connections import Connection
from sugenet.web.guards import is_loopback
from sugenet.web.jobs import Desk

__all__ = ["serve"]

_BACKLOG = 32
"""Connections that are taken at a time, before it is looked how many there are."""


class _Server(uvicorn.Server):
    """A server that ends its workers first: whoever waits for one of them is told at once."""

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
) -> None:
    """Serve the explorer until Ctrl-C.

    Parameters
    ----------
    network, samples, truth, title, index
        As in `sugenet.web.payload`.
    host
        The address to listen at: this machine alone unless said.
    port
        The port; 0 for any free one. Where the usual one is taken, a free one is used.
    open_browser
        Whether to open the page.
    workers
        Questions that are answered at a time (default: one more than there are cores, from 3 to 9).
    notify
        Is told the address, and what else a person should know.
    results
        The path of a results file about these samples; without samples those inside are shown.
    token
        Whether requests must show the random token that is part of the address (default: yes).
    allow_hosts
        Further names by which the server is reached, NAME or NAME:PORT (default: none).
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
    """A file that leads to the page: other users see the commands that run here, and so must not see the
    token in one.
    """
    path = Path(folder) / "open.html"
    path.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(address)}">')
    return path.as_uri()


@contextmanager
def _hangup_terminates() -> Iterator[None]:
    """A terminal that is closed ends the server in order; one that was started to outlive
    its terminal goes on.
    """
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
    """Run until it is interrupted; in a thread where an event loop runs already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        server.run(sockets=[listening])
        return
    over = threading.Event()  # an interrupted join takes the thread as ended, though it still runs

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
    """A socket that listens, at another port where the usual one is taken."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        raise SugenetError(f"port={port!r} must be a whole number from 0 to 65535.")
    try:
        return _bound(host, port)
    except OSError as error:
        if isinstance(error, socket.gaierror):
            raise SugenetError(f"host={host!r} is no address of this machine: {error.strerror}.") from None
        if port != PORT:
            raise SugenetError(
                f"{host}:{port} cannot be used: {error.strerror}. Choose another port, or 0 for any free one."
            ) from None
    try:
        found = _bound(host, 0)
    except OSError as error:
        raise SugenetError(f"host={host!r} cannot be listened at: {error.strerror}.") from None
    notify(f"port {port} is taken, so a free one is used.")
    return found


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


def _first(found: Iterable[Any]) -> Any:
    """IPv4 where there is a choice, as 127.0.0.1 is what people type."""
    return min(found, key=lambda entry: entry[0] != socket.AF_INET)


def _reachable(host: str) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{shown}]" if ":" in shown else shown
