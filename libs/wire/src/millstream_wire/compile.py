"""Turn a declaration into straight-line Python, one decoder and one encoder per version.

Neighbouring fixed-width fields, and the length that follows them, share one `struct` call; arrays and structs are
written out in place. The generated text is kept on the function (`.source`) for a debugger and a curious reader.

A generated decoder may be driven past the end of hostile bytes: its position only ever grows, so that the caller's
check that it ended exactly at the end of the frame finds every slice that came out short.
"""

import struct
from collections.abc import Callable
from typing import Any, TypeAlias

from millstream_wire.primitive import (
    SMALL_UVARINTS,
    DecodeError,
    read_uvarint,
    skip_tags,
    uuid_of,
    write_uvarint,
)
from millstream_wire.schema import Array, Field, Fixed, Sized, WireType, fields_at
from millstream_wire.source import Source

Decoder: TypeAlias = Callable[[memoryview, int], tuple[Any, int]]
Encoder: TypeAlias = Callable[[Any, Callable[[Any], object]], None]

UUID = Fixed("16s")
STRING = Sized("string")
# Kafka's limit for one array, here for all of a request's together: nobody's honest request gets here.
REQUEST_ELEMENTS_MAX = 1_000_000
# An empty tag section is a single zero, which can wait together with fixed-width fields.
NO_TAGS = ("0", "B")


def compile_decoder(cls: type, version: int, flexible: bool) -> Decoder:
    """`decode(data, pos) -> (message, next_pos)`"""
    code = DecoderSource(version, flexible, is_bounded=bool(getattr(cls, "is_request", False)))
    code.read_struct("message", cls)
    code.add("return message, pos")
    decoder: Decoder = code.compile(f"decode {cls.__name__} v{version}")
    return decoder


def compile_encoder(cls: type, version: int, flexible: bool) -> Encoder:
    """`encode(message, write)`; `write` takes the successive parts."""
    code = EncoderSource(version, flexible)
    code.write_struct("message", cls)
    code.flush()
    code.add("return")
    encoder: Encoder = code.compile(f"encode {cls.__name__} v{version}")
    return encoder


def compile_tag_encoder(field: Field, version: int) -> Encoder:
    """As `compile_encoder`, for the value of a field behind a tag."""
    code = EncoderSource(version, flexible=True)
    if field.nullable and isinstance(field.type, type):
        code.write_struct_or_null("message", field.type, null=b"\x00")
    else:
        code.write_value("message", field.type, field.nullable)
    code.flush()
    encoder: Encoder = code.compile(f"encode tag {field.name} v{version}")
    return encoder


class DecoderSource(Source):
    def __init__(self, version: int, flexible: bool, *, is_bounded: bool) -> None:
        super().__init__("data, pos")
        self._version, self._flexible, self._is_bounded = version, flexible, is_bounded
        self._pending: list[tuple[str, str]] = []
        for known in (DecodeError, read_uvarint, skip_tags, uuid_of):
            self.bind(known.__name__, known)
        self.bind("new", object.__new__)
        self.bind("unpack_from", struct.unpack_from)
        if is_bounded:
            self.add(f"room = {REQUEST_ELEMENTS_MAX}")

    def read_struct(self, target: str, cls: type) -> None:
        fields = fields_at(cls, self._version)
        values = {field.name: self.variable(field.name) for field in fields if field.present}
        for field in fields:
            if field.present and field.tag is None:
                self.read_value(values[field.name], field.type, field.nullable)
        if self._flexible:
            self._read_tags([field for field in fields if field.present and field.tag is not None], values)
        self.flush()
        self.add(f"{target} = new({self.bind(cls.__name__, cls)})")
        for field in fields:
            self.add(f"{target}.{field.name} = {values[field.name] if field.present else self._default(field)}")

    def read_value(self, target: str, wire_type: WireType, nullable: bool) -> None:
        match wire_type:
            case Fixed(code):
                self._pending.append((target, code))
            case Sized():
                self._read_sized(target, wire_type, nullable)
            case Array(item):
                self._read_array(target, item, nullable)
            case _ if nullable:
                self._read_struct_or_null(target, wire_type, "marker > 127")
            case _:
                self.read_struct(target, wire_type)

    def _read_struct_or_null(self, target: str, cls: type, is_null: str) -> None:
        """KIP-893: a byte says whether the struct follows; what it says for null is not the same behind a tag."""
        self._pending.append(("marker", "B"))
        self.flush()
        with self.block(f"if {is_null}:"):
            self.add(f"{target} = None")
        with self.block("else:"):
            self.read_struct(target, cls)

    def flush(self) -> None:
        """Read everything of fixed width that has been waiting, in one call."""
        if not self._pending:
            return
        targets = [target for target, _ in self._pending]
        formats = "".join(code for _, code in self._pending)
        if formats == "B":
            self.add(f"{targets[0]} = data[pos]")
        else:
            self.add(f"{', '.join(targets)}, = {self.unpacker(formats)}(data, pos)")
        self.add(f"pos += {struct.calcsize('>' + formats)}")
        self.add(*(f"{target} = uuid_of({target})" for target, code in self._pending if Fixed(code) == UUID))
        self._pending = []

    def _read_length(self, *, short: bool) -> None:
        """Leave the length in `size`; null is negative."""
        self._pending.append(("size", "B" if self._flexible else "h" if short else "i"))
        self.flush()
        if self._flexible:
            with self.block("if size > 127:"):
                self.add("size, pos = read_uvarint(data, pos - 1)")
            self.add("size -= 1")

    def _refuse_null(self, target: str) -> None:
        with self.block("if size < 0:"):
            self.add(f"raise DecodeError({_plain(target) + ' is null'!r})")

    def _read_sized(self, target: str, wire_type: Sized, nullable: bool) -> None:
        self._read_length(short=wire_type == STRING)
        view = "data[pos:pos + size]"
        value = {"string": f"str({view}, 'utf-8')", "bytes": f"bytes({view})", "records": view}[wire_type.kind]
        if not nullable:
            self._refuse_null(target)
            self.add(f"{target} = {value}", "pos += size")
            return
        with self.block("if size < 0:"):
            self.add(f"{target} = None")
        with self.block("else:"):
            self.add(f"{target} = {value}", "pos += size")

    def _read_array(self, target: str, item: WireType, nullable: bool) -> None:
        self._read_length(short=False)
        if not nullable:
            self._refuse_null(target)
            self._read_items(target, item)
            return
        with self.block("if size < 0:"):
            self.add(f"{target} = None")
        with self.block("else:"):
            self._read_items(target, item)

    def _read_items(self, target: str, item: WireType) -> None:
        least = least_width(item, self._version, self._flexible)
        with self.block(f"if size{f' * {least}' if least > 1 else ''} > len(data) - pos:"):
            self.add(f"raise DecodeError({_plain(target) + ' has more elements than there are bytes'!r})")
        if self._is_bounded:
            self.add("room -= size")
            with self.block("if room < 0:"):
                self.add(f"raise DecodeError('more than {REQUEST_ELEMENTS_MAX} elements in one request')")
        if isinstance(item, Fixed) and item != UUID:
            self.add(f"{target} = list(unpack_from('>%d{item.format}' % size, data, pos))", f"pos += {least} * size")
            return
        element = self.variable("element")
        self.add(f"{target} = []")
        with self.block("for _ in range(size):"):
            self.read_value(element, item, nullable=False)
            self.flush()
            self.add(f"{target}.append({element})")

    def _read_tags(self, tagged: list[Field], values: dict[str, str]) -> None:
        self._pending.append(("count", "B"))
        self.flush()
        if not tagged:
            with self.block("if count:"):
                self.add("pos = skip_tags(data, pos - 1)")
            return
        for field in tagged:
            self.add(f"{values[field.name]} = {self._default(field)}")
        end = self.variable("end")
        with self.block("if count:"):
            self.add("count, pos = read_uvarint(data, pos - 1)")
            with self.block("for _ in range(count):"):
                self.add("tag, pos = read_uvarint(data, pos)", "size, pos = read_uvarint(data, pos)")
                self.add(f"{end} = pos + size")
                for position, field in enumerate(tagged):
                    with self.block(f"{'elif' if position else 'if'} tag == {field.tag}:"):
                        if field.nullable and isinstance(field.type, type):
                            self._read_struct_or_null(values[field.name], field.type, "marker == 0")
                        else:
                            self.read_value(values[field.name], field.type, field.nullable)
                        self.flush()
                with self.block("else:"):
                    self.add(f"pos = {end}")
                with self.block(f"if pos != {end}:"):
                    self.add("raise DecodeError('a tagged field is not as long as it says')")

    def _default(self, field: Field) -> str:
        value = field.default()
        if value is None or type(value) in (bool, int, float, str, bytes):
            return repr(value)
        if value.__hash__ is not None:
            return self.bind(f"default_{field.name}", value)
        return self.bind(f"default_{field.name}", field.default) + "()"


class EncoderSource(Source):
    def __init__(self, version: int, flexible: bool) -> None:
        super().__init__("message, write")
        self._version, self._flexible = version, flexible
        self._pending: list[tuple[str, str]] = []
        for known in (SMALL_UVARINTS, write_uvarint, collect):
            self.bind(getattr(known, "__name__", "small"), known)
        self.bind("pack", struct.pack)

    def write_struct(self, source: str, cls: type) -> None:
        fields = [field for field in fields_at(cls, self._version) if field.present]
        for field in fields:
            if field.tag is None:
                self.write_value(f"{source}.{field.name}", field.type, field.nullable)
        if self._flexible:
            self._write_tags(source, [field for field in fields if field.tag is not None])

    def write_value(self, source: str, wire_type: WireType, nullable: bool) -> None:
        match wire_type:
            case Fixed(code):
                self._pending.append((f"{source}.bytes" if wire_type == UUID else source, code))
            case Sized():
                self._write_sized(source, wire_type, nullable)
            case Array(item):
                self._write_array(source, item, nullable)
            case _ if nullable:
                self.write_struct_or_null(source, wire_type, null=b"\xff")
            case _:
                self.write_struct(source, wire_type)

    def write_struct_or_null(self, source: str, cls: type, *, null: bytes) -> None:
        value = self.variable("value")
        self.flush()
        self.add(f"{value} = {source}")
        with self.block(f"if {value} is None:"):
            self.add(f"write({null!r})")
        with self.block("else:"):
            self.add(r"write(b'\x01')")
            self.write_struct(value, cls)
            self.flush()

    def flush(self) -> None:
        """Write everything of fixed width that has been waiting, in one call."""
        if self._pending == [NO_TAGS]:
            self.add(r"write(b'\x00')")
        elif self._pending:
            pack = self.packer("".join(code for _, code in self._pending))
            self.add(f"write({pack}({', '.join(source for source, _ in self._pending)}))")
        self._pending = []

    def _write_length(self, size: str, *, short: bool) -> None:
        """`size` is an expression; null is negative."""
        if not self._flexible:
            self._pending.append((size, "h" if short else "i"))
            self.flush()
            return
        self.flush()
        self.add(f"size = {size} + 1", "write(small[size] if size < 128 else write_uvarint(size))")

    def _write_sized(self, source: str, wire_type: Sized, nullable: bool) -> None:
        value = self.variable("value")
        self.add(f"{value} = {source}")
        content = f"{value}.encode()" if wire_type == STRING else value
        if nullable:
            if content != value:
                self.add(f"{value} = None if {value} is None else {content}")
            self._write_length(f"(-1 if {value} is None else len({value}))", short=wire_type == STRING)
            with self.block(f"if {value}:"):
                self.add(f"write({value})")
            return
        if content != value:
            self.add(f"{value} = {content}")
        self._write_length(f"len({value})", short=wire_type == STRING)
        self.add(f"write({value})")

    def _write_array(self, source: str, item: WireType, nullable: bool) -> None:
        value = self.variable("values")
        self.add(f"{value} = {source}")
        if not nullable:
            self._write_length(f"len({value})", short=False)
            self._write_items(value, item)
            return
        self._write_length(f"(-1 if {value} is None else len({value}))", short=False)
        with self.block(f"if {value}:"):
            self._write_items(value, item)

    def _write_items(self, values: str, item: WireType) -> None:
        if isinstance(item, Fixed) and item != UUID:
            self.add(f"write(pack('>%d{item.format}' % len({values}), *{values}))")
            return
        element = self.variable("element")
        with self.block(f"for {element} in {values}:"):
            self.write_value(element, item, nullable=False)
            self.flush()
            # An element with nothing on the wire would leave the loop without a body.
            self.add("pass")

    def _write_tags(self, source: str, tagged: list[Field]) -> None:
        if not tagged:
            self._pending.append(NO_TAGS)
            return
        self.flush()
        tags = self.variable("tags")
        self.add(f"{tags} = []")
        for field in sorted(tagged, key=lambda field: field.tag or 0):
            assert field.tag is not None
            write_field = self.bind(f"write_{field.name}", compile_tag_encoder(field, self._version))
            value = self.variable("value")
            self.add(f"{value} = {source}.{field.name}")
            with self.block(f"if {self._differs(value, field.type, field.default(), field.nullable)}:"):
                self.add(f"{tags}.append(({field.tag}, collect({write_field}, {value})))")
        self.add(f"write(write_uvarint(len({tags})) if {tags} else b'\\x00')")
        with self.block(f"for tag, part in {tags}:"):
            self.add("write(write_uvarint(tag) + write_uvarint(len(part)) + part)")

    def _differs(self, value: str, wire_type: WireType, default: Any, nullable: bool) -> str:
        """An expression: is it worth a tag? A struct is compared field by field, which spares the call of its `==`."""
        if isinstance(wire_type, Array) and default == [] and not nullable:
            return value  # whatever sequence it is, empty is the default
        if isinstance(wire_type, type) and not nullable:
            parts = [
                self._differs(f"{value}.{field.name}", field.type, getattr(default, field.name), field.nullable)
                for field in fields_at(wire_type, self._version)
                if field.present
            ]
            return " or ".join(parts)
        return f"{value} != {self.constant('default', default)}"


def least_width(wire_type: WireType, version: int, flexible: bool) -> int:
    """The fewest bytes a value can take: what bounds the number of elements an array may claim."""
    match wire_type:
        case Fixed(code):
            return struct.calcsize(">" + code)
        case Sized(kind):
            return 1 if flexible else 2 if kind == "string" else 4
        case Array():
            return 1 if flexible else 4
        case _:
            fields = [field for field in fields_at(wire_type, version) if field.present]
            body = sum(
                1 if field.nullable and isinstance(field.type, type) else least_width(field.type, version, flexible)
                for field in fields
                if field.tag is None or not flexible
            )
            return max(1, body + (1 if flexible else 0))


def collect(encode: Encoder, value: object) -> bytes:
    parts: list[bytes] = []
    encode(value, parts.append)
    return b"".join(parts)


def _plain(variable: str) -> str:
    """The field's name, of a variable made for it."""
    return variable.rsplit("_", 1)[0]
