"""OpenSSL's state of one connection, between what the socket gives and takes and what is in the clear."""

import ssl
from typing import Final

from millstream_runtime.network.links import Wrap

RECORD_BYTES: Final = 16 * 1024  # the most that TLS puts into one record
FEED_BYTES: Final = (
    17 * 1024
)  # a record with all that belongs to it: what OpenSSL is given at a time, as it never gives memory back
TLS_BUFFER_BYTES: Final = 256 * 1024


class TlsSession:
    """Made when the first bytes arrive: one that never says anything costs next to nothing."""

    __slots__ = ("_tls", "_wrap", "incoming", "outgoing")

    def __init__(self, wrap: Wrap) -> None:
        self._wrap = wrap
        self._tls: ssl.SSLObject | None = None
        self.incoming = ssl.MemoryBIO()
        self.outgoing = ssl.MemoryBIO()

    @property
    def tls(self) -> ssl.SSLObject:
        if self._tls is None:
            self._tls = self._wrap(self.incoming, self.outgoing)
        return self._tls
