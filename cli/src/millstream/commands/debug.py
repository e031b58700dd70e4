"""`millstream debug bundle`: one archive of what a cluster says of itself, for whoever has to find out what is wrong with it.

What cannot be asked is said in its place: a cluster that is not well is what this is for. Nothing in it lets anybody in: settings that are
secret are left out by the cluster, client properties are named without the values that could be, and what a log's lines call a password is cut.
"""

import asyncio
import io
import json
import os
import platform
import re
import tarfile
import urllib.request
from argparse import Namespace
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Any

from millstream.commands.cluster import brokers_shown
from millstream.commands.connection import cluster_of, properties_of
from millstream.commands.output import tell
from millstream_client import Cluster
from millstream_client.admin import Resource, ResourceType, Setting, describe_all_settings, describe_settings
from millstream_client.brokers import nodes_of
from millstream_client.errors import KafkaError
from millstream_client.groups import describe_group, lags_of, list_groups
from millstream_client.history import cluster_history
from millstream_client.transactions import list_transactions
from millstream_runtime import VERSION
from millstream_wire.messages.api_versions import ApiVersionsRequest
from millstream_wire.messages.describe_log_dirs import DescribeLogDirsRequest
from millstream_wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest

GROUPS_MAX = 500
"""Of how many groups members and lag are asked: each is some requests."""
LOG_BYTES_MAX = 4 << 20
METRICS_BYTES_MAX = 16 << 20
_PART_TIMEOUT_S = 60
_METRICS_TIMEOUT_S = 10
_PLAIN = re.compile(r"(bootstrap\.servers|security\.protocol|sasl\.mechanism|client\..*|.*\.location|.*\.ms|.*\.type)")
"""Client properties whose values are no secret; of all others only the name is told."""
_SECRET = re.compile(
    r"(?i)((?:password|passwd|secret|hmac|token|authorization)\\?[\"']?\s*[=:]\s*).+"  # it may have spaces, quotes and commas in it
)
HIDDEN = "(hidden)"

Part = Callable[[], Awaitable[Any]]


async def work(options: Namespace) -> None:
    began = datetime.now(UTC)
    path: Path = options.output or Path(f"millstream-bundle-{began:%Y%m%dT%H%M%SZ}.tar.gz")
    with _new_archive(path) as archive:
        bundle = Bundle(archive, began)
        bundle.add_document("versions", _versions())
        bundle.add_document("client", {key: _shown(key, value) for key, value in properties_of(options).items()})
        async with cluster_of(options) as cluster:
            for name, part in _parts(cluster).items():
                await bundle.add_part(name, part)
        for address in options.metrics:
            await bundle.add_part(f"metrics/{_file_name(address)}.txt", partial(_metrics, address))
        for log in options.log:
            await bundle.add_part(f"logs/{_file_name(str(log))}.txt", partial(asyncio.to_thread, _log_end, log))
        bundle.add_document("missing", bundle.missing)
    text = f"wrote {path}" + (f"; missing: {', '.join(bundle.missing)}" if bundle.missing else "")
    tell(options, text, path=str(path), missing=bundle.missing)


@contextmanager
def _new_archive(path: Path) -> Iterator[tarfile.TarFile]:
    """Names of topics and groups are nobody else's business."""

    def private(name: str, flags: int) -> int:
        return os.open(name, flags, 0o600)

    with open(path, "xb", opener=private) as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
        yield archive


class Bundle:
    """Writes parts into the archive as they come; nothing of it is held in memory."""

    def __init__(self, archive: tarfile.TarFile, began: datetime) -> None:
        self._archive = archive
        self._root = f"millstream-bundle-{began:%Y%m%dT%H%M%SZ}"
        self._time = int(began.timestamp())
        self.missing: dict[str, str] = {}
        """What could not be asked, and why."""

    async def add_part(self, name: str, part: Part) -> None:
        try:
            async with asyncio.timeout(_PART_TIMEOUT_S):
                found = await part()
        except TimeoutError:
            self.missing[name] = f"no answer in {_PART_TIMEOUT_S} s"
        except (KafkaError, OSError, HTTPException, ValueError) as error:
            self.missing[name] = " ".join(str(error).split()) or type(error).__name__
        else:
            if isinstance(found, str):
                self._add(name, found)
            else:
                self.add_document(name, found)

    def add_document(self, name: str, document: Any) -> None:
        self._add(f"{name}.json", json.dumps(document, indent=1, ensure_ascii=False, default=str))

    def _add(self, name: str, text: str) -> None:
        content = text.encode(errors="replace")
        entry = tarfile.TarInfo(f"{self._root}/{name}")
        entry.size, entry.mtime, entry.mode = len(content), self._time, 0o600
        self._archive.addfile(entry, io.BytesIO(content))


def _versions() -> dict[str, str]:
    return {"millstream": VERSION, "python": platform.python_version(), "platform": platform.platform()}


def _parts(cluster: Cluster) -> Mapping[str, Part]:
    return {
        "cluster": partial(_cluster, cluster),
        "apis": partial(_apis, cluster),
        "topics": partial(_topics, cluster),
        "settings-of-topics": partial(_settings_of_topics, cluster),
        "settings-of-brokers": partial(_settings_of_brokers, cluster),
        "directories": partial(_directories, cluster),
        "moves": partial(_moves, cluster),
        "groups": partial(_groups, cluster),
        "transactions": partial(_transactions, cluster),
        "history": partial(_history, cluster),
    }


async def _cluster(cluster: Cluster) -> Any:
    cluster_id, controller_id, nodes = await nodes_of(cluster)
    snapshot = await cluster.describe()
    return {"cluster_id": cluster_id, "controller": controller_id, "brokers": brokers_shown(nodes, snapshot)}


async def _apis(cluster: Cluster) -> Any:
    """By node, so that two releases in one cluster show."""
    request = ApiVersionsRequest(client_software_name="millstream", client_software_version=VERSION)
    found = {}
    for node_id in (await cluster.describe([])).nodes:
        answer = await cluster.ask(node_id, request)
        found[node_id] = {
            "features": {each.name: each.max_version_level for each in answer.finalized_features},
            "apis": {each.api_key: [each.min_version, each.max_version] for each in answer.api_keys},
        }
    return found


async def _topics(cluster: Cluster) -> Any:
    topics = (await cluster.describe()).topics
    return {name: {**asdict(topic), "topic_id": str(topic.topic_id)} for name, topic in topics.items()}


async def _settings_of_topics(cluster: Cluster) -> Any:
    names = (await cluster.describe()).topics
    found = await describe_all_settings(cluster, [Resource(ResourceType.TOPIC, name) for name in names])
    return {resource.name: _set(settings.values()) for resource, settings in found.items()}


async def _settings_of_brokers(cluster: Cluster) -> Any:
    _, _, nodes = await nodes_of(cluster)
    brokers = [Resource(ResourceType.BROKER, str(each.node_id)) for each in nodes if not each.is_fenced]
    return {each.name: _set(await describe_settings(cluster, each)) for each in brokers}


def _set(settings: Iterable[Setting]) -> dict[str, Any]:
    """What somebody has set; the rest is in the reference of the release."""
    return {
        each.name: {"value": HIDDEN if each.is_sensitive else each.value, "source": each.source.name}
        for each in settings
        if each.source.is_set
    }


async def _directories(cluster: Cluster) -> Any:
    _, _, nodes = await nodes_of(cluster)
    found = {}
    for node in nodes:
        if not node.is_fenced:
            answer = await cluster.ask(node.node_id, DescribeLogDirsRequest(topics=None))
            found[node.node_id] = [asdict(each) for each in answer.results]
    return found


async def _moves(cluster: Cluster) -> Any:
    answer = await cluster.ask_any(ListPartitionReassignmentsRequest(topics=None))
    return asdict(answer)


async def _groups(cluster: Cluster) -> Any:
    listed = await list_groups(cluster)
    found = []
    for each in listed[:GROUPS_MAX]:
        group = await describe_group(cluster, each.group_id)
        found.append({**asdict(group), "lags": [asdict(lag) for lag in await lags_of(cluster, group)]})
    return {"groups": found, "listed": [asdict(each) for each in listed]}


async def _transactions(cluster: Cluster) -> Any:
    return [asdict(each) for each in await list_transactions(cluster)]


async def _history(cluster: Cluster) -> Any:
    history = await cluster_history(cluster)
    events = [
        {"time_ms": each.time_ms, "about": each.about, "what": each.what, "why": each.why} for each in history.events
    ]
    return {"kept_since_ms": history.kept_since_ms, "events": events}


async def _metrics(address: str) -> str:
    return await asyncio.to_thread(_get, f"http://{address}/metrics")


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=_METRICS_TIMEOUT_S) as answer:
        content: bytes = answer.read(METRICS_BYTES_MAX)
    return content.decode(errors="replace")


def _log_end(path: Path) -> str:
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(max(0, size - LOG_BYTES_MAX))
        text = file.read(LOG_BYTES_MAX).decode(errors="replace")
    return _SECRET.sub(lambda found: found[1] + HIDDEN, text)


def _shown(key: str, value: str) -> str:
    return value if _PLAIN.fullmatch(key) else HIDDEN


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "_", text).strip("_")
