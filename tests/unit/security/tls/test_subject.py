"""Subjects as Java writes them: what ACLs and Kafka's own logs name."""

import pytest
from cryptography import x509
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID

from millstream_security.tls.subject import UnreadableSubject, rfc2253, subject_of


def written(*attributes: tuple[x509.ObjectIdentifier, str]) -> str:
    return rfc2253(x509.Name([x509.NameAttribute(kind, text) for kind, text in attributes]).public_bytes())


def test_parts_come_from_the_last_to_the_first_without_spaces() -> None:
    name = [
        (NameOID.COUNTRY_NAME, "DE"),
        (NameOID.ORGANIZATION_NAME, "Example"),
        (NameOID.ORGANIZATIONAL_UNIT_NAME, "Clients"),
        (NameOID.COMMON_NAME, "az-client"),
    ]
    assert written(*name) == "CN=az-client,OU=Clients,O=Example,C=DE"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b", r"CN=a\,b"),
        ('q"+<>;=#\\', r"CN=q\"\+\<\>\;\=\#\\"),
        (" lead and trail  ", r"CN=\ lead and trail\ \ "),
        ("  ", r"CN=\ \ "),
        ("Zoë Jürgens", "CN=Zoë Jürgens"),
        ("nul\0", r"CN=nul\00"),
    ],
)
def test_what_is_escaped(text: str, expected: str) -> None:
    assert written((NameOID.COMMON_NAME, text)) == expected


def test_types_without_a_short_name_are_numbers_and_bytes() -> None:
    mail = x509.NameAttribute(NameOID.EMAIL_ADDRESS, "a@b", _ASN1Type.IA5String)
    common = x509.NameAttribute(NameOID.COMMON_NAME, "c")
    assert rfc2253(x509.Name([mail, common]).public_bytes()) == "CN=c,1.2.840.113549.1.9.1=#1603614062"


def test_several_attributes_of_one_part_stay_together() -> None:
    both = x509.RelativeDistinguishedName(
        [x509.NameAttribute(NameOID.COMMON_NAME, "a"), x509.NameAttribute(NameOID.USER_ID, "b")]
    )
    assert set(rfc2253(x509.Name([both]).public_bytes()).split("+")) == {"CN=a", "UID=b"}


def test_older_kinds_of_strings_are_read() -> None:
    for kind, text in ((_ASN1Type.BMPString, "bß"), (_ASN1Type.T61String, "t"), (_ASN1Type.UniversalString, "u")):
        common = x509.NameAttribute(NameOID.COMMON_NAME, text, kind)
        assert rfc2253(x509.Name([common]).public_bytes()) == f"CN={text}"


@pytest.mark.parametrize("content", [b"", b"\x30", b"\x30\x05\x31", b"\x30\x84\xff\xff\xff\xff"])
def test_what_is_no_name_is_refused(content: bytes) -> None:
    with pytest.raises(UnreadableSubject):
        rfc2253(content)


def test_what_is_no_certificate_is_refused() -> None:
    with pytest.raises(UnreadableSubject):
        subject_of(b"nothing")
