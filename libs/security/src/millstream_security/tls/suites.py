"""ssl.cipher.suites: by the names of the standard, which Kafka's users write, or by OpenSSL's."""

import re
import ssl
from collections.abc import Sequence

from millstream_security.tls.errors import TlsConfigError

TLS_1_3 = frozenset({"TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"})
"""All that OpenSSL negotiates in TLS 1.3; Python offers no way to choose among them."""

_STANDARD = re.compile(r"TLS_(?P<exchange>\w+)_WITH_(?P<cipher>\w+)")


def choose_suites(context: ssl.SSLContext, names: Sequence[str], key: str) -> None:
    """Let the context negotiate these only. Raises TlsConfigError."""
    if not names:
        return
    newer = TLS_1_3 & set(names)
    older = [openssl_name(name) for name in names if name not in TLS_1_3]
    if newer and newer != TLS_1_3:
        raise TlsConfigError(
            f"{key} must name all three suites of TLS 1.3 or none, which leaves TLS 1.3 out: {', '.join(sorted(TLS_1_3))}"
        )
    if not newer:
        _limit(context, key, most=ssl.TLSVersion.TLSv1_2)
    if not older:
        _limit(context, key, least=ssl.TLSVersion.TLSv1_3)
        return
    for name, each in zip([name for name in names if name not in TLS_1_3], older, strict=True):
        try:
            context.set_ciphers(each)
        except ssl.SSLError:
            raise TlsConfigError(f"{key}: no such cipher suite: {name}") from None
    context.set_ciphers(":".join(older))


def openssl_name(name: str) -> str:
    """OpenSSL's name of a suite of TLS 1.2; one that is no standard name is taken for OpenSSL's already."""
    found = _STANDARD.fullmatch(name)
    if found is None:
        return name
    exchange = "" if found["exchange"] == "RSA" else found["exchange"].replace("_", "-") + "-"
    cipher = re.sub(r"AES_(\d+)", r"AES\1", found["cipher"])
    if cipher.startswith("CHACHA20_POLY1305"):
        cipher = "CHACHA20_POLY1305"
    return exchange + cipher.replace("_CBC", "").replace("_", "-")


def _limit(
    context: ssl.SSLContext, key: str, *, least: ssl.TLSVersion | None = None, most: ssl.TLSVersion | None = None
) -> None:
    if (most is not None and context.minimum_version > most) or (least is not None and context.maximum_version < least):
        raise TlsConfigError(f"{key} has no suite of a protocol that ssl.enabled.protocols names")
    if most is not None:
        context.maximum_version = most
    if least is not None:
        context.minimum_version = least
