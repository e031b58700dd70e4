"""How the jobs log in: by the directory of a User's Secret, or by client properties as Kafka's tools take them.

Passwords stay in the files until a client reads them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from millstream_spark.errors import BadCredentials
from millstream_spark.properties import parse_properties

# Of a client's properties; librdkafka's names for the same PEM text.
PEM_TEXTS = {
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
SECRETS = {"sasl.jaas.config", "ssl.keystore.key", "ssl.key.password", "ssl.keystore.password"}


@dataclass(frozen=True, slots=True)
class Login:
    """The same login for the two kinds of clients that a job has; without credentials nothing is set."""

    java: Mapping[str, str] = field(default_factory=dict)
    """Kafka's settings, for Spark's options; a password is named by its file, which the client itself reads."""
    librdkafka: Mapping[str, str] = field(default_factory=dict, repr=False)


def read_login(credentials: str | None) -> Login:
    """Raises BadCredentials."""
    if credentials is None:
        return Login()
    path = Path(credentials)
    return _of_secret(path) if path.is_dir() else _of_properties(path)


def bootstrap_servers_of(credentials: str) -> str | None:
    """Return the address that comes with the credentials. Raises BadCredentials."""
    path = Path(credentials)
    return _text(path, "bootstrap.servers") if path.is_dir() else read_properties(path).get("bootstrap.servers")


def read_properties(path: Path) -> dict[str, str]:
    try:
        return parse_properties(path.read_text())
    except OSError as error:
        raise BadCredentials(f"{path} cannot be read: {error.strerror}") from None


def _of_secret(path: Path) -> Login:
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


def _of_properties(path: Path) -> Login:
    found = {
        name: value for name, value in read_properties(path).items() if name.startswith(("security.", "sasl.", "ssl."))
    }
    java = {name: f"${{file:{path}:{name}}}" if name in SECRETS else value for name, value in found.items()}
    if SECRETS & found.keys():
        java |= {
            "config.providers": "file",
            "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        }
    return Login(java, _for_librdkafka(path, found))


def _for_librdkafka(path: Path, found: Mapping[str, str]) -> dict[str, str]:
    settings: dict[str, str] = {}
    for name, value in found.items():
        match name:
            case "security.protocol" | "sasl.mechanism":
                settings[name] = value
            case "sasl.jaas.config":
                options = _login_module_options(value)
                if not options.keys() >= {"username", "password"}:
                    raise BadCredentials(f"{path}: sasl.jaas.config has no username and password")
                settings |= {"sasl.username": options["username"], "sasl.password": options["password"]}
            case "ssl.truststore.location":
                settings["ssl.ca.location"] = value
            case "ssl.keystore.location":
                settings |= {"ssl.certificate.location": value, "ssl.key.location": value}
            case "ssl.truststore.type" | "ssl.keystore.type":
                if value != "PEM":
                    raise BadCredentials(f"{path}: {name}={value}: only PEM is read by every client of a job")
            case "ssl.endpoint.identification.algorithm":
                settings[name] = value or "none"
            case "ssl.key.password":
                settings[name] = value
            case _ if name in PEM_TEXTS:
                settings[PEM_TEXTS[name]] = value
            case _:
                raise BadCredentials(f"{path}: {name} is not known to every client of a job")
    return settings


def _login_module_options(text: str) -> dict[str, str]:
    """Return the options of a JAAS line: `Module required name="value" ...;`."""
    found = re.findall(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"', text)
    return {name: re.sub(r"\\(.)", r"\1", value) for name, value in found}


def _text(directory: Path, name: str) -> str:
    try:
        return (directory / name).read_text()
    except OSError as error:
        raise BadCredentials(f"{directory} is not a User's Secret: {name}: {error.strerror}") from None
