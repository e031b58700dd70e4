"""Handshakes: who is let in and who is not, for how long it is waited, and that others do not notice."""

import asyncio
import logging
import os
import random
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from certificates import Authority
from cryptography.hazmat.primitives.serialization import Encoding
from socket_peers import Echo, ends, framed, read_frame, until

from millstream_cluster.principal import ANONYMOUS, Principal
from millstream_runtime.network.links import Unwelcome, Wrap
from millstream_runtime.network.sockets import handshakes
from millstream_runtime.network.sockets.handshakes import HandshakeFailed
from millstream_runtime.network.sockets.network import SocketListener, SocketNetwork
from millstream_runtime.serving.guard import Guard
from millstream_runtime.serving.peer import ClientPeer
from millstream_security.protocol import ListenerProperties, ListenerSecurity, SecurityProtocol
from millstream_security.tls.contexts import ClientTls, ServerTls
from millstream_security.tls.settings import TlsSettings


def settings(**given: object) -> TlsSettings:
    values = {key.replace("_", "."): str(value) for key, value in given.items()}
    return TlsSettings.of(ListenerProperties("L", values.get))


class Door:
    """A listener over TLS."""

    def __init__(self, authority: Authority, **given: object) -> None:
        node = authority.issue("CN=node", "127.0.0.1", "node.example")
        self.authority = authority
        self.tls = ServerTls(
            "L", settings(ssl_keystore_location=node.file, ssl_truststore_location=authority.file, **given)
        )
        self.network = SocketNetwork()
        self.users: list[Any] = []
        self.failures: list[str] = []
        """Why handshakes failed, as whoever keeps the audit log is told."""
        self.listener: SocketListener

    async def __aenter__(self) -> "Door":
        def accept(channel: Any) -> Echo:
            self.users.append(Echo(channel))
            return self.users[-1]

        def note(peer: str, reason: str) -> None:
            assert peer.startswith("127.0.0.1:")
            self.failures.append(reason)

        self.listener = await self.network.listen("127.0.0.1", 0, accept, wrap=self.tls.wrap, on_failed_handshake=note)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.listener.close()
        for channel in list(self.network._channels):  # those whose handshake is not done, too
            channel.close()

    async def connect(self, context: ssl.SSLContext | None = None) -> Any:
        context = context or ssl.create_default_context(cafile=str(self.authority.file))
        return await asyncio.open_connection("127.0.0.1", self.listener.port, ssl=context)

    async def is_served(self, context: ssl.SSLContext | None = None) -> bool:
        try:
            reader, writer = await self.connect(context)
            writer.write(framed(b"echo"))
            answer = await read_frame(reader)
            writer.close()
        except (OSError, asyncio.IncompleteReadError):
            return False
        return answer == b"echo"


def shows(authority: Authority, file: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(authority.file))
    context.load_cert_chain(file)
    return context


@pytest.mark.parametrize("auth", ["none", "requested", "required"])
def test_who_is_let_in_by_which_certificate(authority: Authority, tmp_path: Path, auth: str) -> None:
    good, old = authority.issue("CN=good,O=Example"), authority.issue("CN=old", ends=-timedelta(minutes=1))
    foreign = Authority(tmp_path / "foreign", "CN=Foreign CA").issue("CN=foreign")
    contexts = {
        "nothing": ssl.create_default_context(cafile=str(authority.file)),
        "good": shows(authority, good.file),
        "expired": shows(authority, old.file),
        "foreign": shows(authority, foreign.file),
    }

    async def scenario() -> tuple[set[str], list[str]]:
        async with Door(authority, ssl_client_auth=auth) as door:
            let_in = {name for name, context in contexts.items() if await door.is_served(context)}
            shown = [user.channel.certificate for user in door.users]
            assert any(shown) == (auth != "none")
            return let_in, door.failures

    expected = {"none": {*contexts}, "requested": {"nothing", "good"}, "required": {"good"}}
    let_in, refused = asyncio.run(scenario())
    assert let_in == expected[auth]
    assert len(refused) == len(contexts) - len(expected[auth])
    if auth == "required":
        assert refused == [
            "PEER_DID_NOT_RETURN_A_CERTIFICATE",
            "CERTIFICATE_VERIFY_FAILED: certificate has expired",
            "CERTIFICATE_VERIFY_FAILED: self-signed certificate in certificate chain",
        ]


def test_versions_that_are_too_old_are_refused(authority: Authority) -> None:
    def of(version: ssl.TLSVersion) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(authority.file))
        context.set_ciphers("DEFAULT:@SECLEVEL=0")  # or OpenSSL would not even offer it
        with pytest.warns(DeprecationWarning, match="TLSVersion"):  # noqa: PT031
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = version
        return context

    async def scenario() -> None:
        async with Door(authority) as door:
            assert await door.is_served(of(ssl.TLSVersion.TLSv1_2))
            assert not await door.is_served(of(ssl.TLSVersion.TLSv1_1))

    asyncio.run(scenario())


def client(authority: Authority, **given: object) -> ClientTls:
    return ClientTls("to L", settings(ssl_truststore_location=authority.file, **given))


def test_a_server_has_to_be_who_it_is_taken_for(authority: Authority, tmp_path: Path) -> None:
    def to(tls: ClientTls, name: str) -> Wrap:
        return lambda incoming, outgoing: tls.wrap(incoming, outgoing, name)

    foreign = Authority(tmp_path / "foreign", "CN=Foreign CA")

    async def scenario() -> None:
        async with Door(authority) as door:
            for tls, name, reason in (
                (client(authority), "127.0.0.1", ""),
                (client(authority), "node.example", ""),
                (client(authority), "other.example", "not valid for 'other.example'"),
                (client(authority), "127.0.0.2", "not valid for '127.0.0.2'"),
                (client(authority, ssl_endpoint_identification_algorithm=""), "other.example", ""),
                (client(foreign), "node.example", "self-signed certificate in certificate chain"),
                (client(authority), "", "server_hostname"),
            ):
                if reason:
                    with pytest.raises(HandshakeFailed, match=reason):
                        await door.network.connect("127.0.0.1", door.listener.port, Echo, wrap=to(tls, name))
                else:
                    channel = await door.network.connect("127.0.0.1", door.listener.port, Echo, wrap=to(tls, name))
                    channel.close()

    asyncio.run(scenario())


def test_a_server_that_says_nothing_is_not_waited_for(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millstream_runtime.network.sockets.network.CONNECT_TIMEOUT_SECONDS", 0.2)
    tls = client(authority)

    async def scenario() -> None:
        network = SocketNetwork()
        with socket.create_server(("127.0.0.1", 0)) as silent:
            with pytest.raises(TimeoutError):
                await network.connect(
                    "127.0.0.1",
                    silent.getsockname()[1],
                    Echo,
                    wrap=lambda incoming, outgoing: tls.wrap(incoming, outgoing, "127.0.0.1"),
                )
            assert not network._channels

    asyncio.run(scenario())


def test_whoever_talks_plainly_is_closed_and_told_of_once(authority: Authority) -> None:
    async def scenario() -> list[str]:
        async with Door(authority) as door:
            reader, writer = await asyncio.open_connection("127.0.0.1", door.listener.port)
            writer.write(framed(b"\0\x12\0\3" + bytes(20)))
            assert await ends(reader)
            writer.close()
            _, looks = await asyncio.open_connection("127.0.0.1", door.listener.port)
            looks.close()  # and asks nothing: somebody who wants to know whether this process lives
            await asyncio.sleep(0.05)
            assert not door.users
            assert not door.network._channels
            return door.failures

    assert asyncio.run(scenario()) == ["WRONG_VERSION_NUMBER"]


def test_a_handshake_that_is_not_finished_ends(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millstream_runtime.network.sockets.network.SWEEP_SECONDS", 0.05)
    monkeypatch.setattr("millstream_runtime.network.sockets.tls_channel.HANDSHAKE_TIMEOUT_MS", 200)

    async def scenario() -> list[str]:
        async with Door(authority) as door:
            reader, writer = await asyncio.open_connection("127.0.0.1", door.listener.port)
            silent, said_nothing = await asyncio.open_connection("127.0.0.1", door.listener.port)
            for byte in b"\x16\x03\x01\x02\x00\x01":
                writer.write(bytes([byte]))
                await asyncio.sleep(0.02)
            assert await ends(reader)
            assert await ends(silent)
            writer.close()
            said_nothing.close()
            assert await door.is_served()
            return door.failures

    assert asyncio.run(scenario()) == ["not finished in time"]


def test_who_is_not_done_when_the_listener_closes_is_not_taken_in(authority: Authority) -> None:
    async def scenario() -> None:
        async with Door(authority) as door:
            reader, writer = await door.connect()
            unfinished, other = await asyncio.open_connection("127.0.0.1", door.listener.port)
            other.write(client_hello(authority))
            await until(lambda: len(door.listener._encryption._handshakes) == 1)
            door.listener.close()
            with suppress(ConnectionResetError):
                await asyncio.wait_for(unfinished.read(), 10)
            writer.write(framed(b"echo"))
            assert await read_frame(reader) == b"echo"
            assert len(door.users) == 1
            writer.close()
            other.close()

    asyncio.run(scenario())


def test_a_thousand_that_never_finish_do_not_keep_others_out(authority: Authority) -> None:
    hello = client_hello(authority)

    async def scenario() -> None:
        async with Door(authority) as door:
            reader, writer = await door.connect()
            unfinished = [socket.create_connection(("127.0.0.1", door.listener.port)) for _ in range(100)]
            slowest = 0.0
            for number in range(1_000):
                each = socket.socket()
                each.setblocking(False)
                await asyncio.get_running_loop().sock_connect(each, ("127.0.0.1", door.listener.port))
                each.send(hello if number % 2 else hello[: number % 200])
                unfinished.append(each)
                if number % 50 == 0:
                    began = time.monotonic()
                    assert await door.is_served()
                    writer.write(framed(b"old"))
                    assert await read_frame(reader) == b"old"
                    slowest = max(slowest, time.monotonic() - began)
            assert slowest < 2.0
            assert len(door.listener._encryption._handshakes) <= handshakes.UNDER_WAY_MAX
            for each in unfinished:
                each.close()
            writer.close()
            await until(lambda: not door.listener._encryption._handshakes)

    asyncio.run(scenario())


def client_hello(authority: Authority) -> bytes:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context(cafile=str(authority.file))
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1").do_handshake()
    return outgoing.read()


@pytest.mark.parametrize("seed", range(4))
def test_no_bytes_break_the_listener(authority: Authority, seed: int) -> None:
    generator = random.Random(seed)
    hello = client_hello(authority)

    def noise() -> bytes:
        kind = generator.randrange(4)
        if kind == 0:
            return generator.randbytes(generator.randrange(1, 2_000))
        changed = bytearray(hello)
        for _ in range(generator.randrange(1, 8)):
            changed[generator.randrange(len(changed))] = generator.randrange(256)
        if kind == 1:
            return bytes(changed)
        if kind == 2:  # a whole hello, then what is none
            return hello + generator.randbytes(generator.randrange(1, 40_000))
        return bytes([0x16, 3, generator.randrange(4)]) + generator.randbytes(generator.randrange(2, 70_000))

    async def scenario() -> None:
        errors: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
        async with Door(authority) as door:
            for _ in range(60):
                _, writer = await asyncio.open_connection("127.0.0.1", door.listener.port)
                writer.write(noise())
                if generator.random() < 0.5:
                    writer.write(noise())
                await asyncio.sleep(0)
                writer.close()
            assert await door.is_served()
            assert len(door.users) == 1
        assert errors == []

    asyncio.run(scenario())


def test_what_follows_a_handshake_may_be_noise(authority: Authority, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def scenario() -> None:
        async with Door(authority) as door:
            _, writer = await door.connect()
            await until(lambda: bool(door.users))
            with socket.socket(fileno=os.dup(writer.transport.get_extra_info("socket").fileno())) as raw:
                raw.send(b"\x17\x03\x03\x00\x20" + bytes(32))
            await until(lambda: bool(door.users[0].closed))
            assert door.users[0].closed[0].startswith("TLS: ")
            writer.transport.abort()

    asyncio.run(scenario())
    assert len([record for record in caplog.records if "reason=tls detail=" in record.message]) == 1


def test_the_end_is_said_and_heard(authority: Authority) -> None:
    async def scenario() -> None:
        async with Door(authority) as door:
            reader, writer = await door.connect()
            writer.write(framed(b"echo"))
            assert await read_frame(reader) == b"echo"
            door.users[0].channel.close()
            assert await asyncio.wait_for(reader.read(), 5) == b""  # a connection that was cut off would be an error
            writer.close()
            _, leaves = await door.connect()
            await until(lambda: len(door.users) == 2)
            leaves.close()
            await until(lambda: bool(door.users[1].closed))
            assert door.users[1].closed == ["closed by the peer"]

    asyncio.run(scenario())


def test_the_principal_is_what_the_certificate_says(authority: Authority) -> None:
    def guard(protocol: SecurityProtocol, rules: str = "DEFAULT") -> Guard:
        node = authority.issue("CN=node", "127.0.0.1")
        tls = ServerTls("L", settings(ssl_keystore_location=node.file, ssl_principal_mapping_rules=rules))
        return Guard(ListenerSecurity("L", protocol), tls)

    certificate = authority.issue("CN=Az Client,O=Example,C=DE").certificate.public_bytes(Encoding.DER)
    ssl_listener = guard(SecurityProtocol.SSL)
    assert ssl_listener.peer_of(certificate) == ClientPeer(Principal("User", "CN=Az Client,O=Example,C=DE"))
    assert ssl_listener.peer_of(None) == ClientPeer(ANONYMOUS)
    assert guard(SecurityProtocol.SASL_SSL).peer_of(certificate) == ClientPeer(ANONYMOUS)
    short = guard(SecurityProtocol.SSL, "RULE:^CN=([^ ]+).*$/$1/L")
    assert short.peer_of(certificate) == ClientPeer(Principal("User", "az"))
    with pytest.raises(Unwelcome, match=r"no rule of ssl\.principal\.mapping\.rules fits CN=Az Client"):
        guard(SecurityProtocol.SSL, "RULE:nobody/x/").peer_of(certificate)


def come_back(port: int, context: ssl.SSLContext, session: ssl.SSLSession | None) -> tuple[bool, ssl.SSLSession | None]:
    """Whether we were served by a session that was resumed; and the session. Raises OSError."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1", session=session) as tls,
    ):
        tls.sendall(framed(b"echo"))
        served = tls.recv(8) == framed(b"echo")
        return served and bool(tls.session_reused), tls.session


def resumed_after(authority: Authority, lives_s: float, meanwhile: Callable[[], None], wait_s: float) -> list[bool]:
    """TLS 1.2, where OpenSSL takes a client back without a look at its certificate: whether it does at once, and then."""
    context = shows(authority, authority.issue("CN=client", ends=timedelta(seconds=lives_s)).file)
    context.maximum_version = ssl.TLSVersion.TLSv1_2

    async def scenario() -> list[bool]:
        async with Door(authority, ssl_client_auth="required") as door:
            _, session = await asyncio.to_thread(come_back, door.listener.port, context, None)
            at_once, _ = await asyncio.to_thread(come_back, door.listener.port, context, session)
            meanwhile()
            await asyncio.sleep(wait_s)
            try:
                then, _ = await asyncio.to_thread(come_back, door.listener.port, context, session)
            except OSError:
                then = False
            assert len(door.users) == 2
            return [at_once, then]

    return asyncio.run(scenario())


def test_a_session_is_not_resumed_with_a_certificate_that_has_expired_since(authority: Authority) -> None:
    assert resumed_after(authority, 5, lambda: None, 6.5) == [True, False]


def test_a_session_is_not_resumed_once_another_authority_is_trusted(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other", "CN=Other CA")

    def exchange() -> None:
        authority.file.write_bytes(other.file.read_bytes())

    assert resumed_after(authority, 600, exchange, 1.5) == [True, False]
