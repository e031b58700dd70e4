"""Delegation tokens: what makes one, from its id and the secret that all nodes share; no log and no disk has its HMAC."""

import hmac

from millstream_security.sasl.scram_mechanism import ITERATIONS_MIN, ScramCredential, ScramMechanism, base64


def token_hmac(secret_key: str, token_id: str) -> bytes:
    """Who has it has the token: 64 bytes, as Kafka makes them."""
    return hmac.digest(secret_key.encode(), token_id.encode(), "sha512")


def token_credential(mechanism: ScramMechanism, secret_key: str, token_id: str) -> ScramCredential:
    """What a login by the token is checked with; it takes milliseconds, so whoever asks keeps it."""
    password = base64(token_hmac(secret_key, token_id))
    salt = hmac.digest(secret_key.encode(), f"salt\0{mechanism.wire_name}\0{token_id}".encode(), "sha256")
    return ScramCredential.of_password(mechanism, password, salt, ITERATIONS_MIN)
