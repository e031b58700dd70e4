"""Our node with every module as plain Python, even where compiled ones are at hand: the second row of the bench."""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]


class SourceFirst:
    """Finds the modules that `compiled/modules` lists by their source, before anything else is asked for them."""

    def __init__(self, sources: Sequence[Path]) -> None:
        self._sources = {".".join(path.with_suffix("").parts[path.parts.index("src") + 1 :]): path for path in sources}

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        source = self._sources.get(name)
        return None if source is None else spec_from_file_location(name, ROOT / source)


if __name__ == "__main__":
    listed = (ROOT / "compiled" / "modules").read_text().split()
    sys.meta_path.insert(0, SourceFirst([Path(line) for line in listed]))
    from millstream.main import main

    sys.exit(main())
