"""A certificate's subject as RFC 2253 writes it, letter for letter as Java does: it is what ACLs name.

Read from the DER bytes, because a library's rendering differs where it matters: types without a short name, and what is escaped.
"""

from collections.abc import Iterator

_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
_ENCODINGS = {  # by the tag of a string
    0x0C: "utf-8",
    0x13: "ascii",
    0x14: "latin-1",
    0x16: "ascii",
    0x1B: "ascii",
    0x1C: "utf-32-be",
    0x1E: "utf-16-be",
}
_ESCAPED = frozenset(',=+<>#;"\\')
_SPACES = " \r"
_LONG_LENGTH = 0x80


class UnreadableSubject(Exception):
    """Whoever shows such a certificate is nobody."""


def subject_of(certificate: bytes) -> str:
    """Of a certificate in DER."""
    from cryptography import x509

    try:
        name = x509.load_der_x509_certificate(certificate).subject.public_bytes()
    except ValueError as error:
        raise UnreadableSubject(f"a certificate that cannot be read: {error}") from None
    return rfc2253(name)


def rfc2253(name: bytes) -> str:
    """Of a Name in DER: its parts from the last to the first."""
    _, content, _ = _element(name, 0)
    parts = ["+".join(_attribute(each) for _, each in _elements(part)) for _, part in _elements(content)]
    return ",".join(reversed(parts))


def _attribute(content: bytes) -> str:
    _, identifier, at = _element(content, 0)
    tag, value, _ = _element(content, at)
    dotted = _dotted(identifier)
    keyword, encoding = _KEYWORDS.get(dotted), _ENCODINGS.get(tag)
    if keyword is None or encoding is None:
        return f"{keyword or dotted}=#{content[at:].hex()}"
    return f"{keyword}={_escaped(value.decode(encoding, errors='replace'))}"


def _escaped(text: str) -> str:
    body = text.strip(_SPACES)
    lead = len(text) - len(text.lstrip(_SPACES)) if body else len(text)
    trail = len(text) - lead - len(body)
    spaces = (text[:lead], text[len(text) - trail :])
    inner = "".join("\\" + each if each in _ESCAPED else "\\00" if each == "\0" else each for each in body)
    before, after = ("".join("\\" + each for each in part) for part in spaces)
    return before + inner + after


def _elements(content: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(content):
        tag, value, at = _element(content, at)
        yield tag, value


def _element(content: bytes, at: int) -> tuple[int, bytes, int]:
    """Tag, value, and where the next one begins."""
    if at + 2 > len(content):
        raise UnreadableSubject("a certificate's subject cannot be read")
    tag, length, start = content[at], content[at + 1], at + 2
    if length & _LONG_LENGTH:
        count = length & ~_LONG_LENGTH
        length, start = int.from_bytes(content[start : start + count], "big"), start + count
    if start + length > len(content):
        raise UnreadableSubject("a certificate's subject cannot be read")
    return tag, content[start : start + length], start + length


def _dotted(identifier: bytes) -> str:
    numbers: list[int] = []
    value = 0
    for byte in identifier:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(value)
            value = 0
    first = min(numbers[0] // 40, 2) if numbers else 0
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]] if numbers else []))
