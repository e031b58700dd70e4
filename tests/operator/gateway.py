"""The Gateway API's TLSRoute of version 1, as far as one is written by the operator."""

from __future__ import annotations

import json
from typing import Any

from kubectl import Cluster

NAME = "tlsroutes.gateway.networking.k8s.io"


def define_routes(cluster: Cluster) -> None:
    """Unless they are."""
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        # The API server takes groups of its own only with such a word.
        "metadata": {"name": NAME, "annotations": {"api-approved.kubernetes.io": "unapproved, of a test"}},
        "spec": {
            "group": "gateway.networking.k8s.io",
            "scope": "Namespaced",
            "names": {"plural": "tlsroutes", "singular": "tlsroute", "kind": "TLSRoute", "listKind": "TLSRouteList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _schema()}}],
        },
    }
    cluster.run("kubectl", "apply", "-f", "-", stdin=json.dumps(definition))
    # Right after it is applied it has no conditions at all, which the second wait would not wait for.
    cluster.run("kubectl", "wait", "--for=jsonpath={.status.acceptedNames.kind}=TLSRoute", "crd", NAME)
    cluster.run("kubectl", "wait", "--for=condition=Established", "crd", NAME)


def _schema() -> dict[str, Any]:
    parent = {"name": _text(), "namespace": _text(), "sectionName": _text()}
    backend = {"name": _text(), "port": {"type": "integer", "minimum": 1, "maximum": 65535}}
    backends = {"type": "array", "minItems": 1, "items": _closed(backend, ["name"])}
    route = {
        "parentRefs": {"type": "array", "maxItems": 32, "items": _closed(parent, ["name"])},
        "hostnames": {"type": "array", "minItems": 1, "maxItems": 16, "items": _text(maxLength=253)},
        "rules": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1,
            "items": _closed({"backendRefs": backends}, ["backendRefs"]),
        },
    }
    return _closed({"spec": _closed(route, ["hostnames", "rules"])}, ["spec"])


def _text(**more: Any) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, **more}


def _closed(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}
