"""sasl.* as people write it: jaas.config, --add-scram, and what is said of mistakes."""

import pytest

from millstream_security.protocol import ListenerProperties
from millstream_security.sasl.errors import SaslConfigError
from millstream_security.sasl.jaas import JaasError, parse_jaas
from millstream_security.sasl.login import Login, login_of
from millstream_security.sasl.scram_argument import parse_scram_argument
from millstream_security.sasl.scram_mechanism import ScramCredential, ScramMechanism
from millstream_security.sasl.settings import SaslSettings

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SECRET = "s3cret"


def test_a_jaas_config_is_read_as_kafka_reads_it() -> None:
    module = parse_jaas(f'{PLAIN} required\n username="a b" password="quo\\"te=;" user_x=plain;')
    assert module.short_name == "PlainLoginModule"
    assert module.options == {"username": "a b", "password": 'quo"te=;', "user_x": "plain"}
    assert SECRET not in repr(parse_jaas(f"{PLAIN} required password={SECRET};"))


@pytest.mark.parametrize(
    "text",
    ["", ";", PLAIN, f"{PLAIN} required", f"{PLAIN} maybe a=b;", f"{PLAIN} required a;", f"{PLAIN} required a==;", f'{PLAIN} required a="{SECRET};', f"{PLAIN} required a={SECRET} b;"],
)  # fmt: skip
def test_a_malformed_jaas_config_is_refused_without_its_values(text) -> None:
    with pytest.raises(JaasError) as caught:
        parse_jaas(text)
    assert SECRET not in str(caught.value)


def settings(**values: str) -> SaslSettings:
    named = {key.replace("__", "."): value for key, value in values.items()}
    return SaslSettings.of(ListenerProperties("OUT", named.get))


def test_a_listener_has_its_own_settings() -> None:
    read = settings(
        sasl__enabled__mechanisms="PLAIN,SCRAM-SHA-256",
        listener__name__out__sasl__enabled__mechanisms="PLAIN",
        listener__name__out__plain__sasl__jaas__config=f"{PLAIN} required username=me password={SECRET} user_bob={SECRET};",
        connections__max__reauth__ms="5000",
    )
    assert read.rules.mechanisms == ("PLAIN",)
    assert read.rules.reauthenticate_ms == 5_000
    assert read.users == {"bob": SECRET}
    assert SECRET not in repr(read)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({}, "sasl.enabled.mechanisms must name some of"),
        ({"sasl__enabled__mechanisms": "GSSAPI"}, "not GSSAPI"),
        ({"sasl__enabled__mechanisms": "OAUTHBEARER"}, "sasl.oauthbearer.jwks.endpoint.url must be"),
        ({"sasl__enabled__mechanisms": "PLAIN", "connections__max__reauth__ms": "-1"}, "connections.max.reauth.ms"),
        (
            {
                "sasl__enabled__mechanisms": "PLAIN",
                "listener__name__out__plain__sasl__jaas__config": f"ScramLoginModule required user_a={SECRET};",
            },
            "listener.name.out.plain.sasl.jaas.config must name PlainLoginModule",
        ),
        (
            {
                "sasl__enabled__mechanisms": "OAUTHBEARER",
                "sasl__oauthbearer__jwks__endpoint__url": "http://issuer/keys",
            },
            "https://",
        ),
    ],
)
def test_a_mistake_is_told_by_its_key_and_without_secrets(values, told) -> None:
    with pytest.raises(SaslConfigError, match=told) as caught:
        settings(**values)
    assert SECRET not in str(caught.value)


def test_what_this_process_logs_in_with() -> None:
    def login(mechanism: str, jaas: str | None, **more: str) -> Login:
        return login_of(mechanism, jaas, mechanism_key="sasl.mechanism", jaas_key="sasl.jaas.config", ask=more.get)

    made = login("SCRAM-SHA-512", f'ScramLoginModule required username="u" password="{SECRET}" tokenauth=true;')
    assert (made.user, made.password, made.by_token) == ("u", SECRET, True)
    assert SECRET not in repr(made)
    for mechanism, jaas in (("NTLM", None), ("PLAIN", None), ("PLAIN", "PlainLoginModule required username=u;")):
        with pytest.raises(SaslConfigError):
            login(mechanism, jaas)
    url = {"sasl.oauthbearer.token.endpoint.url": "file:///run/token"}
    assert login("OAUTHBEARER", None, **url).bearer_file == "/run/token"


SALT = b"random salt"


def test_add_scram_takes_what_kafka_storage_takes() -> None:
    first = parse_scram_argument(f'SCRAM-SHA-256=[name="a,b",password={SECRET}]', SALT)
    sha_256 = ScramMechanism.SCRAM_SHA_256
    assert (first.user, first.mechanism) == ("a,b", sha_256)
    assert first.credential == ScramCredential.of_password(sha_256, SECRET, SALT, 4096)
    salted = "SCRAM-SHA-512=[name=u,iterations=8192,salt=c2FsdA==,saltedpassword=AAAA]"
    made = parse_scram_argument(salted, SALT)
    assert made.credential == ScramCredential.of_salted_password(ScramMechanism.SCRAM_SHA_512, b"\0\0\0", b"salt", 8192)


@pytest.mark.parametrize(
    "text",
    [
        f"SCRAM-SHA-1=[name=u,password={SECRET}]",
        f"SCRAM-SHA-256=name=u,password={SECRET}",
        f"SCRAM-SHA-256=[password={SECRET}]",
        "SCRAM-SHA-256=[name=u]",
        "SCRAM-SHA-256=[name=u,password=]",
        f"SCRAM-SHA-256=[name=u,password={SECRET},iterations=4095]",
        f"SCRAM-SHA-256=[name=u,password={SECRET},iterations=16385]",
        f"SCRAM-SHA-256=[name=u,password={SECRET},iterations=many]",
        f"SCRAM-SHA-256=[name=u,password={SECRET},salt=?]",
        f"SCRAM-SHA-256=[name=u,password={SECRET},colour=red]",
        f"SCRAM-SHA-256=[name=u,password={SECRET},password={SECRET}]",
        "SCRAM-SHA-256=[name=u,saltedpassword=AAAA]",
        f"SCRAM-SHA-256=[name=u,password={SECRET},salt=AAAA,saltedpassword=AAAA]",
    ],
)
def test_a_wrong_add_scram_is_refused_and_not_shown(text) -> None:
    with pytest.raises(SaslConfigError) as caught:
        parse_scram_argument(text, SALT)
    assert SECRET not in str(caught.value)
