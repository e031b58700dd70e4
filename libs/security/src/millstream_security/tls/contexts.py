"""What new TLS connections are made with: a context of OpenSSL's that is made anew when one of its files changed.

Connections keep the one that they began with. Files are looked at when a handshake begins, at most once a second, so that nothing runs
where nobody connects. Files that are no good (the key is there already, its certificate not yet) change nothing, and are spoken of once.
"""

import logging
import ssl
import time
from collections.abc import Callable

from millstream_security.tls.errors import TlsConfigError
from millstream_security.tls.settings import ClientAuth, TlsSettings
from millstream_security.tls.stores import Store, load_key, load_trusted
from millstream_security.tls.suites import choose_suites

logger = logging.getLogger(__name__)

LOOK_INTERVAL_S = 1.0

_Seen = tuple[tuple[int, int, int] | None, ...]

_VERIFICATION = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.REQUESTED: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
}


class Contexts:
    """Invariant: `current` is always one that was made without an error."""

    def __init__(
        self,
        name: str,
        stores: tuple[Store | None, ...],
        make: Callable[[], ssl.SSLContext],
        renewed: Callable[[], None] = lambda: None,
    ) -> None:
        """`renewed` is told of each new one. Raises TlsConfigError: the first one has to be right."""
        self._name = name
        self._renewed = renewed
        self._stores = tuple(store for store in stores if store is not None and store.path is not None)
        self._make = make
        self._seen = self._look()
        self._looked_at = time.monotonic()
        self._context = make()

    def current(self) -> ssl.SSLContext:
        now = time.monotonic()
        if self._stores and now - self._looked_at >= LOOK_INTERVAL_S:
            self._looked_at = now
            seen = self._look()
            if seen != self._seen:
                self._seen = seen
                self._renew()
        return self._context

    def _renew(self) -> None:
        try:
            self._context = self._make()
        except TlsConfigError as error:
            logger.error("certificates not renewed listener=%s the_old_ones_stay reason=%s", self._name, error)
        else:
            logger.info("certificates renewed listener=%s", self._name)
            self._renewed()

    def _look(self) -> _Seen:
        return tuple(_state_of(store) for store in self._stores)


class ServerTls:
    """A listener's side."""

    def __init__(self, name: str, settings: TlsSettings) -> None:
        """Raises TlsConfigError."""
        if settings.keystore is None:
            raise TlsConfigError(
                f"the listener {name} speaks TLS and has no certificate: set ssl.keystore.location (a PEM file with the private "
                f"key and its certificates) or listener.name.{name.lower()}.ssl.keystore.location"
            )
        if settings.client_auth is not ClientAuth.NONE and settings.truststore is None:
            raise TlsConfigError(
                f"the listener {name} asks for certificates (ssl.client.auth={settings.client_auth.value}) and trusts nobody's: "
                "set ssl.truststore.location"
            )
        self._settings = settings
        self._name = name
        self._certificate = b""
        self._contexts = Contexts(name, (settings.keystore, settings.truststore), self._make, self.say)

    @property
    def settings(self) -> TlsSettings:
        return self._settings

    @property
    def asks_for_certificates(self) -> bool:
        return self._settings.client_auth is not ClientAuth.NONE

    def say(self) -> None:
        """Log whose certificate clients are shown, and the last day on which they believe it."""
        from cryptography import x509

        from millstream_security.tls.subject import subject_of

        until = x509.load_der_x509_certificate(self._certificate).not_valid_after_utc
        logger.info(
            "certificate in use listener=%s subject=%s valid_until=%s",
            self._name,
            subject_of(self._certificate),
            until.date().isoformat(),
        )

    def wrap(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO) -> ssl.SSLObject:
        return self._contexts.current().wrap_bio(incoming, outgoing, server_side=True)

    def _make(self) -> ssl.SSLContext:
        settings = self._settings
        assert settings.keystore is not None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.num_tickets = 0  # in TLS 1.3 nobody comes back by a ticket with a certificate that has expired since
        context.verify_mode = _VERIFICATION[settings.client_auth]
        _prepare(context, settings)
        self._certificate = load_key(context, settings.keystore)
        return context


class ClientTls:
    """The side of whoever connects."""

    def __init__(self, name: str, settings: TlsSettings) -> None:
        """`name`: for the log. Raises TlsConfigError."""
        self._settings = settings
        self._contexts = Contexts(name, (settings.keystore, settings.truststore), self._make)

    def wrap(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, server_name: str) -> ssl.SSLObject:
        """`server_name`: what the server's certificate has to be of, whatever address the connection goes to."""
        return self._contexts.current().wrap_bio(incoming, outgoing, server_side=False, server_hostname=server_name)

    def _make(self) -> ssl.SSLContext:
        settings = self._settings
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = settings.verifies_names
        _prepare(context, settings)
        if settings.truststore is None:
            context.load_default_certs()
        if settings.keystore is not None:
            load_key(context, settings.keystore)
        return context


def _prepare(context: ssl.SSLContext, settings: TlsSettings) -> None:
    context.minimum_version, context.maximum_version = settings.versions
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as in Java, whatever is in a truststore is trusted
    choose_suites(context, settings.suites, settings.suites_key)
    if settings.truststore is not None:
        load_trusted(context, settings.truststore)


def _state_of(store: Store) -> tuple[int, int, int] | None:
    assert store.path is not None
    try:
        found = store.path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
