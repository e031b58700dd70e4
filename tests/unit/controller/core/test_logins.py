"""SCRAM credentials and delegation tokens as decisions."""

import pytest

from millstream_cluster import records as r
from millstream_cluster.image import Image
from millstream_cluster.principal import Principal
from millstream_controller.core.logins.delegation_tokens import (
    NewToken,
    TokenChange,
    TokenIds,
    create_token,
    expire_token,
    renew_token,
    sweep_tokens,
)
from millstream_controller.core.logins.scram_credentials import Deletion, Upsertion, alter_scram_credentials
from millstream_controller.core.logins.token_settings import TokenSettings
from millstream_controller.core.refusal import Refused
from millstream_wire.errors import ErrorCode

SHA_256, SHA_512 = 1, 2
SECRET = b"for pretending"
ALICE, BOB, EVE = (Principal("User", name) for name in ("alice", "bob", "eve"))
SETTINGS = TokenSettings("secret", max_lifetime_ms=10_000, expiry_ms=1_000)


def upsertion(user="u", mechanism=SHA_256, iterations=4096, salt=b"salt", salted=b"salted") -> Upsertion:
    return Upsertion(user, mechanism, iterations, salt, salted)


def alter(cluster, deletions=(), upsertions=()) -> dict[str, ErrorCode]:
    decision = alter_scram_credentials(cluster.machine, deletions, upsertions, SECRET)
    return {user: outcome.error for user, outcome in cluster.do(decision).items()}


def test_a_credential_is_set_changed_and_removed(cluster) -> None:
    assert alter(cluster, upsertions=[upsertion()]) == {"u": ErrorCode.NONE}
    first = cluster.image.logins.credential("SCRAM-SHA-256", "u")
    assert alter(cluster, upsertions=[upsertion(iterations=8192)]) == {"u": ErrorCode.NONE}
    assert cluster.image.logins.credential("SCRAM-SHA-256", "u").iterations == 8192
    assert cluster.image.logins.credential("SCRAM-SHA-512", "u") is None
    assert alter(cluster, [Deletion("u", SHA_256)]) == {"u": ErrorCode.NONE}
    assert cluster.image.logins.scram == {}
    assert "salted" not in repr(first)
    assert first.stored_key not in repr(first)


def test_the_secret_for_pretending_comes_once_with_the_first_credential(cluster) -> None:
    alter(cluster, [Deletion("u", SHA_256)])
    assert cluster.image.logins.secret is None
    alter(cluster, upsertions=[upsertion()])
    alter(cluster, upsertions=[upsertion("v")])
    assert [type(record) for record in cluster.history].count(r.LoginSecretSet) == 1


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        (upsertion(iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(iterations=16_385), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(iterations=-1), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(salted=b""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(mechanism=0), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (upsertion(mechanism=3), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (Deletion("", SHA_256), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (Deletion("u", 9), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (Deletion("u", SHA_256), ErrorCode.RESOURCE_NOT_FOUND),
        (upsertion(iterations=16_384, salt=b"", salted=b"x"), ErrorCode.NONE),
    ],
)
def test_what_is_no_credential_is_refused_and_stops_no_other(cluster, wanted, error) -> None:
    deletions = [wanted] if isinstance(wanted, Deletion) else []
    upsertions = [upsertion("other"), *([] if deletions else [wanted])]
    assert alter(cluster, deletions, upsertions) == {"other": ErrorCode.NONE, wanted.user: error}


def test_a_user_is_in_a_request_once(cluster) -> None:
    twice = [upsertion(), upsertion(mechanism=SHA_512)]
    assert alter(cluster, upsertions=twice) == {"u": ErrorCode.DUPLICATE_RESOURCE}
    assert alter(cluster, [Deletion("u", SHA_256)], [upsertion()]) == {"u": ErrorCode.DUPLICATE_RESOURCE}
    assert cluster.image.logins.scram == {}


class Tokens:
    def __init__(self, cluster, settings=SETTINGS) -> None:
        self.cluster, self.settings, self.ids = cluster, settings, TokenIds()

    def make(self, owner=ALICE, asker=ALICE, renewers=(BOB,), max_lifetime_ms=-1, now_ms=0):
        wanted = NewToken(owner, asker, renewers, max_lifetime_ms)
        token_id = f"t{len(self.cluster.image.logins.tokens)}"
        return self.cluster.do(create_token(self.cluster.machine, self.settings, wanted, token_id, now_ms))

    def change(self, how, made, asker, period_ms, now_ms=0) -> int:
        wanted = TokenChange(asker, made.hmac, period_ms)
        return self.cluster.do(how(self.cluster.machine, self.settings, self.ids, wanted, now_ms))

    def refused(self, how, made, asker, period_ms=-1, now_ms=0) -> ErrorCode:
        with pytest.raises(Refused) as caught:
            self.change(how, made, asker, period_ms, now_ms)
        return caught.value.error

    def expiries(self) -> list[int]:
        return [token.expires_ms for token in self.cluster.image.logins.tokens.values()]


@pytest.fixture
def tokens(cluster) -> Tokens:
    return Tokens(cluster)


def test_a_token_is_made_with_its_times(tokens) -> None:
    made = tokens.make(now_ms=500)
    assert (made.token.issued_ms, made.token.expires_ms, made.token.max_ms) == (500, 1_500, 10_500)
    assert (made.token.owner, made.token.requester, made.token.renewers) == ("User:alice", "User:alice", ("User:bob",))
    assert len(made.hmac) == 64
    assert made.hmac.hex() not in repr(tokens.cluster.history)
    assert repr(made.hmac) not in repr(made)
    assert tokens.make(max_lifetime_ms=400).token.max_ms == 400
    assert tokens.make(max_lifetime_ms=400).token.expires_ms == 400
    assert tokens.make(max_lifetime_ms=99_999).token.max_ms == 10_000


def test_owner_and_renewers_renew_up_to_the_maximum(tokens) -> None:
    made = tokens.make()
    assert tokens.change(renew_token, made, BOB, 5_000, now_ms=100) == 5_100
    assert tokens.change(renew_token, made, ALICE, -1, now_ms=5_000) == 6_000
    assert tokens.change(renew_token, made, ALICE, 99_999, now_ms=5_000) == 10_000
    assert tokens.expiries() == [10_000]


def test_nobody_else_changes_a_token_not_even_who_asked_for_it(tokens) -> None:
    made = tokens.make(owner=ALICE, asker=EVE)
    for how in (renew_token, expire_token):
        assert tokens.refused(how, made, EVE) is ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH


def test_a_token_ends_now_or_goes_at_once(tokens) -> None:
    made = tokens.make()
    assert tokens.change(expire_token, made, ALICE, 0, now_ms=100) == 100
    assert tokens.refused(renew_token, made, ALICE, now_ms=100) is ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert tokens.refused(expire_token, made, ALICE, 5, now_ms=200) is ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert tokens.change(expire_token, made, ALICE, -1, now_ms=300) == 300
    assert tokens.refused(renew_token, made, ALICE) is ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_without_a_secret_there_are_no_tokens(cluster) -> None:
    tokens = Tokens(cluster, TokenSettings())
    with pytest.raises(Refused) as caught:
        tokens.make()
    assert caught.value.error is ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


def test_only_users_renew(tokens) -> None:
    with pytest.raises(Refused) as caught:
        tokens.make(renewers=(Principal("Group", "g"),))
    assert caught.value.error is ErrorCode.INVALID_PRINCIPAL_TYPE


def test_tokens_that_are_over_are_swept(tokens) -> None:
    tokens.make()
    tokens.make(max_lifetime_ms=300)
    assert tokens.cluster.do(sweep_tokens(tokens.cluster.machine, 299)) == 0
    assert tokens.cluster.do(sweep_tokens(tokens.cluster.machine, 300)) == 1
    assert tokens.cluster.do(sweep_tokens(tokens.cluster.machine, 1_000)) == 1
    assert tokens.cluster.image.logins.tokens == {}


def test_a_snapshot_has_all_of_it(tokens) -> None:
    alter(tokens.cluster, upsertions=[upsertion(), upsertion("v", SHA_512)])
    tokens.make()
    image = tokens.cluster.image
    assert Image.of(image.records(), image.offset).logins == image.logins
