"""Connections that go only where they may: a name is resolved here, and the connection goes to the address checked."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterable

import httpcore

from scrapers.addresses import refusal
from scrapers.codes import Code, CodedError

MOST_ADDRESSES = 8
"""Addresses of one host that are tried, each for its share of the time that a connection may take."""


class AddressRefused(CodedError):
    """A host leads to addresses that must not be connected to: which host, which address, why, and what to do."""

    code = Code.ADDRESS_REFUSED


class CheckedBackend(httpcore.AsyncNetworkBackend):
    """Opens TCP connections for httpcore, to addresses of the public Internet alone.

    Each connection resolves its host once and goes to the very address that was checked, so a name that answers
    otherwise the next time gains nothing. TLS still holds the certificate against the name. `named` is the host that
    the operator named: it may be anywhere. Raises `AddressRefused`.
    """

    def __init__(self, named: str | None = None) -> None:
        self._named = named
        self._tcp = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of `host` that answers. `timeout`, in seconds, is for all of it."""
        try:
            async with asyncio.timeout(timeout):
                addresses = await self._addresses(host, port)
                share_s = None if timeout is None else timeout / len(addresses)
                for address in addresses[:-1]:
                    with contextlib.suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                        return await self._tcp.connect_tcp(address, port, share_s, local_address, socket_options)
                return await self._tcp.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)
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
