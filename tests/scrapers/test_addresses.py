"""Which addresses are connected to. Ranges: the RFCs that set them aside. A name is a made one, its resolver a dict."""

import asyncio
import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address, ip_network
from pathlib import Path

import certifi
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from scrapers.addresses import check_base_url, refusal, without_secrets, without_user_info
from scrapers.archive import Archive
from scrapers.bounds import Limits
from scrapers.contract import Capture, Scope, SourcePolicy
from scrapers.errors import GiveUp, NoSuchAnswer
from scrapers.http import Client

HOST = "board.example"
POLICY = SourcePolicy("test", "Test", f"https://{HOST}", frozenset({HOST, "mirror.example"}), "", "")
PUBLIC = "8.8.8.8"
"""A public address; the tests lead whoever connects to it to a port on loopback."""

ONCE = Limits(attempts=1, answer_s=5, read_s=3, connect_s=3)


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("127.0.0.1", "loopback"),  # RFC 1122
        ("127.255.255.254", "loopback"),
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("10.0.0.1", "private"),  # RFC 1918
        ("10.255.255.255", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.0.1", "private"),
        ("100.64.0.1", "carrier"),  # RFC 6598
        ("100.127.255.255", "carrier"),
        ("100.100.100.200", "carrier"),  # where one cloud keeps its metadata
        ("169.254.169.254", "link-local"),  # RFC 3927, and where most clouds keep theirs
        ("168.63.129.16", "cloud"),
        ("192.0.0.192", "protocols"),  # RFC 6890
        ("192.0.2.1", "documentation"),  # RFC 5737
        ("198.51.100.1", "documentation"),
        ("203.0.113.1", "documentation"),
        ("192.88.99.1", "6to4"),  # RFC 7526
        ("198.18.0.1", "benchmarks"),  # RFC 2544
        ("198.19.255.255", "benchmarks"),
        ("224.0.0.1", "multicast"),  # RFC 5771
        ("239.255.255.255", "multicast"),
        ("240.0.0.1", "reserved"),  # RFC 1112
        ("255.255.255.255", "reserved"),
        ("::", "unspecified"),  # RFC 4291
        ("::1", "loopback"),
        ("::7f00:1", "reserved"),  # IPv4-compatible, 127.0.0.1
        ("::ffff:127.0.0.1", "loopback"),  # IPv4-mapped
        ("::ffff:169.254.169.254", "link-local"),
        ("::ffff:a00:1", "private"),
        ("::ffff:0:127.0.0.1", "reserved"),  # IPv4-translated, RFC 2765
        ("64:ff9b::127.0.0.1", "loopback"),  # NAT64, RFC 6052
        ("64:ff9b::a9fe:a9fe", "link-local"),
        ("64:ff9b:1::8.8.8.8", "NAT64"),  # RFC 8215
        ("2002:7f00:1::", "6to4"),  # RFC 3056
        ("2002:a9fe:a9fe::1", "6to4"),
        ("2001:0:4136:e378:8000:63bf:80ff:fffe", "Teredo"),  # RFC 4380, 127.0.0.1 behind it
        ("2001:10::1", "protocols"),  # RFC 4843
        ("2001:db8::1", "documentation"),  # RFC 3849
        ("3fff::1", "documentation"),  # RFC 9637
        ("fe80::1", "link-local"),
        ("fe80::1%1", "link-local"),  # RFC 4007
        ("febf::1", "link-local"),
        ("fec0::1", "site-local"),  # RFC 3879
        ("fc00::1", "private"),  # RFC 4193
        ("fd00:ec2::254", "private"),  # where one cloud keeps its metadata
        ("ff02::1", "multicast"),
        ("100::1", "reserved"),  # RFC 6666
        ("4000::1", "reserved"),
        ("5f00::1", "reserved"),  # RFC 9602
    ],
)
def test_an_address_that_is_not_of_the_public_internet_is_refused(address, what):
    assert what in refusal(address)


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0",
        "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450:4001::1",
        "2001:4860:4860::8888",
        "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
    ],
)  # fmt: skip
def test_an_address_of_the_public_internet_is_taken(address):
    assert refusal(address) is None


SPECIAL = (
    "0.0.0.0/8", "10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/29", "192.0.0.170/31",
    "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "::1/128",
    "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fc00::/7", "fe80::/10",
)  # fmt: skip


def test_nothing_that_python_calls_other_than_global_is_taken():
    edges = [network.network_address for network in map(ip_network, SPECIAL)]
    taken = [str(address) for address in edges if not address.is_global and refusal(str(address)) is None]
    assert taken == []


# -- a resolver, and a way to loopback


@pytest.fixture
def names(monkeypatch) -> dict[str, list[list[str]]]:
    """What each name resolves to, one answer after the other, the last ever after; `asked` counts by the way."""
    answers: dict[str, list[list[str]]] = {}
    real = socket.getaddrinfo

    def resolve(host, port, *rest, **named):
        if host not in answers:
            return real(host, port, *rest, **named)
        found = answers[host].pop(0) if len(answers[host]) > 1 else answers[host][0]
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        family = {4: socket.AF_INET, 6: socket.AF_INET6}
        return [(family[ip_address(one).version], socket.SOCK_STREAM, 6, "", (one, port)) for one in found]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return answers


@pytest.fixture
def connected(monkeypatch, server) -> list[str]:
    """The addresses that were connected to; each leads to the server on loopback."""
    seen: list[str] = []
    real = asyncio.BaseEventLoop.create_connection

    async def connect(self, spoken, address, port, **named):
        seen.append(address)
        return await real(self, spoken, "127.0.0.1", server.server_port, **named)

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", connect)
    return seen


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> Path:
    """A certificate for the made hosts, signed by itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    hosts = x509.SubjectAlternativeName([x509.DNSName(HOST), x509.DNSName("mirror.example")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(hosts, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "board.pem"
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    path.write_bytes(made.public_bytes(pem) + private)
    return path


@pytest.fixture
def trusted(certificate, monkeypatch) -> None:
    monkeypatch.setattr(certifi, "where", lambda: str(certificate))


class _Board(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        location = self.server.redirects.get(self.path)
        self.server.asked.append(self.headers["Host"] + self.path)
        self.send_response(302 if location else 404 if self.path == "/robots.txt" else 200)
        body = b"" if location else b"{}"
        for name, value in {"Content-Type": "application/json", "Content-Length": len(body)}.items():
            self.send_header(name, str(value))
        if location:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args): ...


@pytest.fixture
def server(certificate) -> Iterator[ThreadingHTTPServer]:
    """An HTTPS server on loopback; `asked` is host and path of its requests, `spoken_to` the names in TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Board) as server:
        server.asked, server.spoken_to, server.redirects = [], [], {}
        context.sni_callback = lambda connection, name, context: server.spoken_to.append(name)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        server.daemon_threads = True
        server.handle_error = lambda *error: None  # a client that hangs up is no news
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def archive(tmp_path) -> Iterator[Archive]:
    with Archive(tmp_path / "archive.sqlite") as archive:
        yield archive


def fetch(archive: Archive, url: str, *, limits: Limits = ONCE, **options) -> Capture:
    sync_id = archive.open_sync("test", "test", Scope(), "normal", datetime.now(UTC), "test").sync_id

    async def within() -> Capture:
        async with (
            asyncio.timeout(10),
            Client(POLICY, archive, sync_id, user_agent="kix", limits=limits, **options) as client,
        ):
            return await client(url)

    return asyncio.run(within())


def reason(archive: Archive, url: str, **options) -> str:
    with pytest.raises(GiveUp) as caught:
        fetch(archive, url, **options)
    return caught.value.reason


# -- what a name leads to


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:10.1.2.3", "64:ff9b::7f00:1"]
)
def test_a_host_of_the_policy_that_leads_inside_is_not_connected_to(archive, names, connected, address):
    names[HOST] = [[address]]
    said = reason(archive, f"https://{HOST}/x")
    for word in (HOST, address, refusal(address), "--base-url"):
        assert word in said
    assert connected == []


def test_of_several_addresses_only_public_ones_are_connected_to(archive, names, connected, trusted):
    names[HOST] = [["10.0.0.1", "::1", PUBLIC, "169.254.169.254"]]
    assert fetch(archive, f"https://{HOST}/x").body == b"{}"
    assert connected == [PUBLIC]


def test_a_name_that_answers_otherwise_the_next_time_gains_nothing(archive, names, connected, trusted):
    names[HOST] = [[PUBLIC], ["127.0.0.1"]]
    assert fetch(archive, f"https://{HOST}/x").body == b"{}"
    assert connected == [PUBLIC]  # the very address that was looked at; the name was not asked again
    assert names[HOST] == [["127.0.0.1"]]


def test_a_redirect_to_a_name_that_leads_inside_is_not_connected_to(archive, names, connected, server, trusted):
    names[HOST], names["mirror.example"] = [[PUBLIC]], [["192.168.1.1"]]
    server.redirects["/x"] = "https://mirror.example/y"
    said = reason(archive, f"https://{HOST}/x")
    assert "192.168.1.1" in said
    assert "a private address (192.168.0.0/16)" in said
    assert connected == [PUBLIC]
    assert server.asked == [f"{HOST}/robots.txt", f"{HOST}/x"]


@pytest.mark.parametrize(
    "host",
    [
        "2130706433", "0x7f000001", "0x7f.1", "017700000001", "0177.0.0.1", "127.1", "127.0.1", "0", "[::1]",
        "[::ffff:7f00:1]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:0:0:1]",
        "localhost", "localhost.", "LOCALHOST", "127.0.0.1.",
        "①②⑦.⓪.⓪.①",
        "127。0。0。1", f"{HOST}.", "board。example.evil.example", "bоard.example", "board.example%00.evil.example",
        "board.example@127.0.0.1", "board.example:443@127.0.0.1", "127.0.0.1#@board.example",
        "127.0.0.1\\@board.example",
        "127.0.0.1?@board.example",
        "169.254.169.254", "metadata.google.internal",
    ],
)  # fmt: skip
def test_no_spelling_of_another_host_passes_for_the_policys(archive, connected, host):
    with pytest.raises(GiveUp):
        fetch(archive, f"https://{host}/x")
    assert connected == []


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0"])
def test_a_spelling_that_the_system_reads_as_an_address_is_checked_as_that(archive, host, connected):
    policy = SourcePolicy("test", "Test", f"https://{host}", frozenset({host}), "", "")
    sync_id = archive.open_sync("test", "test", Scope(), "normal", datetime.now(UTC), "test").sync_id

    async def within() -> None:
        async with Client(policy, archive, sync_id, user_agent="kix", limits=ONCE) as client:
            await client(f"https://{host}/x")

    with pytest.raises(GiveUp, match=r"127\.0\.0\.1|0\.0\.0\.0|no address"):
        asyncio.run(within())
    assert connected == []


def test_a_host_that_the_operator_named_may_be_anywhere(archive, names, server, trusted):
    names[HOST] = [["127.0.0.1"]]
    base_url = f"https://{HOST}:{server.server_port}/api"
    assert fetch(archive, f"{base_url}/x", base_url=base_url).body == b"{}"


def test_a_name_that_nobody_knows_is_told(archive, names):
    names[HOST] = [[]]
    assert f"the name {HOST} cannot be resolved" in reason(archive, f"https://{HOST}/x")


def test_a_resolver_that_hangs_ends_in_time_and_holds_nobody_up(archive, monkeypatch):
    release = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: release.wait(8) and [])
    started = time.monotonic()
    assert "within 0.3 s" in reason(archive, f"https://{HOST}/x", limits=Limits(attempts=1, connect_s=0.3))
    assert time.monotonic() - started < 3
    release.set()


def test_a_connection_that_nobody_takes_ends_in_time(archive):
    """A full backlog: the system answers no further connection."""
    with socket.socket() as full, contextlib.ExitStack() as waiting:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(3):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                one.connect(full.getsockname())
        base_url = f"http://127.0.0.1:{full.getsockname()[1]}"
        started = time.monotonic()
        reason(archive, f"{base_url}/x", base_url=base_url, limits=Limits(attempts=1, connect_s=0.3))
        assert time.monotonic() - started < 3


def test_an_address_that_does_not_answer_leaves_time_for_the_next(archive, names, connected, trusted, monkeypatch):
    names[HOST] = [["9.9.9.9", PUBLIC]]
    leads = asyncio.BaseEventLoop.create_connection

    async def connect(self, spoken, address, *rest, **named):
        if address == "9.9.9.9":
            await asyncio.sleep(60)
        return await leads(self, spoken, address, *rest, **named)

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", connect)
    limits = Limits(attempts=1, connect_s=0.6)
    assert fetch(archive, f"https://{HOST}/x", limits=limits).body == b"{}"


# -- TLS


def test_the_certificate_is_held_against_the_name_and_the_name_is_told(archive, names, connected, server, trusted):
    names[HOST] = [[PUBLIC]]
    assert fetch(archive, f"https://{HOST}/x").body == b"{}"
    assert set(server.spoken_to) == {HOST}
    assert server.asked == [f"{HOST}/robots.txt", f"{HOST}/x"]


def test_a_certificate_that_nobody_vouches_for_is_refused_at_once(archive, names, connected, server):
    names[HOST] = [[PUBLIC]]
    said = reason(archive, f"https://{HOST}/x", limits=Limits(attempts=5, wait_max_s=0.02))
    assert "certificate" in said
    assert server.asked == []  # nothing was sent
    assert connected == [PUBLIC]  # and it was not tried again


def test_also_where_the_operator_named_the_host(archive, names, server):
    names[HOST] = [["127.0.0.1"]]
    base_url = f"https://{HOST}:{server.server_port}"
    assert "certificate" in reason(archive, f"{base_url}/x", base_url=base_url)
    assert server.asked == []


def test_a_certificate_of_another_host_is_refused(archive, names, server, trusted):
    names["other.example"] = [["127.0.0.1"]]
    base_url = f"https://other.example:{server.server_port}"
    assert "certificate" in reason(archive, f"{base_url}/x", base_url=base_url)
    assert server.asked == []


def test_a_connection_is_kept_so_a_name_is_looked_up_once(archive, names, connected, server, trusted):
    names[HOST] = [[PUBLIC]]
    sync_id = archive.open_sync("test", "test", Scope(), "normal", datetime.now(UTC), "test").sync_id

    async def within() -> None:
        async with Client(POLICY, archive, sync_id, user_agent="kix", limits=ONCE) as client:
            for n in range(5):
                await client(f"https://{HOST}/{n}")

    asyncio.run(within())
    assert len(server.asked) == 6
    assert connected == [PUBLIC]


# -- no secrets in addresses


@pytest.mark.parametrize(
    "url",
    [
        "https://user:s3cret@host/api", "https://s3cret@host/api", "https://user:s3c/s3cret@host/api",
        "ftp://user:s3cret@host",
        "https://host/api?token=s3cret", "https://host/api#s3cret", "https://user:s3cret@[::1/api",
        "//user:s3cret@host", "https:\\\\user:s3cret@host", "https://user:s3cret@host:port/", "user:s3cret@host",
        "https://host:99999?key=s3cret",
    ],
)  # fmt: skip
def test_a_base_url_with_a_secret_is_refused_without_showing_it(url):
    with pytest.raises(ValueError, match=r"address|base URL") as caught:
        check_base_url(url)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["", "host", "ftp://host", "https://", "file:///etc", "https://host:99999", "https://[::1", "javascript:1"]
)
def test_what_is_no_base_url_is_refused(url):
    with pytest.raises(ValueError, match="no http or https address"):
        check_base_url(url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8765/api", "https://[::1]:1/", "https://bücher.example/a/b//"])
def test_a_base_url_is_taken_without_its_last_slashes(url):
    assert check_base_url(url) == url.rstrip("/")


def test_user_and_password_are_cut_out_of_any_text():
    said = without_user_info("redirected to https://user:s3cret@host/x, and //s3cret@host, and mail a@b.example")
    assert "s3cret" not in said
    assert "mail a@b.example" in said
    assert without_secrets("https://user:s3cret@host/x?sig=s3cret#s3cret") == "https://…@host/x"


def test_an_error_shows_no_password():
    error = NoSuchAnswer("https://user:s3cret@host/x", "redirected to http://u:s3cret@other/")
    assert "s3cret" not in f"{error} {error.locator} {error.reason} {error!r}"
