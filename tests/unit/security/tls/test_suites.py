"""ssl.cipher.suites by the standard's names and by OpenSSL's."""

import ssl

import pytest

from millstream_security.tls.errors import TlsConfigError
from millstream_security.tls.suites import TLS_1_3, choose_suites, openssl_name


def context() -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.maximum_version = ssl.TLSVersion.TLSv1_3
    return made


@pytest.mark.parametrize(
    ("standard", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", "DHE-RSA-AES128-GCM-SHA256"),
        ("TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
        ("TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384", "ECDHE-RSA-AES256-SHA384"),
        ("ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
    ],
)
def test_names(standard: str, openssl: str) -> None:
    assert openssl_name(standard) == openssl
    made = context()
    choose_suites(made, [standard], "ssl.cipher.suites")
    older = [each["name"] for each in made.get_ciphers() if each["protocol"] != "TLSv1.3"]
    assert older == [openssl]
    assert made.maximum_version == ssl.TLSVersion.TLSv1_2


def test_the_suites_of_tls_1_3_alone_leave_older_protocols_out() -> None:
    made = context()
    choose_suites(made, sorted(TLS_1_3), "ssl.cipher.suites")
    assert made.minimum_version == ssl.TLSVersion.TLSv1_3


def test_what_cannot_be_chosen_is_refused() -> None:
    for names, message in (
        (["TLS_AES_128_GCM_SHA256"], "all three suites"),
        (["TLS_NO_SUCH_THING"], "no such cipher suite: TLS_NO_SUCH_THING"),
        (["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "NOTHING"], "no such cipher suite: NOTHING"),
    ):
        with pytest.raises(TlsConfigError, match=message):
            choose_suites(context(), names, "ssl.cipher.suites")
    newest = context()
    newest.minimum_version = ssl.TLSVersion.TLSv1_3
    with pytest.raises(TlsConfigError, match=r"ssl\.enabled\.protocols"):
        choose_suites(newest, ["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"], "ssl.cipher.suites")
