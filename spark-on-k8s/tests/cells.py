"""Runs a notebook's cells one after the other, without Jupyter."""

import ast
import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any


def run_cells(notebook: Path) -> tuple[dict[str, Any], list[tuple[str, object]]]:
    """Return the names that the cells made, and of each code cell what it printed and the value of its last line."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown: list[tuple[str, object]] = []
    for number, cell in enumerate(json.loads(notebook.read_text())["cells"]):
        if cell["cell_type"] != "code":
            continue
        statements, value = ast.parse("".join(cell["source"])).body, None
        printed = StringIO()
        with redirect_stdout(printed):
            last = statements.pop() if isinstance(statements[-1], ast.Expr) else None
            exec(compile(ast.Module(statements, []), f"cell {number}", "exec"), names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
        shown.append((printed.getvalue(), value))
    return names, shown
