"""The definitions of the resources: a word that no schema knows has `helm upgrade` fail where the API server is strict."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

DEFINITIONS = sorted((Path(__file__).parents[3] / "charts/millstream/crds").glob("*.yaml"))
WORDS = {
    *("type", "format", "description", "default", "enum", "nullable", "properties", "required", "items"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "pattern", "minItems", "maxItems", "minProperties", "maxProperties"),
    *("additionalProperties", "anyOf", "allOf", "oneOf", "not"),
}
"""Of JSON Schema, those that a definition of a resource may have."""


def unknown(schema: Mapping[str, Any], place: str) -> Iterator[str]:
    for word in schema:
        if word not in WORDS and not word.startswith("x-kubernetes-"):
            yield f"{place}: {word}"
    for name, below in schema.get("properties", {}).items():
        yield from unknown(below, f"{place}.{name}")
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), Mapping):
            yield from unknown(schema[word], f"{place}[]")


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda path: path.stem)
def test_a_comma_in_a_description_begins_no_other_word(path: Path) -> None:
    for version in yaml.safe_load(path.read_text())["spec"]["versions"]:
        assert list(unknown(version["schema"]["openAPIV3Schema"], path.stem)) == []
