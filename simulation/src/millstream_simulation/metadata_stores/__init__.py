"""Where a run's controllers keep the metadata log: a directory that they share, or an API server in memory."""

from pathlib import Path
from typing import Protocol

from millstream_controller.shell.open_store import OpenStore
from millstream_simulation.metadata_stores.api_server import ApiServer
from millstream_simulation.metadata_stores.directory import StoreDirectory
from millstream_simulation.shape import Shape
from millstream_simulation.stage import Stage

PROPERTY = "controller.store"
IN_KUBERNETES = "kubernetes:simulation/cluster"


class MetadataStore(Protocol):
    def back_up(self) -> None:
        """Keep what a copy of it has now, with the controllers at work."""

    def put_back(self) -> None:
        """Replace it by that copy."""


def metadata_store(shape: Shape, stage: Stage, directory: Path) -> tuple[MetadataStore, OpenStore]:
    """The store that the shape names, and how its controllers open it."""
    if shape.settings.get(PROPERTY) == IN_KUBERNETES:
        server = ApiServer(stage.random("API server"), stage.story)
        return server, server.open
    store = StoreDirectory(directory / "controller-store", stage.random("store disk"), stage.story.note)
    return store, store.open
