"""For all tests: a module whose source changed after it was compiled runs as plain Python until the next `make setup`."""

import runpy
from pathlib import Path

_build = runpy.run_path(str(Path(__file__).parents[1] / "compiled" / "build.py"))
_build["remove_stale"](_build["sources"]())
