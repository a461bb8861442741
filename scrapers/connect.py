"""Connections that go only where they may: a name is resolved here, and the connection goes to the address checked."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, cast

import httpcore

from scrapers.addresses import refusal
from scrapers.codes import Code, CodedError

MOST_ADDRESSES = 8
"""Addresses of one host that are tried, each for its share of the time that a connection may take."""

KEEP_ALIVE_S = 5.0
"""How long a connection that nobody uses is kept."""

MOST_UNREAD = 256 * 1024
"""Bytes of a connection that wait to be read before no more are taken."""


class AddressRefused(CodedError):
    """A host leads to addresses that must not be connected to: which host, which address, why, and what to do."""

    code = Code.ADDRESS_REFUSED


class Connections:
    """Connections of httpcore's, kept for the next request. The caller bounds how many requests there are at once.

    `named` is the host that the operator named, which may be anywhere. `trust` says which certificates are believed;
    None where nothing is asked but plain http.
    """

    def __init__(self, named: str | None, trust: ssl.SSLContext | None) -> None:
        self._trust = trust
        self._backend = CheckedBackend(named)
        self._free: list[httpcore.AsyncHTTPConnection] = []

    @asynccontextmanager
    async def ask(self, request: httpcore.Request) -> AsyncIterator[httpcore.Response]:
        """Send a request, and yield the answer. Where its body is not read to its end, the connection is not kept."""
        connection = await self._kept(request.url.origin) or httpcore.AsyncHTTPConnection(
            request.url.origin, self._trust, KEEP_ALIVE_S, network_backend=self._backend
        )
        try:
            response = await connection.handle_async_request(request)
            try:
                yield response
            finally:
                await response.aclose()
        finally:
            if connection.is_idle() and not connection.is_closed():
                self._free.append(connection)
            else:
                await connection.aclose()

    async def _kept(self, origin: httpcore.Origin) -> httpcore.AsyncHTTPConnection | None:
        for connection in [one for one in self._free if one.can_handle_request(origin)]:
            self._free.remove(connection)
            if connection.is_idle() and not connection.has_expired():
                return connection
            await connection.aclose()
        return None

    async def aclose(self) -> None:
        """Close them all."""
        while self._free:
            await self._free.pop().aclose()


class CheckedBackend(httpcore.AsyncNetworkBackend):
    """Opens TCP connections for httpcore, to addresses of the public Internet alone.

    Each connection resolves its host once and goes to the very address that was checked, so a name that answers
    otherwise the next time gains nothing. TLS still holds the certificate against the name. `named` is the host that
    the operator named: it may be anywhere. Raises `AddressRefused`.
    """

    def __init__(self, named: str | None = None) -> None:
        self._named = named

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,  # noqa: ARG002  httpcore's face; the client gives neither
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of `host` that answers. `timeout`, in seconds, is for all of it."""
        try:
            async with asyncio.timeout(timeout):
                addresses = await self._addresses(host, port)
                share_s = None if timeout is None else timeout / len(addresses)
                for address in addresses[:-1]:
                    with contextlib.suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                        return await _connected(address, port, share_s)
                return await _connected(addresses[-1], port, None)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(f"{host} took no connection within {timeout:g} s") from error

    async def _addresses(self, host: str, port: int) -> list[str]:
        try:
            found = await _looked_up(host, port)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(f"the name {host} cannot be resolved: {error}") from error
        if host == self._named:
            return found[:MOST_ADDRESSES]
        allowed = [address for address in found if refusal(address) is None]
        if not allowed:
            told = ", ".join(f"{address}: {refusal(address)}" for address in found[:MOST_ADDRESSES])
            raise AddressRefused(
                f"refused: {host} leads to {told}; a source is read at public addresses only. If that is a mirror of"
                " yours, name it: --base-url or KIX_BASE_URLS"
            )
        return allowed[:MOST_ADDRESSES]


async def _connected(address: str, port: int, timeout: float | None) -> httpcore.AsyncNetworkStream:
    try:
        async with asyncio.timeout(timeout):
            return (await asyncio.get_running_loop().create_connection(_Stream, address, port))[1]
    except TimeoutError as error:
        raise httpcore.ConnectTimeout(f"{address} took no connection within {timeout:g} s") from error
    except OSError as error:
        raise httpcore.ConnectError(str(error)) from error


class _Stream(asyncio.Protocol, httpcore.AsyncNetworkStream):
    """A connection as httpcore wants it, on asyncio's own: a request costs a third less than on anyio's (ADR 0012)."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._came = bytearray()
        self._more: asyncio.Future[None] | None = None
        self._ended = False
        self._broken: Exception | None = None

    # -- what the event loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._came += data
        if len(self._came) > MOST_UNREAD:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended, self._broken = True, exc
        self._wake()

    def _wake(self) -> None:
        if self._more is not None and not self._more.done():
            self._more.set_result(None)

    # -- what httpcore asks for

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return what came, at least a byte; nothing at the end."""
        if not self._came and not self._ended:
            self._more = self._loop.create_future()
            try:
                async with asyncio.timeout(timeout):
                    await self._more
            except TimeoutError as error:
                raise httpcore.ReadTimeout(f"nothing came for {timeout:g} s") from error
        if self._broken is not None and not self._came:
            raise httpcore.ReadError(str(self._broken)) from self._broken
        taken = bytes(self._came[:max_bytes])
        del self._came[:max_bytes]
        if not self._came and not self._ended:
            self._transport.resume_reading()
        return taken

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002  a request is short
        """Send it, or leave it to the event loop to send."""
        if self._transport.is_closing():
            raise httpcore.WriteError("the connection was closed")
        self._transport.write(buffer)

    async def aclose(self) -> None:
        """End the connection, whatever it is doing."""
        self._transport.abort()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Go on with TLS, with a certificate for `server_hostname`."""
        try:
            async with asyncio.timeout(timeout):
                transport = await self._loop.start_tls(
                    self._transport, self, ssl_context, server_hostname=server_hostname
                )
        except BaseException as error:
            self._transport.abort()
            if isinstance(error, TimeoutError):
                raise httpcore.ConnectTimeout(f"no TLS within {timeout:g} s") from error
            if isinstance(error, OSError):  # ssl.SSLError is one
                raise httpcore.ConnectError(str(error)) from error
            raise
        if transport is None:
            raise httpcore.ConnectError("the connection was closed")
        self._transport = transport
        return self

    def get_extra_info(self, info: str) -> Any:
        """Tell what httpcore asks about a connection: among others whether something came that nobody asked for."""
        if info == "is_readable":
            return bool(self._came) or self._ended
        return self._transport.get_extra_info(info)


async def _looked_up(host: str, port: int) -> list[str]:
    """Resolve a name in a thread that nobody waits for: one that hangs must not hold up a process that is to end."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def settle(found: list[str], error: Exception | None) -> None:
        if answer.done():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(found)

    def look_up() -> None:
        found: list[str] = []
        failed: Exception | None = None
        try:
            rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found = list(dict.fromkeys(str(address[0]) for *_, address in rows))
        except (OSError, UnicodeError) as error:
            failed = error
        with contextlib.suppress(RuntimeError):  # the loop was closed in the meantime
            loop.call_soon_threadsafe(settle, found, failed)

    threading.Thread(target=look_up, name=f"look up {host}", daemon=True).start()
    return await answer
