"""Connections of the local server: bounded in number and time,
so that nobody who asks nothing keeps others out.

What uvicorn promises is left to it: how large the head of a request may be, how long a connection may rest
between two requests, how long the end may take (`h11_max_incomplete_event_size`, `timeout_keep_alive`,
`timeout_graceful_shutdown`). The rest it has no limit for, or another one:

- a first request whose head does not arrive, and an answer that is not fetched, are waited for without end;
- with `limit_concurrency` it answers 503 to those who ask, while connections that ask nothing stay;
- what is not HTTP is answered in plain text, without the headers that browsers obey.
"""

import asyncio
from functools import cache

from uvicorn.protocols.http.h11_impl import H11Protocol

from sugenet.web.guards import HEADERS, error_body

__all__ = ["Connection"]

_REQUEST_SECONDS = 20.0
"""In which the head of a request must arrive, and something of an answer be fetched."""
_CONNECTIONS = 400
"""That are open at a time; fewer where the system allows less than twice as many files."""


class Connection(H11Protocol):
    """A connection that is closed when one side of it takes too long or there are too many, and that says in
    JSON what is not HTTP.
    """

    _timer: asyncio.TimerHandle | None = None
    """For the head of a request."""
    _stall: asyncio.TimerHandle | None = None
    """For an answer that is not fetched."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # rather one that asks nothing than one that may be about to ask
        if len(self.connections) > _most_connections():
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

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 its own words are no JSON
        body = error_body("this is no HTTP request that the server understands.")
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
def _most_connections() -> int:
    """So many that files are left for the workers, whose pipes count too."""
    try:
        import resource
    except ImportError:  # Windows counts otherwise
        return _CONNECTIONS
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _CONNECTIONS if soft == resource.RLIM_INFINITY else min(_CONNECTIONS, soft // 2)
