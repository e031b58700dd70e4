"""As in `test_lockstep`, by users who log in and whose ACLs come and go between their requests: whoever asks what when, Kafka's answers are ours."""

import copy
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
import servers
from authorization_rows import ROWS
from authorization_scene import ACL, Grant, Scene, made, seen, versions_of
from authorization_users import ANY_ACL, connected, furnish
from drawn_rights import USERS, Rights
from kafka_tools import KafkaUnavailable, kafka_libs
from lockstep import CHANGES_NOTHING, Side, apart, plain
from sasl_scene import Peer, Place, kafkas_place, our_place
from test_authorization import STRICTER, UNSTABLE

from millstream_cluster.acls import AclOperation, AclPermission, AclResource
from millstream_security.sasl.login import Login
from millstream_wire import messages as m
from millstream_wire.api import API, ApiKey

SEEDS = range(1, 21)
STEPS = 60
FIRST_ACLS = 12
PATIENCE_S = 30
LATEST, ROOT = "latest", "root"
"""Who gets a grant after each change, to show that it counts; who may do everything."""
SETTINGS = {
    "authorizer_class_name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super_users": f"User:ANONYMOUS;User:{ROOT}",
    "offsets_topic_num_partitions": "10",
    "transaction_state_log_num_partitions": "10",
    "share_coordinator_state_topic_num_partitions": "10",
}
PASSWORDS = {name: f"{name}-secret" for name in (*USERS, LATEST, ROOT)}
REFUSED = {29, 30, 31}
CHANGES_ACLS = (m.CreateAclsRequest, m.DeleteAclsRequest)
ABOUT_TOKENS = (
    *(m.CreateDelegationTokenRequest, m.RenewDelegationTokenRequest),
    *(m.ExpireDelegationTokenRequest, m.DescribeDelegationTokenRequest),
)


class SideOfUsers(Side):
    """One server with a connection for each user; the administrator's, of the other listener, may do everything."""

    def __init__(self, place: Place, seed: int, scene: Scene) -> None:
        super().__init__(place.plain, seed)
        self.scene = scene
        self.tokens: list[tuple[str, bytes]] = []
        """Id and HMAC of each, those that are over too."""
        self._owners: dict[str, str] = {}
        """Of those that are left."""
        self._latest = (f"latest-{seed}-{number}" for number in count())
        self._peers = {user: Peer(place.sasl) for user in (*USERS, LATEST, ROOT)}
        for user, peer in self._peers.items():
            assert peer.log_in(Login("PLAIN", user, PASSWORDS[user]))[-1][1] == 0

    def ask_as(self, user: str, request: Any, version: int) -> Any:
        return self._peers[user].call(request, version, API[ApiKey(request.api_key)].response)

    def named(self, request: Any) -> Any:
        """The request with the ids and HMACs that tokens have here."""
        request = copy.deepcopy(request)
        for each in getattr(request, "creations", None) or getattr(request, "filters", None) or [request]:
            for field in ("resource_name", "resource_name_filter", "hmac"):
                name = getattr(each, field, None)
                for number, own in enumerate(self.tokens):
                    if name == f"token:{number}":
                        setattr(each, field, own[0])
                    elif name == f"token:{number}".encode():
                        setattr(each, field, own[1])
        return request

    def told(self, answer: Any) -> Any:
        """What of an answer has to be the same."""
        numbers = {token_id: f"token:{number}" for number, (token_id, _) in enumerate(self.tokens)}
        if isinstance(answer, m.CreateDelegationTokenResponse):
            return (
                *(answer.error_code, answer.principal_name, answer.token_requester_principal_name),
                *(answer.expiry_timestamp_ms - answer.issue_timestamp_ms, answer.max_timestamp_ms - answer.issue_timestamp_ms),
            )  # fmt: skip
        if isinstance(answer, m.DescribeDelegationTokenResponse):
            tokens = [
                (numbers[t.token_id], t.principal_name, t.token_requester_principal_name, sorted(r.principal_name for r in t.renewers))
                for t in answer.tokens
            ]  # fmt: skip
            return answer.error_code, sorted(tokens)
        if isinstance(answer, (m.RenewDelegationTokenResponse, m.ExpireDelegationTokenResponse)):
            return answer.error_code
        return _renamed(plain(answer, {topic_id: name for name, topic_id in self.ids.items()}), numbers)

    def settle(self, request: Any, answer: Any) -> None:
        if isinstance(request, CHANGES_ACLS):
            self.pass_a_grant()
        elif isinstance(request, ABOUT_TOKENS) and not answer.error_code:
            if isinstance(request, m.CreateDelegationTokenRequest):
                self.tokens.append((answer.token_id, bytes(answer.hmac)))
                self._owners[answer.token_id] = answer.principal_name
            elif isinstance(request, m.ExpireDelegationTokenRequest) and request.expiry_time_period_ms < 0:
                for token_id in [token_id for token_id, hmac in self.tokens if hmac == request.hmac]:
                    del self._owners[token_id]
            servers.eventually(self._check_tokens, every_s=0.02)
        else:
            super().settle(request, answer)

    def _check_tokens(self) -> None:
        answer = self.ask_as(ROOT, m.DescribeDelegationTokenRequest(owners=None), 3)
        assert {token.token_id for token in answer.tokens} == self._owners.keys()

    def pass_a_grant(self) -> None:
        """ACLs count once those that came after them do: at the broker, the groups' coordinator and the controller."""
        name = next(self._latest)
        own = {"resource_name": name, "principal": f"User:{LATEST}", "operation": AclOperation.ALL}
        acls = [{**ACL, **own, "resource_type": kind} for kind in (AclResource.TOPIC, AclResource.GROUP)]
        self.ask(made(m.CreateAclsRequest, creations=acls), 3)
        servers.eventually(lambda: self._check_granted(name), every_s=0.02)

    def _check_granted(self, name: str) -> None:
        topic = {"name": name, "num_partitions": 1, "replication_factor": 1}
        asked = self.ask_as(
            LATEST, made(m.MetadataRequest, topics=[{"name": name}], allow_auto_topic_creation=False), 9
        )
        group = self.ask_as(LATEST, m.DescribeGroupsRequest(groups=[name]), 5)
        creating = made(m.CreateTopicsRequest, topics=[topic], timeout_ms=30_000, validate_only=True)
        created = self.ask_as(LATEST, creating, 5)
        assert {asked.topics[0].error_code, group.groups[0].error_code, created.topics[0].error_code}.isdisjoint(
            REFUSED
        )

    def close(self) -> None:
        self.ask(made(m.DeleteAclsRequest, filters=[ANY_ACL]), 3)
        for token_id, hmac in self.tokens:
            if token_id in self._owners:
                request = m.ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=-1)
                self.settle(request, self.ask_as(self._owners[token_id], request, 2))
        for peer in self._peers.values():
            peer.__exit__()
        super().close()


def _renamed(value: Any, numbers: dict[str, str]) -> Any:
    """With tokens' numbers for their ids, and without messages: which words go with a refusal is each server's own affair."""
    if isinstance(value, dict):
        return {name: _renamed(each, numbers) for name, each in value.items() if name != "error_message"}
    if isinstance(value, list):
        return [_renamed(each, numbers) for each in value]
    return numbers.get(value, value) if isinstance(value, str) else value


class Talk:
    """The same questions to both sides, by the same users."""

    def __init__(self, sides: tuple[SideOfUsers, SideOfUsers], seed: int) -> None:
        self._sides = sides
        draw = sides[0].draw
        self._rights = Rights(seed, draw.topics, draw.groups)
        self._random = self._rights.random
        self._both(self._alike(self._rights.creation(FIRST_ACLS)), 3, None)

    def step(self) -> None:
        kinds = {
            self._give_or_take: 15,
            self._ask_about_acls: 7,
            self._ask_about_tokens: 13,
            self._ask: 30,
            self._ask_a_row: 35,
        }
        (kind,) = self._random.choices([*kinds], [*kinds.values()])
        kind()

    def _give_or_take(self) -> None:
        request = self._rights.creation() if self._random.random() < 0.65 else self._rights.deletion()
        self._both(self._alike(request), 3, None)

    def _ask_about_acls(self) -> None:
        request = self._random.choice([self._rights.creation, self._rights.deletion, self._rights.description])()
        self._both(self._alike(request), self._random.randint(*request.versions), self._rights.user())

    def _ask_about_tokens(self) -> None:
        request = self._rights.about_tokens()
        self._both(self._alike(request), self._random.randint(*request.versions), self._rights.user())

    def _ask(self) -> None:
        (request, version), (theirs, _) = (side.draw.request() for side in self._sides)
        self._both([request, theirs], version, self._rights.user())

    def _ask_a_row(self) -> None:
        """One of the table of all APIs, of which only refusals and what is shown are compared: it may be asked again."""
        name, user = self._random.choice([name for name in ROWS if name not in STRICTER]), self._rights.user()
        key, row = ROWS[name]
        offered = versions_of(key, row)
        version = self._random.randint(min(offered), max(offered))
        if (name, version) in UNSTABLE:
            return

        def check() -> None:
            ours, kafkas = (seen(side.ask_as(user, row.ask(side.scene), version)) for side in self._sides)
            assert ours == kafkas, (name, version, user)

        servers.eventually(check, within_s=PATIENCE_S, every_s=0.05)

    def _alike(self, request: Any) -> list[Any]:
        return [side.named(request) for side in self._sides]

    def _both(self, requests: list[Any], version: int, user: str | None) -> None:
        """`user`: None for the administrator."""

        def ask() -> list[Any]:
            pairs = zip(self._sides, requests, strict=True)
            answers = [
                side.ask_as(user, request, version) if user else side.ask(request, version) for side, request in pairs
            ]
            ours, kafkas = (side.told(answer) for side, answer in zip(self._sides, answers, strict=True))
            differing = list(apart(ours, kafkas))
            assert not differing, f"{user}, version {version}: {differing} for {requests[0]}"
            return answers

        if isinstance(requests[0], CHANGES_NOTHING):
            servers.eventually(ask, within_s=PATIENCE_S)  # what a change brings about may take each its time
        else:
            for side, request, answer in zip(self._sides, requests, ask(), strict=True):
                side.settle(request, answer)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[Place, Scene]]]:
    try:
        kafka_libs()
    except KafkaUnavailable as reason:
        pytest.skip(str(reason))
    directory = tmp_path_factory.mktemp("users")
    with (
        our_place(directory / "ours", plain_users=PASSWORDS, **SETTINGS) as ours,
        kafkas_place(directory / "kafkas", plain_users=PASSWORDS, **SETTINGS) as kafkas,
    ):
        furnished = []
        for place in (ours, kafkas):
            with connected(place.plain) as server:
                furnish(server)
                furnished.append((place, server.scene))
        yield furnished


@pytest.mark.parametrize("seed", SEEDS)
def test_users_whose_rights_come_and_go_are_answered_alike(places: list[tuple[Place, Scene]], seed: int) -> None:
    ours, kafkas = (SideOfUsers(place, seed, scene) for place, scene in places)
    try:
        talk = Talk((ours, kafkas), seed)
        for _ in range(STEPS):
            talk.step()
    finally:
        for side in (ours, kafkas):
            side.close()


U, D = AclResource.USER, AclResource.DELEGATION_TOKEN
CREATING, DESCRIBING, SEEING = (
    (U, AclOperation.CREATE_TOKENS),
    (U, AclOperation.DESCRIBE_TOKENS),
    (D, AclOperation.DESCRIBE),
)
EVERY = [(U, AclOperation.ALL), (D, AclOperation.ALL)]
TOKEN_RIGHTS: list[tuple[list[Grant], list[Grant]]] = [
    ([], []),
    *(([grant], []) for grant in (CREATING, DESCRIBING, SEEING, *EVERY)),
    *((EVERY, [denied]) for denied in (CREATING, DESCRIBING, SEEING)),
    (EVERY, [DESCRIBING, SEEING]),
]
"""What somebody is granted on all users and tokens, and what is denied."""


def test_each_right_to_tokens_of_others_opens_what_it_opens_in_kafka(places: list[tuple[Place, Scene]]) -> None:
    sides = [SideOfUsers(place, 0, scene) for place, scene in places]
    opened = [_opened(side) for side in sides]
    for side in sides:
        side.close()
    assert opened[0] == opened[1]
    assert len({str(answers) for answers in opened[0]}) > len(EVERY), "rights make a difference"


def _opened(side: SideOfUsers) -> list[list[Any]]:
    """For each row: what carol is answered about tokens, of which alice has one."""
    owner = {"owner_principal_type": "User", "owner_principal_name": "alice"}
    first = made(m.CreateDelegationTokenRequest, max_lifetime_ms=-1)
    side.settle(first, side.ask_as("alice", first, 3))
    ((_, hmac),) = side.tokens
    asked = [
        (made(m.DescribeDelegationTokenRequest, owners=owners), version)
        for owners in (None, [{"principal_type": "User", "principal_name": "alice"}], [])
        for version in (1, 3)
    ]
    asked += [(m.RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=-1), version) for version in (1, 2)]
    asked += [(m.ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=-1), version) for version in (1, 2)]
    opened = []
    for grants, denials in TOKEN_RIGHTS:
        acls = [
            {**ACL, "resource_type": kind, "resource_name": "*", "principal": "User:carol", "operation": operation, "permission_type": permission}
            for permission, rights in ((AclPermission.ALLOW, grants), (AclPermission.DENY, denials))
            for kind, operation in rights
        ]  # fmt: skip
        side.ask(made(m.CreateAclsRequest, creations=acls), 3)
        side.pass_a_grant()
        answers = [side.told(side.ask_as("carol", request, version)) for request, version in asked]
        for request in (made(m.CreateDelegationTokenRequest, max_lifetime_ms=-1, **named) for named in (owner, {})):
            answer = side.ask_as("carol", request, 3)
            answers.append(side.told(answer))
            if answer.error_code == 0:
                side.settle(request, answer)
                over = m.ExpireDelegationTokenRequest(hmac=bytes(answer.hmac), expiry_time_period_ms=-1)
                side.settle(over, side.ask_as(answer.principal_name, over, 2))
        opened.append(answers)
        side.ask(made(m.DeleteAclsRequest, filters=[{**ANY_ACL, "principal_filter": "User:carol"}]), 3)
    return opened
