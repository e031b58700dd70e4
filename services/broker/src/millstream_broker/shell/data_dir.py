"""The broker's data directory as a whole: whose it is, that nobody else has it open, and how the last run ended.

What is inside a partition's directory is the log library's.
"""

import fcntl
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from millstream_cluster.ids import parse_uuid, uuid_text
from millstream_runtime.service import ServiceFailed

META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LOCK = ".lock"
DELETED_SUFFIX = "-delete"
STRAY_SUFFIX = "-stray"


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """Whose data this is. The directory's id is the disk's: an empty disk under the same node id has another one."""

    node_id: int
    directory_id: UUID
    cluster_id: str | None


class DataDir:
    """An open and locked data directory."""

    def __init__(self, path: Path, lock: int, meta: MetaProperties, *, was_clean: bool) -> None:
        self.path = path
        self.meta = meta
        self.was_clean = was_clean
        """Whether the last run said that everything it had was on disk."""
        self._lock = lock

    @staticmethod
    def open(path: Path, *, node_id: int, new_directory_id: UUID) -> "DataDir":
        """Lock the directory, made new if it is empty; one that another node or process has is a ServiceFailed."""
        try:
            path.mkdir(parents=True, exist_ok=True)
            lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise ServiceFailed(f"cannot use the data directory {path}: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(lock)
            raise ServiceFailed(f"the data directory {path} is in use by another process") from error
        try:
            meta = _read_meta(path / META_PROPERTIES, node_id) or MetaProperties(node_id, new_directory_id, None)
            marker = path / CLEAN_SHUTDOWN
            was_clean = marker.exists()
            marker.unlink(missing_ok=True)
            directory = DataDir(path, lock, meta, was_clean=was_clean)
            directory.write_meta(meta)
        except BaseException:
            os.close(lock)
            raise
        return directory

    def bind_cluster(self, cluster_id: str) -> None:
        """Note which cluster the data belongs to; another cluster's data is a ServiceFailed."""
        known = self.meta.cluster_id
        if known == cluster_id:
            return
        if known is not None:
            raise ServiceFailed(
                f"the data directory {self.path} belongs to cluster {known}, the controller is of cluster {cluster_id}"
            )
        self.write_meta(MetaProperties(self.meta.node_id, self.meta.directory_id, cluster_id))

    def write_meta(self, meta: MetaProperties) -> None:
        lines = ["version=1", f"node.id={meta.node_id}", f"directory.id={uuid_text(meta.directory_id)}"]
        if meta.cluster_id is not None:
            lines.append(f"cluster.id={meta.cluster_id}")
        _write_durably(self.path / META_PROPERTIES, "\n".join(lines) + "\n")
        self.meta = meta

    def partition_dirs(self) -> list[Path]:
        """Directories that look like a partition's (`topic-number`), by name."""
        return sorted(path for path in self.path.iterdir() if path.is_dir() and is_partition_dir(path.name))

    def rename_for_deletion(self, path: Path, token: UUID) -> Path:
        """Take a partition's directory out of the way at once; `remove_deleted` frees its space."""
        return path.rename(path.with_name(f"{path.name}.{token.hex}{DELETED_SUFFIX}"))

    def set_aside(self, path: Path, token: UUID) -> Path:
        """Keep data that nothing in the metadata explains, where no topic can take its name."""
        return path.rename(path.with_name(f"{path.name}.{token.hex}{STRAY_SUFFIX}"))

    def remove_deleted(self) -> int:
        """Remove what was renamed for deletion, by this run or one before; the number of directories."""
        doomed = [path for path in self.path.iterdir() if path.name.endswith(DELETED_SUFFIX) and path.is_dir()]
        for path in doomed:
            shutil.rmtree(path)
        return len(doomed)

    def space(self) -> tuple[int, int]:
        """Bytes of the file system: all of them, and those we may still use."""
        usage = os.statvfs(self.path)
        return usage.f_blocks * usage.f_frsize, usage.f_bavail * usage.f_frsize

    def mark_clean(self, broker_epoch: int) -> None:
        """Say that everything is on disk: the next start need not verify the logs."""
        _write_durably(self.path / CLEAN_SHUTDOWN, json.dumps({"version": 0, "brokerEpoch": broker_epoch}))

    def close(self) -> None:
        os.close(self._lock)


def is_partition_dir(name: str) -> bool:
    topic, dash, number = name.rpartition("-")
    return bool(topic and dash) and number.isdigit()


def _read_meta(path: Path, node_id: int) -> MetaProperties | None:
    if not path.exists():
        return None
    values = {
        key.strip(): value.strip()
        for key, separator, value in (line.partition("=") for line in path.read_text().splitlines())
        if separator and not key.startswith("#")
    }
    try:
        meta = MetaProperties(
            int(values["node.id"]), parse_uuid(values["directory.id"]), values.get("cluster.id") or None
        )
    except (KeyError, ValueError) as error:
        raise ServiceFailed(f"{path} is damaged: {error}") from error
    if meta.node_id != node_id:
        raise ServiceFailed(f"the data directory {path.parent} belongs to node {meta.node_id}, this is node {node_id}")
    return meta


def _write_durably(path: Path, text: str) -> None:
    """Replace a small file so that a crash leaves the old or the new one."""
    draft = path.with_name(path.name + ".tmp")
    with open(draft, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
