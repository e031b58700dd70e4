"""How the jobs log in: by a directory with the files of a User's Secret. Passwords stay in the files until a client reads them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from millstream_spark.errors import BadCredentials


@dataclass(frozen=True, slots=True)
class Login:
    """The same login for the two kinds of clients that a job has; without credentials nothing is set."""

    java: Mapping[str, str] = field(default_factory=dict)
    """Kafka's settings, for Spark's options; a password is named by its file, which the client itself reads."""
    librdkafka: Mapping[str, str] = field(default_factory=dict, repr=False)


def read_login(directory: str | None) -> Login:
    """Raises BadCredentials."""
    if directory is None:
        return Login()
    path = Path(directory)
    protocol = _text(path, "security.protocol")
    trust = str(path / "ca.crt")
    java = {"security.protocol": protocol, "ssl.truststore.type": "PEM", "ssl.truststore.location": trust}
    librdkafka = {"security.protocol": protocol, "ssl.ca.location": trust}
    if protocol == "SSL":
        java |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(path / "keystore.pem")}
        librdkafka |= {
            "ssl.certificate.location": str(path / "user.crt"),
            "ssl.key.location": str(path / "user.key"),
        }
        return Login(java, librdkafka)
    mechanism = _text(path, "sasl.mechanism")
    java |= {
        "sasl.mechanism": mechanism,
        # Read by the client where it starts: in no option, plan or log of Spark's is the password itself.
        "config.providers": "user",
        "config.providers.user.class": "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
        "sasl.jaas.config": f"${{user:{path}:sasl.jaas.config}}",
    }
    librdkafka |= {
        "sasl.mechanism": mechanism,
        "sasl.username": _text(path, "username"),
        "sasl.password": _text(path, "password"),
    }
    return Login(java, librdkafka)


def _text(directory: Path, name: str) -> str:
    try:
        return (directory / name).read_text()
    except OSError as error:
        raise BadCredentials(f"{directory} is not a User's Secret: {name}: {error.strerror}") from None
