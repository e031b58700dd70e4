"""The directory of a FileStore, as a person sees it who makes copies of it."""

import shutil
from pathlib import Path


class StoreDirectory:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._backup = path.with_name(f"{path.name}-backup")

    def back_up(self) -> None:
        shutil.copytree(self._path, self._backup)

    def put_back(self) -> None:
        shutil.rmtree(self._path)
        self._backup.rename(self._path)
