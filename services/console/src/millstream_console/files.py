"""The page itself: its few files, read once, sent with a mark by which a browser knows that it has them."""

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from aiohttp import web

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
INDEX = "index.html"


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    type: str
    mark: str


class Files:
    """By path; there are no others, whatever is asked for."""

    def __init__(self) -> None:
        self._files = dict(_read(files("millstream_console") / "static", ""))

    def answer(self, request: web.Request) -> web.Response:
        found = self._files.get(request.path.lstrip("/") or INDEX)
        if found is None:
            raise web.HTTPNotFound
        headers = {"ETag": found.mark, "Cache-Control": "no-cache", "Content-Type": found.type}
        if request.headers.get("If-None-Match") == found.mark:
            return web.Response(status=304, headers=headers)
        return web.Response(body=found.content, headers=headers)


def _read(folder: Traversable, path: str) -> "list[tuple[str, _File]]":
    found = []
    for each in folder.iterdir():
        if each.is_dir():
            found += _read(each, f"{path}{each.name}/")
            continue
        kind = TYPES.get("." + each.name.rpartition(".")[2])
        if kind is not None:
            content = each.read_bytes()
            mark = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            found.append((path + each.name, _File(content, kind, mark)))
    return found
