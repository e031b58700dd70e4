"""Logins at a listener: over sockets and in virtual time, with what clients send and what attackers would."""

import asyncio
import logging
import time
from dataclasses import replace

import pytest
from certificates import Authority

from millstream_cluster import records as r
from millstream_cluster.ids import NodeId
from millstream_cluster.image import Image
from millstream_cluster.image.acls import AclsImage
from millstream_runtime.network.channel import ChannelUser
from millstream_runtime.nodes.client import Client, Disconnected, LoginFailed, Nodes
from millstream_runtime.nodes.credentials import Credentials
from millstream_runtime.properties import Properties
from millstream_runtime.serving.accounts import Accounts
from millstream_runtime.serving.guard import Guard
from millstream_runtime.serving.handlers import serve
from millstream_runtime.serving.logins import UNDER_WAY_MAX
from millstream_runtime.serving.peer import ClientPeer, NodePeer
from millstream_runtime.serving.server import Server
from millstream_security.authorization.authorizer import Authorizer, AuthorizerConfig
from millstream_security.protocol import ListenerProperties, ListenerSecurity, SecurityProtocol
from millstream_security.sasl.delegation_tokens import token_hmac
from millstream_security.sasl.login import Login
from millstream_security.sasl.scram_mechanism import ScramCredential, ScramMechanism
from millstream_security.sasl.scram_messages import base64
from millstream_security.sasl.settings import SaslSettings
from millstream_security.tls.contexts import ClientTls, ServerTls
from millstream_security.tls.settings import TlsSettings
from millstream_wire.api import API, ApiKey
from millstream_wire.codec import encode
from millstream_wire.header import RequestHeader, encode_request_header
from millstream_wire.messages import (
    ApiVersionsRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)

TIMEOUT_MS = 5_000
SECRET = "all nodes know it"
PASSWORD = "wonder"
JAAS = f'PlainLoginModule required user_alice="{PASSWORD}" user_admin="{PASSWORD}";'
SCRAM = Credentials(login=Login("SCRAM-SHA-256", "carol", PASSWORD))
PLAIN = Credentials(login=Login("PLAIN", "alice", PASSWORD))


def image() -> Image:
    made = Image()
    credential = ScramCredential.of_password(ScramMechanism.SCRAM_SHA_256, PASSWORD, b"salt", 4096)
    keys = (base64(credential.salt), base64(credential.stored_key), base64(credential.server_key))
    made.apply(r.LoginSecretSet("AAAA"), 0)
    made.apply(r.ScramCredentialSet("carol", "SCRAM-SHA-256", 4096, *keys), 1)
    return made


async def heartbeat(app: list, request: HeartbeatRequest, context) -> HeartbeatResponse:
    app.append(context.peer)
    return HeartbeatResponse()


HANDLERS = {ApiKey.HEARTBEAT: serve(HeartbeatRequest, heartbeat)}


class Place:
    """A server that asks for logins, and who came through."""

    def __init__(self, hosts, authority: Authority | None = None, **told: str) -> None:
        """With an authority, over TLS."""
        self.hosts, self.peers, self.image, self.known = hosts, [], image(), asyncio.Event()
        self.known.set()
        values = {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256", "listener.name.out.plain.sasl.jaas.config": JAAS}
        values |= {key.replace("_", "."): value for key, value in told.items()}
        tls = None
        if authority is not None:
            values["ssl.keystore.location"] = str(authority.issue("CN=node", "127.0.0.1").file)
            values["ssl.truststore.location"] = str(authority.file)
        read = ListenerProperties("OUT", Properties(values).optional)
        self.protocol = SecurityProtocol.SASL_PLAINTEXT if authority is None else SecurityProtocol.SASL_SSL
        if authority is not None:
            tls, self.client_tls = ServerTls("OUT", TlsSettings.of(read)), ClientTls("OUT", TlsSettings.of(read))
        self.guard = Guard(ListenerSecurity("OUT", self.protocol, read), tls, SaslSettings.of(read))
        self.world = hosts.world("server")
        accounts = Accounts(self.world, lambda: self.image if self.known.is_set() else None, self.known.wait, SECRET)
        authorizer = Authorizer(AuthorizerConfig(frozenset({"User:admin"})), AclsImage)
        self.server = Server("s", HANDLERS, self.peers, self.world, accounts=accounts, authorizer=authorizer)

    async def __aenter__(self) -> "Place":
        listener = await self.server.listen(self.hosts.address("server"), 0, listener_name="OUT", guard=self.guard)
        self.address = self.hosts.address("server"), listener.port
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.server.close()

    async def connect(self, credentials: Credentials, **options) -> Client:
        world = self.hosts.world("client")
        return await Client.connect(world, *self.address, client_id="me", credentials=credentials, **options)

    async def ask_as(self, credentials: Credentials, **options) -> None:
        client = await self.connect(credentials, **options)
        await client.request(HeartbeatRequest(group_id="g"), timeout_ms=TIMEOUT_MS)
        await client.close()

    def over_tls(self, credentials: Credentials) -> Credentials:
        return replace(credentials, protocol=self.protocol, tls=self.client_tls)

    async def raw(self) -> "Raw":
        made: list[Raw] = []

        def use(channel) -> Raw:
            made.append(Raw(channel))
            return made[0]

        tls = self.client_tls if self.protocol.uses_tls else None
        wrap = None if tls is None else lambda incoming, outgoing: tls.wrap(incoming, outgoing, "127.0.0.1")
        await self.hosts.world("client").network.connect(*self.address, use, wrap=wrap)
        return made[0]


class Raw(ChannelUser):
    """Says what it likes, and hears what is answered."""

    def __init__(self, channel) -> None:
        self.channel, self.answers, self.closed = channel, [], asyncio.Event()

    def say(self, message, version: int | None = None) -> None:
        key = ApiKey(message.api_key)
        chosen = API[key].versions[1] if version is None else version
        self.channel.send([encode_request_header(RequestHeader(key, chosen, 1, "raw")) + encode(message, chosen)])

    def on_frame(self, frame) -> None:
        self.answers.append(bytes(frame))

    def on_closed(self, reason: str) -> None:
        self.closed.set()

    async def hears(self, count: int) -> None:
        for _ in range(500):
            if len(self.answers) >= count:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"{len(self.answers)} answers where {count} are due")

    async def until_closed(self) -> None:
        async with asyncio.timeout(TIMEOUT_MS / 1000):
            await self.closed.wait()


def test_who_logs_in_is_who_the_handlers_see(hosts) -> None:
    async def scenario() -> None:
        async with Place(hosts) as place:
            await place.ask_as(PLAIN)
            await place.ask_as(SCRAM)
            assert [str(peer.principal) for peer in place.peers] == ["User:alice", "User:carol"]
            assert place.server.counters.logins == 2

    hosts.run(scenario())


def test_wrong_passwords_and_unknown_users_are_refused_alike_and_late(hosts, caplog) -> None:
    async def scenario() -> None:
        async with Place(hosts, connection_failed_authentication_delay_ms="300") as place:
            told = []
            for user, password in (("carol", "wrong"), ("nobody", PASSWORD)):
                began = asyncio.get_running_loop().time()
                with pytest.raises(LoginFailed) as caught:
                    await place.connect(Credentials(login=Login("SCRAM-SHA-256", user, password)))
                assert asyncio.get_running_loop().time() - began >= 0.3
                told.append(str(caught.value))
            assert told[0] == told[1]
            assert place.server.counters.failed_logins == 2
            assert place.peers == []

    with caplog.at_level(logging.INFO):
        hosts.run(scenario())
    assert "login failed principal=User:ANONYMOUS" in caplog.text
    for user in ("carol", "nobody"):
        assert f"listener=OUT mechanism=SCRAM-SHA-256 user={user} reason=" in caplog.text
    assert "wrong" not in caplog.text
    assert PASSWORD not in caplog.text


def test_requests_before_the_login_close_the_connection(hosts) -> None:
    async def scenario() -> None:
        async with Place(hosts) as place:
            raw = await place.raw()
            raw.say(HeartbeatRequest(group_id="g"))
            await raw.until_closed()
            assert (raw.answers, place.peers) == ([], [])

    hosts.run(scenario())


def test_a_frame_larger_than_allowed_before_the_login_closes_and_one_after_it_is_served(hosts) -> None:
    async def scenario() -> None:
        async with Place(hosts, sasl_server_max_receive_size="1000") as place:
            raw = await place.raw()
            raw.say(SaslHandshakeRequest(mechanism="P" * 1_000), 1)
            await raw.until_closed()
            assert raw.answers == []
            client = await place.connect(PLAIN)
            await client.request(HeartbeatRequest(group_id="g" * 5_000), timeout_ms=TIMEOUT_MS)
            await client.close()

    hosts.run(scenario())


def test_requests_behind_the_last_token_are_answered_after_it(hosts) -> None:
    async def scenario() -> None:
        async with Place(hosts) as place:
            raw = await place.raw()
            raw.say(SaslHandshakeRequest(mechanism="PLAIN"), 1)
            raw.say(SaslAuthenticateRequest(auth_bytes=f"\0alice\0{PASSWORD}".encode()))
            raw.say(HeartbeatRequest(group_id="g"))
            await raw.hears(3)
            assert [str(peer.principal) for peer in place.peers] == ["User:alice"]
            raw.channel.close()

    hosts.run(scenario())


def test_who_never_logs_in_does_not_keep_the_connection(simulated_hosts) -> None:
    async def scenario() -> None:
        async with Place(simulated_hosts) as place:
            raw = await place.raw()
            began = asyncio.get_running_loop().time()
            await raw.closed.wait()
            assert 29 < asyncio.get_running_loop().time() - began < 31

    simulated_hosts.run(scenario())


def test_a_node_is_one_by_its_credentials_and_never_by_its_word(hosts) -> None:
    async def scenario() -> None:
        async with Place(hosts) as place:
            admin = Credentials(login=Login("PLAIN", "admin", PASSWORD))
            for credentials in (admin, PLAIN):
                await place.ask_as(credentials, node_id=NodeId(7))
            assert place.peers[0] == NodePeer.of(NodeId(7))
            assert isinstance(place.peers[1], ClientPeer)

    hosts.run(scenario())


def test_a_node_that_has_no_metadata_yet_lets_clients_wait(hosts) -> None:
    async def scenario() -> None:
        async with Place(hosts) as place:
            place.known.clear()
            asking = asyncio.create_task(place.ask_as(SCRAM))
            await asyncio.sleep(0.2)
            assert not asking.done()
            place.known.set()
            await asking
            assert len(place.peers) == 1

    hosts.run(scenario())


def test_a_login_that_is_over_serves_nothing_more_and_our_clients_connect_anew_before(hosts) -> None:
    async def scenario() -> None:
        async with Place(hosts, connections_max_reauth_ms="1000") as place:
            client = await place.connect(PLAIN)
            await client.request(HeartbeatRequest(group_id="g"), timeout_ms=TIMEOUT_MS)
            await asyncio.sleep(1.2)
            with pytest.raises(Disconnected):
                await client.request(HeartbeatRequest(group_id="g"), timeout_ms=TIMEOUT_MS)
            nodes = Nodes(hosts.world("client"), client_id="me", credentials=PLAIN)
            for _ in range(6):
                await nodes.request(*place.address, HeartbeatRequest(group_id="g"), timeout_ms=TIMEOUT_MS)
                await asyncio.sleep(0.3)
            assert place.server.counters.logins in (3, 4)
            await nodes.close()

    hosts.run(scenario())


def test_a_delegation_token_logs_its_owner_in_until_it_ends(hosts) -> None:
    async def scenario() -> None:
        async with Place(hosts) as place:
            now_ms = place.world.now_ms()
            token = r.DelegationTokenSet("id", "User:owner", "User:owner", (), now_ms, now_ms + 600, now_ms + 9_000)
            place.image.apply(token, 2)
            login = Login("SCRAM-SHA-256", "id", base64(token_hmac(SECRET, "id")), by_token=True)
            client = await place.connect(Credentials(login=login))
            await client.request(HeartbeatRequest(group_id="g"), timeout_ms=TIMEOUT_MS)
            assert str(place.peers[0].principal) == "User:owner"
            await asyncio.sleep(0.8)
            with pytest.raises(Disconnected):
                await client.request(HeartbeatRequest(group_id="g"), timeout_ms=TIMEOUT_MS)
            place.image.apply(r.DelegationTokenRemoved("id"), 3)
            with pytest.raises(LoginFailed):
                await place.connect(Credentials(login=login))

    hosts.run(scenario())


def test_the_users_of_a_file_are_read_again_when_it_changes(hosts, tmp_path) -> None:
    file = tmp_path / "users"
    file.write_text("# ours\ndora=first\n")

    async def logs_in(place: Place, password: str) -> bool:
        try:
            await place.ask_as(Credentials(login=Login("PLAIN", "dora", password)))
        except LoginFailed:
            return False
        return True

    async def scenario() -> None:
        async with Place(hosts, plain_users_file=str(file)) as place:
            assert await logs_in(place, "first")
            file.write_text("dora=second password\n")
            await asyncio.sleep(1.5)
            assert await logs_in(place, "second password")
            assert not await logs_in(place, "first")
            file.write_text("nonsense")
            await asyncio.sleep(1.5)
            assert await logs_in(place, "second password")

    hosts.run(scenario())


def test_versions_are_told_before_the_login(hosts) -> None:
    async def scenario() -> None:
        async with Place(hosts) as place:
            raw = await place.raw()
            raw.say(ApiVersionsRequest(client_software_name="x", client_software_version="1"))
            await raw.hears(1)
            raw.channel.close()

    hosts.run(scenario())


@pytest.mark.parametrize("encrypted", [False, True], ids=["SASL_PLAINTEXT", "SASL_SSL"])
def test_a_thousand_that_never_log_in_do_not_keep_others_out(
    real_hosts, authority: Authority, caplog: pytest.LogCaptureFixture, encrypted: bool
) -> None:
    """Each second one goes as far as the handshake, and some come again when the listener has closed them."""

    async def scenario() -> float:
        async with Place(real_hosts, authority if encrypted else None) as place:
            credentials = place.over_tls(SCRAM) if encrypted else SCRAM
            old, slowest = await place.connect(credentials), 0.0
            waiting = []
            for number in range(UNDER_WAY_MAX + 200):
                waiting.append(await place.raw())
                if number % 2:
                    waiting[-1].say(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"))
                if number % 100 == 0:
                    began = time.monotonic()
                    await old.request(HeartbeatRequest(group_id="g"), timeout_ms=TIMEOUT_MS)
                    await place.ask_as(credentials)
                    slowest = max(slowest, time.monotonic() - began)
            assert place.server.connections <= UNDER_WAY_MAX + 3
            assert waiting[0].closed.is_set(), "the most silent ones gave way"
            for raw in waiting:
                raw.channel.close()
            await old.request(HeartbeatRequest(group_id="g"), timeout_ms=TIMEOUT_MS)
            await old.close()
            return slowest

    with caplog.at_level(logging.INFO):
        assert real_hosts.run(scenario()) < 2.0
    said = [record.message for record in caplog.records if "too_many_others" in record.message]
    assert 0 < len(said) <= 2, "said once and counted"
    assert said[-1].endswith(" repeated=199") or len(said) == 1


def test_who_never_logs_in_is_put_out_in_time_and_who_goes_on_is_not(simulated_hosts) -> None:
    async def scenario() -> None:
        async with Place(simulated_hosts) as place:
            old = await place.connect(SCRAM)
            silent = [await place.raw() for _ in range(UNDER_WAY_MAX)]
            silent[0].say(SaslHandshakeRequest(mechanism="PLAIN"))
            await silent[0].hears(1)
            newest = await place.raw()
            await asyncio.sleep(1)
            assert [raw.closed.is_set() for raw in silent[:3]] == [False, True, False]
            await asyncio.sleep(35)
            assert place.server.connections == 1
            assert newest.closed.is_set()
            await old.request(HeartbeatRequest(group_id="g"), timeout_ms=TIMEOUT_MS)

    simulated_hosts.run(scenario())
