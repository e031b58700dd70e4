"""Secrets as files by name: the base64 around them, and nothing that could show what is in them."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

Manifest = Mapping[str, Any]


def files_of(secret: Manifest) -> dict[str, bytes]:
    found = {}
    for name, text in (secret.get("data") or {}).items():
        try:
            found[name] = base64.b64decode(text, validate=True)
        except binascii.Error:
            continue
    return found


def secret_manifest(metadata: Manifest, files: Mapping[str, bytes], kind: str = "Opaque") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": dict(metadata),
        "type": kind,
        "data": {name: base64.b64encode(content).decode() for name, content in sorted(files.items())},
    }
