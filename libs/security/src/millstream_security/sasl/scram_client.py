"""The client's side of SCRAM: shows that it knows the password, and believes only a server that shows that it knows the keys."""

import hmac
from collections.abc import Mapping

from millstream_security.sasl.exchange import ClientExchange, SaslRefused
from millstream_security.sasl.scram_mechanism import ITERATIONS_MIN, ScramMechanism, base64
from millstream_security.sasl.scram_messages import (
    ClientFirst,
    ScramMalformed,
    ServerFirst,
    read_server_final,
    unproved_final,
)

ITERATIONS_BELIEVED = 100_000
"""A server that asks for more would have its clients work for seconds."""


class ScramClient(ClientExchange):
    def __init__(
        self, mechanism: ScramMechanism, user: str, password: str, nonce: str, extensions: Mapping[str, str]
    ) -> None:
        self._mechanism = mechanism
        self._password = password
        self._first = ClientFirst.of(user, nonce, extensions)
        self._expected: bytes | None = None
        """The signature that the server has to give at the end."""
        self.proved = False

    def first(self) -> bytes:
        return self._first.encoded()

    def step(self, challenge: bytes) -> bytes | None:
        try:
            if self._expected is None:
                return self._prove(ServerFirst.read(challenge))
            if not hmac.compare_digest(read_server_final(challenge), self._expected):
                raise SaslRefused(f"{self._mechanism.wire_name}: the server does not know the password's keys")
        except ScramMalformed as error:
            raise SaslRefused(f"{self._mechanism.wire_name}: {error}") from None
        self.proved = True
        return None

    def _prove(self, challenge: ServerFirst) -> bytes:
        if not challenge.nonce.startswith(self._first.nonce) or challenge.nonce == self._first.nonce:
            raise ScramMalformed("the server's nonce does not continue ours")
        if not ITERATIONS_MIN <= challenge.iterations <= ITERATIONS_BELIEVED:
            raise ScramMalformed(f"the server asks for {challenge.iterations} iterations")
        mechanism = self._mechanism
        salted = mechanism.salted_password(self._password, challenge.salt, challenge.iterations)
        client_key = mechanism.hmac(salted, b"Client Key")
        unproved = unproved_final(self._first.gs2_header, challenge.nonce)
        message = f"{self._first.bare},{challenge.text},{unproved}".encode()
        signature = mechanism.hmac(mechanism.digest(client_key), message)
        proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
        self._expected = mechanism.hmac(mechanism.hmac(salted, b"Server Key"), message)
        return f"{unproved},p={base64(proof)}".encode()
