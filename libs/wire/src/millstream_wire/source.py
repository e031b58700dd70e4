"""The text of one generated function: lines, the names they refer to, fixed-width values waiting to share a `struct` call."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

INDENT = "    "


class Source:
    def __init__(self, signature: str) -> None:
        self._lines = [f"def generated({signature}):"]
        self._names: dict[str, object] = {}
        self._depth = 1
        self._count = 0

    def add(self, *lines: str) -> None:
        self._lines += [INDENT * self._depth + line for line in lines]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.add(head)
        self._depth += 1
        yield
        self._depth -= 1

    def variable(self, name: str) -> str:
        """A local name that no other part of the function uses."""
        self._count += 1
        return f"{name}_{self._count}"

    def bind(self, name: str, value: object) -> str:
        """A global name for `value`, readable where possible."""
        if self._names.setdefault(name, value) is value:
            return name
        return self.bind(f"{name}_", value)

    def constant(self, name: str, value: object) -> str:
        return repr(value) if value is None or type(value) in (bool, int, str, bytes) else self.bind(name, value)

    def unpacker(self, formats: str) -> str:
        return self._layout_method("unpack_from", formats)

    def packer(self, formats: str) -> str:
        return self._layout_method("pack", formats)

    def _layout_method(self, method: str, formats: str) -> str:
        """The name of a method of a compiled layout; the name says the layout, so one of each is enough."""
        name = f"{method}_{formats.replace('?', 'z')}"
        if name not in self._names:
            self._names[name] = getattr(struct.Struct(">" + formats), method)
        return name

    def compile(self, title: str) -> Any:
        text = "\n".join(self._lines)
        exec(compile(text, f"<{title}>", "exec"), self._names)
        function: Any = self._names["generated"]
        function.source = text
        return function
