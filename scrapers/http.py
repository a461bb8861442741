"""The only HTTP client: allow-list, limits, pacing, robots, retries, revalidation. Every answer goes to the archive.

It works on httpcore, below httpx's client: no cookies, no proxies or credentials from the environment, no redirect is
followed unseen, every address is looked at before it is connected to, and the raw bytes are there to be bounded
(docs/adr/0003).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import posixpath
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urljoin

import httpcore
import httpx
import stamina
from aiolimiter import AsyncLimiter
from protego import Protego

from scrapers.addresses import without_secrets
from scrapers.archive import Archive, FetchRecord, Validators
from scrapers.bounds import BoundedBody, Limits, retry_after_s
from scrapers.codes import Code
from scrapers.connect import AddressRefused, Connections
from scrapers.contract import Capture, SourcePolicy
from scrapers.errors import GiveUp, NoSuchAnswer, TryAgain
from scrapers.telling import tell

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
REDIRECTS = frozenset({301, 302, 303, 307, 308})
PRODUCT = "kix"
"""The name that robots.txt knows us by."""

REFUSAL_BYTES = 64 * 1024
PASSING = frozenset({408, 425, 429})
BROKEN = (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol)
"""What httpcore raises when a transfer did not come to its end."""

UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"
"""OpenSSL's name for it; httpcore keeps the text of an error, not its kind."""


def _tell_retry(details: stamina.instrumentation.RetryDetails) -> None:
    error = details.caused_by
    if isinstance(error, TryAgain):
        tell(
            "request.retried", url=error.locator, attempt=details.retry_num, wait_s=round(details.wait_for, 3),
            status=error.status, code=error.code, reason=error.reason,
        )  # fmt: skip


# Every failed try is a line in the archive's `fetches`; on standard error it is told only to who asked for a log.
stamina.instrumentation.set_on_retry_hooks((_tell_retry,))

Permit = Callable[[str], Awaitable[None]]


@dataclass(slots=True)
class Traffic:
    """What a sync asked for and got: requests sent, answers 304, bytes received (compressed as they came)."""

    requests: int = 0
    not_modified: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: httpx.Headers
    body: bytes


@dataclass(slots=True)
class Host:
    """What a sync knows of one origin: its robots rules, its pace, and until when it asked to be left alone."""

    robots: Protego | None = None
    pace: AsyncLimiter | None = None
    quiet_until: float = 0.0
    ready: asyncio.Lock = field(default_factory=asyncio.Lock)
    known: bool = False


class Client:
    """Fetches a source's URLs for one sync, each at most once. An async context manager; implements `Fetch`.

    `base_url` is the operator's: when given, its origin alone is allowed, and only then plain http or loopback.
    Raises `GiveUp` for an answer that cannot be had: refused address, robots, bounds, a final status, retries used up.
    """

    def __init__(  # noqa: PLR0913  each by name
        self,
        policy: SourcePolicy,
        archive: Archive,
        sync_id: int,
        *,
        user_agent: str,
        base_url: str | None = None,
        limits: Limits | None = None,
        revalidate: bool = True,
        resumed: bool = False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.policy = policy
        self.traffic = Traffic()
        self._archive = archive
        self._sync_id = sync_id
        self._agent = user_agent
        self._base_url = base_url
        self._limits = limits or Limits()
        self._revalidate = revalidate
        self._resumed = resumed
        self._now = now
        self._turns: dict[str, asyncio.Lock] = {}
        self._seen: set[str] = set()
        self._hosts: dict[str, Host] = {}
        self._slots = asyncio.Semaphore(policy.connections)
        named = _parsed(base_url) if base_url else None
        plain = named is not None and named.scheme == "http"
        self._connections = Connections(
            named.raw_host.decode("ascii") if named else None,
            # Reading the certificates takes longer than many requests.
            None if plain else httpx.create_ssl_context(trust_env=False),
        )

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connections.aclose()

    async def __call__(self, url: str, *, again: bool = False, fresh: bool = False) -> Capture:
        """Return the answer to `url`: from this sync's archive when it is there, else from the network."""
        async with self._turns.setdefault(url, asyncio.Lock()):
            if not again and (self._resumed or url in self._seen):
                held = self._archive.held(url, self._sync_id)
                if held:
                    return held
            self._seen.add(url)
            try:
                return await self._fetch(url, fresh=fresh)
            except GiveUp as error:
                tell(
                    "request.failed", logging.WARNING, url=error.locator, status=error.status, code=error.code,
                    reason=error.reason,
                )  # fmt: skip
                raise

    async def _fetch(self, url: str, *, fresh: bool) -> Capture:
        await self._permit(url)
        known = self._archive.validators(url) if self._revalidate and not fresh else None
        try:
            return await self._with_retries(url, known, self._permit)
        except TryAgain as error:
            reason = f"{error.reason} (tried {self._limits.attempts} times)"
            raise GiveUp(error.locator, reason, code=error.code, status=error.status) from error

    # -- permission

    async def _check_address(self, url: str) -> None:
        origin, parts = _origin(url), _parsed(url)
        if parts.userinfo:
            raise GiveUp(url, "a URL with credentials is not asked", code=Code.ADDRESS_REFUSED)
        path = posixpath.normpath("/" + unquote(parts.path).lstrip("/")).lower()
        if any(f"{path}/".startswith(f"{closed}/") for closed in self.policy.closed_paths):
            raise GiveUp(url, f"refused: {self.policy.slug} is never asked for {parts.path}", code=Code.ADDRESS_REFUSED)
        if self._base_url is not None:
            if origin != _origin(self._base_url):
                reason = f"refused: not at the given base URL's address {_origin(self._base_url)}"
                raise GiveUp(url, reason, code=Code.ADDRESS_REFUSED)
            return
        if parts.scheme != "https":
            raise GiveUp(url, "refused: only https (plain http needs --base-url)", code=Code.ADDRESS_REFUSED)
        if parts.host not in self.policy.hosts or parts.port is not None:
            reason = f"refused: {parts.netloc.decode('ascii')} is not a host of {self.policy.slug}"
            raise GiveUp(url, reason, code=Code.ADDRESS_REFUSED)

    async def _permit(self, url: str) -> None:
        await self._check_address(url)
        host = await self._host(url)
        if host.robots is not None and not host.robots.can_fetch(url, PRODUCT):
            raise GiveUp(url, "robots.txt forbids it", code=Code.ROBOTS)

    async def _host(self, url: str) -> Host:
        host = self._at(url)
        async with host.ready:
            if not host.known:
                await self._learn(host, _origin(url))
                host.known = True
        return host

    def _at(self, url: str) -> Host:
        return self._hosts.setdefault(_origin(url), Host())

    async def _learn(self, host: Host, origin: str) -> None:
        rate = 0.0 if _parsed(origin).host in LOOPBACK else self.policy.requests_per_s
        host.pace = AsyncLimiter(1, 1 / rate) if rate else None
        host.robots = await self._read_robots(f"{origin}/robots.txt")
        delay = host.robots.crawl_delay(PRODUCT) if host.robots else None
        if delay and delay > self._limits.crawl_delay_s:
            bound = f"the longest that is kept is {self._limits.crawl_delay_s:g} s (KIX_MAX_CRAWL_DELAY_S)"
            reason = f"asks for {delay:g} s between two requests; {bound}"
            raise GiveUp(f"{origin}/robots.txt", reason, code=Code.CRAWL_DELAY)
        if delay and delay > (1 / rate if rate else 0.0):
            host.pace = AsyncLimiter(1, float(delay))

    async def _read_robots(self, url: str) -> Protego | None:
        # RFC 9309: a 4xx means that there are no rules; unreachable rules mean that nothing may be asked.
        try:
            capture = await self._with_retries(url, None, self._check_address)
        except NoSuchAnswer:
            return None
        except (TryAgain, GiveUp) as error:
            reason = f"robots.txt cannot be read, so nothing is asked: {error.reason}"
            raise GiveUp(error.locator, reason, code=Code.ROBOTS_UNREADABLE, status=error.status) from error
        if len(capture.body) > self._limits.robots_bytes:
            reason = f"{len(capture.body):,} bytes of rules; at most {self._limits.robots_bytes:,} are read"
            raise GiveUp(url, reason, code=Code.ROBOTS_UNREADABLE)
        return Protego.parse(capture.body.decode("utf-8-sig", errors="replace"))

    # -- one answer

    async def _with_retries(self, url: str, known: Validators | None, permit: Permit) -> Capture:
        begun = time.monotonic()
        try:
            return await self._attempt(url, known, permit)
        except TryAgain as error:
            left_s = max(self._limits.retry_s - (time.monotonic() - begun), 0.001)
            return await self._go_on(error, left_s, url, known, permit)

    async def _go_on(
        self, first: TryAgain, left_s: float, url: str, known: Validators | None, permit: Permit
    ) -> Capture:
        """Go on after a first attempt that failed. Most do not, and need nothing of this (ADR 0012)."""
        limits = self._limits
        retries = stamina.retry_context(
            on=_wait_or_backoff, attempts=limits.attempts, timeout=left_s,
            wait_initial=0.2, wait_max=limits.wait_max_s, wait_jitter=0.5,
        )  # fmt: skip
        async for attempt in retries:
            with attempt:
                if attempt.num == 1:
                    raise first
                return await self._attempt(url, known, permit)
        raise AssertionError("the retries end with a result or an error")

    async def _attempt(self, url: str, known: Validators | None, permit: Permit) -> Capture:
        try:
            target, answer = await self._follow(url, known, permit)
        except (TryAgain, GiveUp) as error:
            self._note(url, None, "network", error=error.reason)
            raise
        return self._accept(url, target, answer, known)

    async def _follow(self, url: str, known: Validators | None, permit: Permit) -> tuple[str, _Answer]:
        target = url
        for _ in range(self._limits.redirects + 1):
            # What is known belongs to the first address; elsewhere a 304 would confirm another body.
            answer = await self._ask(url, target, known if target == url else None)
            if answer.status not in REDIRECTS:
                return target, answer
            target = await self._next_hop(url, target, answer.headers.get("location", ""), permit)
        raise GiveUp(url, f"more than {self._limits.redirects} redirects", code=Code.REDIRECT)

    async def _next_hop(self, url: str, target: str, location: str, permit: Permit) -> str:
        """Return where a redirect leads, if that may be asked. Its query may be a secret, and is not told."""
        shown = without_secrets(location)
        try:
            following = urljoin(target, location)
            await permit(following)
        except GiveUp as error:
            raise GiveUp(url, f"redirected to {shown}: {error.reason}", code=Code.REDIRECT) from error
        except ValueError as error:
            reason = f"redirected to {shown}: no address that can be asked"
            raise GiveUp(url, reason, code=Code.REDIRECT) from error
        return following

    def _accept(self, url: str, target: str, answer: _Answer, known: Validators | None) -> Capture:
        if answer.status == 304 and known is not None:
            self.traffic.not_modified += 1
            body, digest, via = self._archive.body(known.body_digest), known.body_digest, "revalidated"
        elif answer.status == 200:
            body, via = answer.body, "network"
            digest = self._archive.store(body)
        else:
            self._note(url, answer, "network", error=f"status {answer.status}")
            raise self._refusal(url, target, answer)
        media_type = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if via == "revalidated" and known:
            media_type = media_type or known.media_type or ""
        fetched_at = self._note(url, answer, via, media_type=media_type, digest=digest, size=len(body), known=known)
        return Capture(url, answer.status, fetched_at, media_type, digest, body, via)

    def _refusal(self, url: str, target: str, answer: _Answer) -> TryAgain | GiveUp:
        status = answer.status
        if status not in PASSING and status < 500:
            kind = NoSuchAnswer if 400 <= status < 500 else GiveUp
            return kind(url, f"status {status}", status=status)
        failing = Code.SOURCE_FAILING if status >= 500 else Code.SOURCE_BUSY
        wait_s = retry_after_s(answer.headers.get("retry-after"), self._now())
        if wait_s is not None and wait_s > self._limits.wait_max_s:
            bound = f"the longest wait is {self._limits.wait_max_s:g} s"
            reason = f"status {status}, asked to wait {wait_s:.0f} s; {bound}"
            return GiveUp(url, reason, code=Code.SOURCE_BUSY, status=status)
        if wait_s:
            host = self._at(target)
            host.quiet_until = max(host.quiet_until, time.monotonic() + wait_s)
        return TryAgain(url, f"status {status}", wait_s, code=failing, status=status)

    def _note(
        self,
        url: str,
        answer: _Answer | None,
        via: str,
        *,
        media_type: str | None = None,
        digest: str | None = None,
        size: int | None = None,
        known: Validators | None = None,
        error: str | None = None,
    ) -> datetime:
        headers = answer.headers if answer else httpx.Headers()
        kept = known if via == "revalidated" else None
        fetch = FetchRecord(
            url, answer.status if answer else None, self._now(), via,
            etag=headers.get("etag") or (kept.etag if kept else None),
            last_modified=headers.get("last-modified") or (kept.last_modified if kept else None),
            media_type=media_type, body_digest=digest, size_bytes=size, error=error,
        )  # fmt: skip
        self._archive.record(self._sync_id, fetch)
        return fetch.fetched_at

    async def _ask(self, url: str, target: str, known: Validators | None) -> _Answer:
        """Ask `target`, where `url` leads. Errors name `url`: the query of a redirect may be a secret."""
        limits = self._limits
        request = self._request(target, known)
        async with self._slots:
            await self._wait_turn(target)
            self.traffic.requests += 1
            try:
                async with asyncio.timeout(limits.answer_s):
                    return await self._exchange(url, request)
            except AddressRefused as error:
                raise GiveUp(url, str(error), code=error.code) from error
            except BROKEN as error:
                if UNTRUSTED in str(error):
                    reason = f"its certificate is not to be trusted: {error}"
                    raise GiveUp(url, reason, code=Code.CERTIFICATE) from error
                raise TryAgain(url, f"broken transfer: {str(error) or type(error).__name__}") from error
            except TimeoutError as error:
                raise TryAgain(url, f"no whole answer within {limits.answer_s:g} s") from error

    def _request(self, url: str, known: Validators | None) -> httpcore.Request:
        parts, limits = _parsed(url), self._limits
        headers = {"Host": parts.netloc.decode("ascii"), "User-Agent": self._agent, "Accept-Encoding": "gzip"}
        if known:
            headers |= {"If-None-Match": known.etag} if known.etag else {}
            headers |= {"If-Modified-Since": known.last_modified} if known.last_modified else {}
        timeouts = {"connect": limits.connect_s, "read": limits.read_s, "write": limits.read_s, "pool": None}
        address = httpcore.URL(scheme=parts.raw_scheme, host=parts.raw_host, port=parts.port, target=parts.raw_path)
        # A header is bytes; Latin-1 takes and gives back every one of them.
        encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        return httpcore.Request("GET", address, headers=encoded, extensions={"timeout": timeouts})

    async def _wait_turn(self, url: str) -> None:
        host = self._at(url)
        while (left := host.quiet_until - time.monotonic()) > 0:
            await asyncio.sleep(left + random.uniform(0, 0.2))  # noqa: S311  jitter, upwards only
        if host.pace is not None:
            await host.pace.acquire()

    async def _exchange(self, url: str, request: httpcore.Request) -> _Answer:
        async with self._connections.ask(request) as response:
            headers = httpx.Headers(response.headers, encoding="latin-1")
            body = b""
            if response.status == 200:
                body = await self._whole_body(url, response, headers.get("content-encoding", "identity").lower())
            else:
                await self._skip_body(response)
            return _Answer(response.status, headers, body)

    async def _whole_body(self, url: str, response: httpcore.Response, encoding: str) -> bytes:
        raw = BoundedBody(url, encoding, self._limits)
        async for chunk in response.aiter_stream():
            self.traffic.bytes += len(chunk)
            raw.add(chunk)
        return raw.finish()

    async def _skip_body(self, response: httpcore.Response) -> None:
        """Read what comes with a refusal, if it is short: the connection can then be used again."""
        skipped = 0
        with contextlib.suppress(*BROKEN):  # the status has said what there is to know
            async for chunk in response.aiter_stream():
                self.traffic.bytes += len(chunk)
                skipped += len(chunk)
                if skipped > REFUSAL_BYTES:
                    return


def paced(policy: SourcePolicy, connections: int | None, requests_per_s: float | None) -> SourcePolicy:
    """Return the policy with the operator's pace in place of the source's."""
    changes: dict[str, Any] = {"connections": connections, "requests_per_s": requests_per_s}
    return replace(policy, **{name: value for name, value in changes.items() if value is not None})


def _wait_or_backoff(error: Exception) -> bool | float:
    if not isinstance(error, TryAgain):
        return False
    return True if error.wait_s is None else error.wait_s + random.uniform(0, 0.5)  # noqa: S311  jitter, upwards only


@lru_cache(maxsize=256)  # one request asks for it six times
def _parsed(url: str) -> httpx.URL:
    """Read a URL, once for the check and for the request: two readers might see two hosts in it."""
    try:
        return httpx.URL(url)
    except httpx.InvalidURL as error:
        raise GiveUp(url, f"no address that can be asked: {error}", code=Code.ADDRESS_REFUSED) from error


@lru_cache(maxsize=256)
def _origin(url: str) -> str:
    parts = _parsed(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    host = f"[{parts.host}]" if ":" in parts.host else parts.raw_host.decode("ascii")
    return f"{parts.scheme}://{host}:{port}"
