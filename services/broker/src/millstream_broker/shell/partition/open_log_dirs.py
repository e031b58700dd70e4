"""Opens the data directories of this broker: one that cannot be opened is left out while another one can be."""

import logging
import os
import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from uuid import UUID

from millstream_broker.shell.partition.applied_metadata import remembered_paths
from millstream_broker.shell.partition.log_dirs import LogDirs, OfflineDir
from millstream_log import CorruptFile, DataDir, UnusableDirectory
from millstream_log.disk import Disk
from millstream_log.watched_disk import WatchedDisk

logger = logging.getLogger(__name__)


def open_log_dirs(
    paths: Sequence[Path],
    *,
    node_id: int,
    cluster_id: str | None,
    new_id: Callable[[], UUID],
    disk: Disk,
    generator: random.Random,
) -> LogDirs:
    """Raises UnusableDirectory, CorruptFile or OSError where there is no directory left to work with, or one is not ours."""
    opened = partial(DataDir, node_id=node_id, new_id=new_id, generator=generator)
    if len(paths) == 1:
        return LogDirs([opened(paths[0], cluster_id=cluster_id, disk=disk)], disk=disk)
    directories = LogDirs((), disk=disk)
    try:
        # Without a cluster's id nothing is written into a new one: it must not look used, should this start be refused.
        _open_each(directories, paths, lambda path, watched: opened(path, cluster_id=None, disk=watched))
        if cluster_id is not None:
            directories.set_cluster_id(cluster_id)
    except BaseException:
        directories.close_all()
        raise
    return directories


def _open_each(directories: LogDirs, paths: Sequence[Path], opened: Callable[[Path, Disk], DataDir]) -> None:
    ids = {path: directory_id for directory_id, path in remembered_paths(paths, directories.disk).items()}
    for path in paths:
        try:
            if path in ids and not os.path.exists(path):
                raise UnusableDirectory("it is missing") from FileNotFoundError(str(path))
            watched = WatchedDisk(directories.disk, path, partial(directories.on_error, path))
            directories.online.append(opened(path, watched))
        except (UnusableDirectory, CorruptFile, OSError) as error:
            if isinstance(error, UnusableDirectory) and not isinstance(error.__cause__, OSError):
                raise
            directories.offline.append(OfflineDir(path, ids.get(path), str(error)))
    failed = "; ".join(f"{each.path}: {each.reason}" for each in directories.offline)
    if not directories.online:
        raise UnusableDirectory(f"none of the directories in log.dirs can be used: {failed}")
    used = [directory for directory in directories.online if not directory.is_new]
    if directories.offline and not used:
        raise UnusableDirectory(f"this node's data is not in any directory of log.dirs that can be used: {failed}")
    for each in directories.offline:
        logger.error("log directory not opened path=%s reason=%s", each.path, each.reason)
    incarnation_id = (used or directories.online)[0].incarnation_id
    for directory in directories.online:
        directory.join(incarnation_id)
