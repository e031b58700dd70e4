"""What a user's Secret holds: all that a client needs, under names that clients know, and a properties file for Kafka's tools."""

from collections.abc import Mapping

from millstream_cluster.ids import Role
from millstream_operator.certificates.issue import Issued
from millstream_operator.resources.identity import KAFKA_PORTS, ClusterIdentity
from millstream_operator.resources.listeners import MECHANISM, MTLS_PORT

PASSWORD, KEYSTORE = "password", "keystore.pem"


def scram_files(cluster: ClusterIdentity, trust: bytes, name: str, password: str) -> dict[str, bytes]:
    login = "org.apache.kafka.common.security.scram.ScramLoginModule required"
    jaas = f"{login} username={_quoted(name)} password={_quoted(password)};"
    settings = {
        "bootstrap.servers": _bootstrap(cluster, KAFKA_PORTS[Role.BROKER]),
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": MECHANISM,
        "sasl.jaas.config": jaas,
    }
    texts = {**settings, "username": name, PASSWORD: password, "client.properties": _properties(settings, trust)}
    return {key: text.encode() for key, text in texts.items()} | {"ca.crt": trust}


def tls_files(cluster: ClusterIdentity, trust: bytes, issued: Issued) -> dict[str, bytes]:
    settings = {"bootstrap.servers": _bootstrap(cluster, MTLS_PORT), "security.protocol": "SSL"}
    own = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": issued.key_text.decode(),
        "ssl.keystore.certificate.chain": issued.certificates.decode(),
    }
    texts = {**settings, "client.properties": _properties(settings | own, trust)}
    return {key: text.encode() for key, text in texts.items()} | {
        "ca.crt": trust,
        "user.crt": issued.certificates,
        "user.key": issued.key_text,
        KEYSTORE: issued.keystore,
    }


def _bootstrap(cluster: ClusterIdentity, port: int) -> str:
    return f"{cluster.bootstrap_service}.{cluster.namespace}.svc:{port}"


def _properties(settings: Mapping[str, str], trust: bytes) -> str:
    trusted = {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": trust.decode()}
    return "".join(f"{key}={_value(value)}\n" for key, value in {**settings, **trusted}.items())


def _value(text: str) -> str:
    """As Java reads it: backslashes are doubled, and every line but the last ends in one."""
    return text.strip().replace("\\", "\\\\").replace("\n", "\\n\\\n")


def _quoted(text: str) -> str:
    """As a login module's option."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
