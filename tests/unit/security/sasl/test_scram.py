"""SCRAM: both sides against each other and against the RFC's own example, and every way to cheat."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_cluster.principal import Principal
from millstream_security.sasl.exchange import Accepted, Challenge, SaslRefused
from millstream_security.sasl.scram_client import ScramClient
from millstream_security.sasl.scram_mechanism import ScramCredential, ScramMechanism, pretended_credential
from millstream_security.sasl.scram_server import ScramAccounts, ScramServer, TokenLogin

SHA_256 = ScramMechanism.SCRAM_SHA_256
OWNER = Principal("User", "owner")
ODD = "a,b=c ü"


def _credential(mechanism: ScramMechanism, password: str) -> ScramCredential:
    return ScramCredential.of_password(mechanism, password, b"some salt", 4096)


CREDENTIALS = {
    (mechanism, user): _credential(mechanism, password)
    for mechanism in ScramMechanism
    for user, password in (("alice", "wonder"), (ODD, "pässwörd"))
}
TOKENS = {"token": TokenLogin(OWNER, _credential(SHA_256, "hmac"), 5_000)}
ACCOUNTS = ScramAccounts(
    lambda mechanism, user: CREDENTIALS.get((mechanism, user)),
    lambda mechanism, name: TOKENS.get(name),
    lambda: b"secret",
)


def server(mechanism=SHA_256, nonce="srv") -> ScramServer:
    return ScramServer(mechanism, ACCOUNTS, nonce)


def client(user="alice", password="wonder", mechanism=SHA_256, **extensions) -> ScramClient:
    return ScramClient(mechanism, user, password, "clt", extensions)


def log_in(asks: ScramClient, answers: ScramServer) -> Accepted:
    challenge = answers.step(asks.first(), 0)
    assert isinstance(challenge, Challenge)
    final = asks.step(challenge.content)
    assert final is not None
    accepted = answers.step(final, 0)
    assert isinstance(accepted, Accepted)
    assert asks.step(accepted.content) is None
    assert asks.proved
    return accepted


def refused(answers: ScramServer, token: bytes) -> str:
    with pytest.raises(SaslRefused) as caught:
        answers.step(token, 0)
    return str(caught.value)


WRONG = "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"


@pytest.mark.parametrize("mechanism", list(ScramMechanism))
@pytest.mark.parametrize(("user", "password"), [("alice", "wonder"), (ODD, "pässwörd")])
def test_both_sides_know_each_other(mechanism, user, password) -> None:
    accepted = log_in(client(user, password, mechanism), server(mechanism))
    assert accepted.principal == Principal("User", user)
    assert not accepted.by_token


def test_the_example_of_rfc_7677() -> None:
    from base64 import b64decode

    credential = ScramCredential.of_password(SHA_256, "pencil", b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096)
    accounts = ScramAccounts(lambda mechanism, user: credential, lambda mechanism, name: None, lambda: b"")
    answers = ScramServer(SHA_256, accounts, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    asks = ScramClient(SHA_256, "user", "pencil", "rOprNGfwEbeRWgbNEkqO", {})
    assert asks.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    challenge = answers.step(asks.first(), 0)
    assert challenge == Challenge(
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    final = asks.step(challenge.content)
    assert final == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    accepted = answers.step(final, 0)
    assert accepted.content == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_a_wrong_password_and_an_unknown_user_fail_at_the_same_message_in_the_same_words() -> None:
    for user, password in (("alice", "wrong"), ("nobody", "wonder")):
        asks, answers = client(user, password), server()
        challenge = answers.step(asks.first(), 0)
        assert isinstance(challenge, Challenge)
        assert refused(answers, asks.step(challenge.content)) == WRONG


def test_a_name_without_a_credential_has_the_same_salt_each_time_and_on_each_node() -> None:
    first, again = (server(nonce="s").step(client("nobody").first(), 0).content for _ in range(2))
    assert first == again
    other = ScramAccounts(ACCOUNTS.credential_of, ACCOUNTS.token_of, lambda: b"another cluster")
    assert ScramServer(SHA_256, other, "s").step(client("nobody").first(), 0).content != first
    assert pretended_credential(SHA_256, "a", b"s").salt != pretended_credential(SHA_256, "b", b"s").salt


def test_a_replayed_login_fails_by_the_nonce() -> None:
    asks, answers = client(), server(nonce="one")
    final = asks.step(answers.step(asks.first(), 0).content)
    assert isinstance(answers.step(final, 0), Accepted)
    later = server(nonce="two")
    later.step(asks.first(), 0)
    assert refused(later, final) == WRONG


def test_a_client_that_says_its_nonce_twice_is_let_in_as_kafka_lets_it() -> None:
    """librdkafka up to 2.0, which kcat is built with."""
    import hashlib
    import hmac
    from base64 import b64encode

    answers = server()
    first = answers.step(b"n,,n=alice,r=clt", 0).content
    unproved = b"c=biws,r=cltcltsrv"
    salted = SHA_256.salted_password("wonder", b"some salt", 4096)
    key = hmac.digest(salted, b"Client Key", "sha256")
    message = b"n=alice,r=clt," + first + b"," + unproved
    signature = hmac.digest(hashlib.sha256(key).digest(), message, "sha256")
    proof = bytes(one ^ other for one, other in zip(key, signature, strict=True))
    assert isinstance(answers.step(unproved + b",p=" + b64encode(proof), 0), Accepted)


def _exchange() -> tuple[ScramServer, bytes]:
    asks, answers = client(), server()
    return answers, asks.step(answers.step(asks.first(), 0).content)


def test_an_altered_message_is_refused_wherever_it_is_altered() -> None:
    _, final = _exchange()
    for position in range(len(final)):
        answers, _ = _exchange()
        altered = bytearray(final)
        altered[position] ^= 1
        if bytes(altered) != final:
            assert refused(answers, bytes(altered)) == WRONG


@pytest.mark.parametrize(
    "change",
    [
        lambda final: final.replace(b"c=biws", b"c=eSws"),  # "y,,": another header than the first message had
        lambda final: final.replace(b"c=biws", b"c=AAAA"),
        lambda final: final.replace(b",p=", b",m=x,p="),
        lambda final: final + b",x=1",
        lambda final: final[: final.index(b",p=")],
        lambda final: final[:-8] + b"=" * 8,
        lambda final: final.replace(b"r=cltsrv", b"r=clt"),
    ],
)
def test_the_last_message_is_held_to_the_rfc(change) -> None:
    answers, final = _exchange()
    assert refused(answers, change(final)) == WRONG


@pytest.mark.parametrize(
    "token",
    [
        b"",
        b"y,,n=alice,r=x",  # the client thinks that we could bind the channel
        b"p=tls-unique,,n=alice,r=x",
        b"n,,m=x,n=alice,r=x",
        b"n,,n=alice,r=x,m=x",
        b"n,,n=a=b,r=x",
        b"n,,n=,r=x",
        b"n,,n=alice,r=",
        b"n,,r=x,n=alice",
        b"n,,n=alice,r=\xff",
        b"n,n=alice,r=x",
    ],
)
def test_the_first_message_is_held_to_the_rfc(token) -> None:
    assert refused(server(), token) == WRONG


def test_acting_for_another_is_refused() -> None:
    assert "different from username" in refused(server(), b"n,a=bob,n=alice,r=x")
    assert isinstance(server().step(b"n,a=alice,n=alice,r=x", 0), Challenge)


def test_nothing_is_taken_after_the_end() -> None:
    answers, final = _exchange()
    assert isinstance(answers.step(final, 0), Accepted)
    assert refused(answers, final) == WRONG
    failed = server()
    refused(failed, b"nonsense")
    assert refused(failed, client().first()) == WRONG


def test_a_delegation_token_logs_its_owner_in_and_is_no_user_of_its_own() -> None:
    accepted = log_in(client("token", "hmac", tokenauth="true"), server())
    assert (accepted.principal, accepted.by_token, accepted.expires_at_ms) == (OWNER, True, 5_000)
    for asks in (
        client("token", "hmac"),
        client("alice", "wonder", tokenauth="true"),
        client("x", "hmac", tokenauth="true"),
    ):
        answers = server()
        assert refused(answers, asks.step(answers.step(asks.first(), 0).content)) == WRONG


@pytest.mark.parametrize("iterations", [1, 4095, 100_001, 999_999_999])
def test_a_client_does_not_work_for_iterations_out_of_bounds(iterations) -> None:
    asks = client()
    asks.first()
    with pytest.raises(SaslRefused, match="iterations"):
        asks.step(f"r=cltsrv,s=c2FsdA==,i={iterations}".encode())


def test_a_client_believes_no_server_that_does_not_know_the_keys() -> None:
    asks, answers = client(), server()
    asks.step(answers.step(asks.first(), 0).content)
    with pytest.raises(SaslRefused):
        asks.step(b"v=AAAA")
    assert not asks.proved
    for nonce in ("clt", "other"):
        other = client()
        other.first()
        with pytest.raises(SaslRefused, match="nonce"):
            other.step(f"r={nonce},s=c2FsdA==,i=4096".encode())


@given(st.lists(st.binary(max_size=80), min_size=1, max_size=3))
def test_any_bytes_are_refused_and_nothing_else_happens(tokens) -> None:
    answers = server()
    for token in tokens:
        try:
            assert not isinstance(answers.step(token, 0), Accepted)
        except SaslRefused:
            continue


@given(st.text(min_size=1, max_size=12).filter(lambda text: "\0" not in text))
def test_any_name_survives_its_escapes(name) -> None:
    from millstream_security.sasl.scram_messages import ClientFirst

    assert ClientFirst.read(ClientFirst.of(name, "n", {}).encoded()).user == name
