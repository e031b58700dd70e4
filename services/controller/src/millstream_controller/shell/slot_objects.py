"""The objects of a KubernetesStore, and what it asks of the API server, as one small interface.

`MetadataSlot` objects hold appends (`NAME-slot-07`) and parts of snapshots (`NAME-snapshot-...-0`), all labelled with the cluster's
name. Nothing here decides anything; a write that was not answered is reported as exactly that.
"""

import base64
import binascii
from typing import Any, Protocol

from millstream_controller.core.ring import RingError, Slot, SnapshotRef, StoredSlot

GROUP = "millstream.dev"
VERSION = "v1alpha1"
PLURAL = "metadataslots"
KIND = "MetadataSlot"
CLUSTER_LABEL = "millstream.dev/cluster"
PART_LABEL = "millstream.dev/part"

Object = dict[str, Any]


class Conflict(Exception):
    """The object is not the version that the write named, or it exists already."""


class NoAnswer(Exception):
    """No definite answer: a write may have been applied, may be applied yet, or never."""


class Denied(NoAnswer):
    """The API server did not let us in. It happens in passing: a token that was just rotated, rights that it has not loaded yet."""


class Forbidden(Exception):
    """The API server will not have it, now or later: a missing CRD, an object that is too large, no way to it at all."""


class SlotObjects(Protocol):
    """Reads are consistent: never served from a cache that may be behind."""

    async def list(self, part: str) -> list[Object]:
        """All objects of this cluster with this part label ("slot" or "snapshot"), as of one moment."""

    async def get(self, name: str) -> Object | None: ...

    async def create(self, body: Object) -> Object:
        """Raises Conflict if there is one of this name."""

    async def replace(self, name: str, body: Object) -> Object:
        """Raises Conflict unless `metadata.resourceVersion` is the object's."""

    async def delete(self, name: str) -> None:
        """Done also if there is none."""

    async def close(self) -> None: ...


def slot_name(cluster: str, index: int) -> str:
    return f"{cluster}-slot-{index:02d}"


def slot_body(cluster: str, namespace: str, index: int, slot: Slot, resource_version: str | None) -> Object:
    spec: Object = {
        "index": index,
        "sequence": slot.sequence,
        "writer": slot.writer,
        "appendNumber": slot.append_number,
        "data": base64.b64encode(slot.data).decode(),
    }
    if slot.snapshot is not None:
        spec["snapshot"] = {
            "name": slot.snapshot.name,
            "chunks": slot.snapshot.chunks,
            "endOffset": slot.snapshot.end_offset,
            "epoch": slot.snapshot.epoch,
            "sequence": slot.snapshot.sequence,
        }
    return _body(cluster, namespace, slot_name(cluster, index), "slot", spec, resource_version)


def parse_slot(body: Object) -> StoredSlot:
    """Read a slot object; one that is not of this form is a RingError."""
    try:
        spec = body["spec"]
        found = spec.get("snapshot")
        snapshot = None
        if found is not None:
            snapshot = SnapshotRef(
                found["name"], found["chunks"], found["endOffset"], found["epoch"], found["sequence"]
            )
        data = base64.b64decode(spec["data"], validate=True)
        slot = Slot(spec["sequence"], spec["writer"], spec["appendNumber"], snapshot, data)
        return StoredSlot(spec["index"], body["metadata"]["resourceVersion"], slot)
    except (KeyError, TypeError, binascii.Error) as error:
        raise RingError(f"object {body.get('metadata', {}).get('name')} is no metadata slot: {error!r}") from error


def chunk_body(cluster: str, namespace: str, snapshot: str, number: int, data: bytes) -> Object:
    spec = {"data": base64.b64encode(data).decode()}
    return _body(cluster, namespace, chunk_name(snapshot, number), "snapshot", spec, None)


def chunk_name(snapshot: str, number: int) -> str:
    return f"{snapshot}-{number}"


def parse_chunk(body: Object) -> bytes:
    try:
        return base64.b64decode(body["spec"]["data"], validate=True)
    except (KeyError, TypeError, binascii.Error) as error:
        raise RingError(f"object {body.get('metadata', {}).get('name')} is no snapshot part: {error!r}") from error


def _body(cluster: str, namespace: str, name: str, part: str, spec: Object, resource_version: str | None) -> Object:
    metadata: Object = {
        "name": name,
        "namespace": namespace,
        "labels": {CLUSTER_LABEL: cluster, PART_LABEL: part},
    }
    if resource_version is not None:
        metadata["resourceVersion"] = resource_version
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": KIND, "metadata": metadata, "spec": spec}
