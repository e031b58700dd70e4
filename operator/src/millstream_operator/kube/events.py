"""Kubernetes Events: what happened to a resource, told where people look (`kubectl describe`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from millstream_operator.kube.objects import Objects

COMPONENT = "millstream-operator"
MESSAGE_LENGTH_MAX = 1000
"""The API server takes 1,024 bytes."""


@dataclass(frozen=True, slots=True)
class Event:
    reason: str
    message: str
    is_warning: bool = False


async def tell(objects: Objects, kind: str, body: Mapping[str, Any], event: Event, now_ms: int) -> None:
    """Raises KubernetesError."""
    metadata = body["metadata"]
    now = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    await objects.create(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{metadata['name'][:200]}.", "namespace": metadata["namespace"]},
            "involvedObject": {
                "apiVersion": "millstream.dev/v1alpha1",
                "kind": kind,
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
            "type": "Warning" if event.is_warning else "Normal",
            "reason": event.reason,
            "message": event.message.encode()[:MESSAGE_LENGTH_MAX].decode(errors="ignore"),
            "source": {"component": COMPONENT},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
    )
