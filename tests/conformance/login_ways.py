"""Every way to come in, at one node with a door for each kind of them, all of them inside TLS; and what whoever comes in may do."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import servers
from certificates import Authority, Issued
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from kafka_programs import write_properties
from kafka_tools import run_tools
from sasl_scene import JAAS, bearer, settings, write_keys

TIMEOUT_S = 60
ROOT, USER = "root", "alice"
PASSWORDS = {ROOT: "root-secret", USER: "alice-secret"}
OWN, OTHERS = "in", "out"
"""Topics: one to write to and to read, one of others."""
GROUPS = "g-"
MODULES = {"PLAIN": "plain.PlainLoginModule", "OAUTHBEARER": "oauthbearer.OAuthBearerLoginModule"}
ANONYMOUS, CERTIFIED = "User:ANONYMOUS", "User:CN=alice,O=Example"
ITERATIONS = 4096


@dataclass(frozen=True, slots=True)
class Way:
    """How to reach a node, and what to show there; a mechanism or a certificate, or neither."""

    address: str
    authority: Path
    certificate: Issued | None = None
    mechanism: str = ""
    user: str = ""
    password: str = ""
    by_token: bool = False
    """The user is the id of a delegation token, the password its HMAC."""

    @property
    def protocol(self) -> str:
        return "SASL_SSL" if self.mechanism else "SSL"

    def properties(self) -> dict[str, str]:
        """As Kafka's own clients take them."""
        told = {"bootstrap.servers": self.address, "security.protocol": self.protocol}
        told |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.authority)}
        if self.certificate is not None:
            told |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self.certificate.file)}
        if self.mechanism == "OAUTHBEARER":
            token = self.authority.with_name("bearer.jwt")
            token.write_text(bearer(self.user))
            told |= {
                "sasl.login.callback.handler.class": f"{JAAS}.oauthbearer.OAuthBearerLoginCallbackHandler",
                "sasl.oauthbearer.token.endpoint.url": f"file://{token}",
            }
        if self.mechanism:
            module = MODULES.get(self.mechanism, "scram.ScramLoginModule")
            shown = "" if self.mechanism == "OAUTHBEARER" else f' username="{self.user}" password="{self.password}"'
            shown += ' tokenauth="true"' if self.by_token else ""
            told |= {"sasl.mechanism": self.mechanism, "sasl.jaas.config": f"{JAAS}.{module} required{shown};"}
        return told

    def librdkafka(self) -> dict[str, object]:
        told: dict[str, object] = {"bootstrap.servers": self.address, "security.protocol": self.protocol}
        told |= {"ssl.ca.location": str(self.authority)}
        if self.certificate is not None:
            told |= {
                "ssl.certificate.location": str(self.certificate.chain_file),
                "ssl.key.location": str(self.certificate.key_file),
            }
        if self.mechanism == "OAUTHBEARER":
            told |= {"sasl.mechanism": self.mechanism, "oauth_cb": lambda _: (bearer(self.user), 2**40)}
        elif self.mechanism:
            told |= {
                "sasl.mechanism": self.mechanism,
                "sasl.username": self.user,
                "sasl.password": self.password,
            }
        return told


@dataclass(frozen=True, slots=True)
class House:
    directory: Path
    root: Way
    ways: dict[str, Way]

    def with_token(self) -> Way:
        """Of alice's, made by Kafka's tool."""
        own = write_properties(self.directory / "alice.properties", self.ways["SCRAM-SHA-512"].properties())
        at = ["--bootstrap-server", self.root.address, "--command-config", own]
        (made,) = run_tools([("kafka-delegation-tokens", [*at, "--create", "--max-life-time-period", "-1"])])
        assert made.returncode == 0, made
        token_id, hmac = next(line for line in made.stdout.splitlines() if f"User:{USER}" in line).split()[:2]
        return Way(self.root.address, self.root.authority, None, "SCRAM-SHA-256", token_id, hmac, by_token=True)


@contextlib.contextmanager
def house(directory: Path) -> Iterator[House]:
    authority = Authority(directory / "certificates")
    node, client = authority.issue("CN=node", "127.0.0.1"), authority.issue("CN=alice,O=Example")
    port = servers.free_port()
    login, mutual, anyone = (f"127.0.0.1:{port + more}" for more in (0, 5, 6))
    told = settings("login", write_keys(directory), PASSWORDS) | {
        "listeners": f"LOGIN://{login},MUTUAL://{mutual},ANYONE://{anyone}",
        "listener.security.protocol.map": "LOGIN:SASL_SSL,MUTUAL:SSL,ANYONE:SSL,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "MUTUAL",
        "listener.name.mutual.ssl.client.auth": "required",
        "ssl.keystore.location": str(node.file),
        "ssl.truststore.location": str(authority.file),
        "super.users": f"User:CN=node;User:{ROOT}",
    }
    with servers.node(directory, *(f"{key}={value}" for key, value in told.items()), port=port):
        password = PASSWORDS[USER]
        ways = {
            "SSL": Way(anyone, authority.file),
            "mTLS": Way(mutual, authority.file, client),
            **{
                mechanism: Way(login, authority.file, None, mechanism, USER, password)
                for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
            },
        }
        made = House(directory, Way(login, authority.file, None, "PLAIN", ROOT, PASSWORDS[ROOT]), ways)
        furnish(AdminClient(made.root.librdkafka()))
        yield made


def furnish(admin: AdminClient) -> int:
    """Topics, passwords and rights; how many rights there are now."""
    futures = [*admin.create_topics([NewTopic(topic, 1, 1) for topic in (OWN, OTHERS)]).values()]
    credentials = [
        UserScramCredentialUpsertion(USER, ScramCredentialInfo(mechanism, ITERATIONS), PASSWORDS[USER].encode())
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
    ]
    for each in credentials:  # Kafka takes a user once per request
        futures += admin.alter_user_scram_credentials([each]).values()
    grants = [
        (ResourceType.TOPIC, OWN, ResourcePatternType.LITERAL, AclOperation.READ),
        (ResourceType.TOPIC, OWN, ResourcePatternType.LITERAL, AclOperation.WRITE),
        (ResourceType.GROUP, GROUPS, ResourcePatternType.PREFIXED, AclOperation.READ),
    ]
    acls = [
        AclBinding(resource, name, pattern, principal, "*", operation, AclPermissionType.ALLOW)
        for resource, name, pattern, operation in grants
        for principal in (ANONYMOUS, CERTIFIED, f"User:{USER}")
    ]
    futures += admin.create_acls(acls).values()
    for future in futures:
        future.result(TIMEOUT_S)
    return len(acls)
