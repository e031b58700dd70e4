"""Who may log in: SCRAM credentials by user and mechanism, delegation tokens by id."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias, assert_never

from millstream_cluster import records as r
from millstream_cluster.image.expectation import expect

LoginRecord: TypeAlias = (
    r.ScramCredentialSet | r.ScramCredentialRemoved | r.LoginSecretSet | r.DelegationTokenSet | r.DelegationTokenRemoved
)


class LoginsImage:
    """Invariant: a user is here only while there is a credential of theirs."""

    def __init__(self) -> None:
        self.secret: str | None = None
        """None: nobody has had a SCRAM credential yet."""
        self._scram: dict[str, dict[str, r.ScramCredentialSet]] = {}
        self._tokens: dict[str, r.DelegationTokenSet] = {}
        self.scram: Mapping[str, Mapping[str, r.ScramCredentialSet]] = MappingProxyType(self._scram)
        """Credentials by user, then by mechanism."""
        self.tokens: Mapping[str, r.DelegationTokenSet] = MappingProxyType(self._tokens)

    def credential(self, mechanism: str, user: str) -> r.ScramCredentialSet | None:
        found = self._scram.get(user)
        return None if found is None else found.get(mechanism)

    def records(self) -> Iterator[r.MetadataRecord]:
        if self.secret is not None:
            yield r.LoginSecretSet(self.secret)
        for credentials in self._scram.values():
            yield from credentials.values()
        yield from self._tokens.values()

    def apply(self, record: LoginRecord) -> None:
        match record:
            case r.ScramCredentialSet():
                self._scram.setdefault(record.user, {})[record.mechanism] = record
            case r.ScramCredentialRemoved():
                credentials = self._scram.get(record.user, {})
                expect(record.mechanism in credentials, record, "there is no such credential")
                del credentials[record.mechanism]
                if not credentials:
                    del self._scram[record.user]
            case r.LoginSecretSet():
                expect(self.secret in (None, record.secret), record, "the cluster has another secret")
                self.secret = record.secret
            case r.DelegationTokenSet():
                self._tokens[record.token_id] = record
            case r.DelegationTokenRemoved():
                expect(record.token_id in self._tokens, record, "there is no such token")
                del self._tokens[record.token_id]
            case _:
                assert_never(record)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LoginsImage):
            return NotImplemented
        return (self.secret, self._scram, self._tokens) == (other.secret, other._scram, other._tokens)

    __hash__ = None  # type: ignore[assignment]
