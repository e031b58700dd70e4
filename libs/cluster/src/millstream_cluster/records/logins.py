"""Records of who may log in: SCRAM credentials and delegation tokens. No password and no token's HMAC is in them.

What is bytes is in base64. `repr` leaves out what a password could be guessed from.
"""

from dataclasses import field

from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ScramCredentialSet:
    """The user logs in by this mechanism with a password that fits, whatever was set before."""

    user: str
    mechanism: str
    iterations: int
    salt: str = field(repr=False)
    stored_key: str = field(repr=False)
    server_key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ScramCredentialRemoved:
    user: str
    mechanism: str


@dataclass(frozen=True, slots=True)
class LoginSecretSet:
    """What nodes pretend credentials from for users that do not exist, all of them the same; comes once, with the first credential."""

    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class DelegationTokenSet:
    """The token is there, with these times; the same token again changes when it expires. Principals are `Type:name`."""

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_ms: int
    expires_ms: int
    max_ms: int


@dataclass(frozen=True, slots=True)
class DelegationTokenRemoved:
    token_id: str
