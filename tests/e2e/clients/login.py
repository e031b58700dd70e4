"""How the programs here log in: by the Secret of a User that is mounted at /user, or not at all where none is."""

from pathlib import Path

USER = Path("/user")


def settings(user: Path = USER) -> dict[str, str]:
    """For librdkafka."""
    if (user / "user.crt").exists():
        return {
            "security.protocol": "SSL",
            "ssl.ca.location": str(user / "ca.crt"),
            "ssl.certificate.location": str(user / "user.crt"),
            "ssl.key.location": str(user / "user.key"),
        }
    if not (user / "password").exists():
        return {}
    return {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(user / "ca.crt"),
        "sasl.mechanism": (user / "sasl.mechanism").read_text(),
        "sasl.username": (user / "username").read_text(),
        "sasl.password": (user / "password").read_text(),
    }


def kafka_python(user: Path = USER) -> dict[str, str]:
    found = settings(user)
    names = {
        "security.protocol": "security_protocol",
        "ssl.ca.location": "ssl_cafile",
        "ssl.certificate.location": "ssl_certfile",
        "ssl.key.location": "ssl_keyfile",
        "sasl.mechanism": "sasl_mechanism",
        "sasl.username": "sasl_plain_username",
        "sasl.password": "sasl_plain_password",
    }
    return {names[key]: value for key, value in found.items()}


if __name__ == "__main__":
    # As kcat's -F reads it.
    print("".join(f"{key}={value}\n" for key, value in settings().items()))
