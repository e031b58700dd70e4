"""What was applied, and how the API server had it then: what neither side has changed since is not applied again.

An apply that changes nothing is a request all the same, which the API server and whoever reads its audit log have to look at.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millstream_operator.kube.objects import KubernetesError, Objects

Found = Mapping[tuple[str, str], Mapping[str, Any]]
"""Objects by kind and name."""


@dataclass(frozen=True, slots=True)
class _Applied:
    digest: bytes
    mark: str


class Applied:
    """Of one owner's objects; bounded by what was wanted last."""

    def __init__(self) -> None:
        self._applied: dict[tuple[str, str], _Applied] = {}

    async def apply(
        self, objects: Objects, manifests: Sequence[Mapping[str, Any]], found: Found | None
    ) -> list[KubernetesError]:
        """Apply what differs; `found`: what is there now, as listed, or None if nobody looked.

        What the API server refuses is told and holds up nothing else; it is applied again the next time.
        """
        before, self._applied = self._applied, {}
        refused = []
        for manifest in manifests:
            key = manifest["kind"], manifest["metadata"]["name"]
            digest = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).digest()
            last = before.get(key)
            if last is not None and last.digest == digest and _is_as_left(last, found, key):
                self._applied[key] = last
                continue
            try:
                answer = await objects.apply(manifest)
            except KubernetesError as error:
                refused.append(error)
            else:
                self._applied[key] = _Applied(digest, _mark(answer))
        return refused


def _is_as_left(last: _Applied, found: Found | None, key: tuple[str, str]) -> bool:
    return found is None or (key in found and _mark(found[key]) == last.mark)


def _mark(manifest: Mapping[str, Any]) -> str:
    """What changes with the object's spec: its generation, and where it has none its version, which changes with its status too."""
    metadata = manifest["metadata"]
    return f"{metadata['uid']}/{metadata.get('generation') or metadata['resourceVersion']}"
