"""The compatibility table of the documentation, from what the services really serve.

Pure: the caller brings the services' handlers, since nothing here may know a service.
"""

from collections.abc import Iterable, Mapping, Set

from millstream_wire.api import API, Api, ApiKey

SERVED = "yes"
NOT_SERVED = "-"


def render(served: Mapping[str, Set[ApiKey]]) -> str:
    """A Markdown table of all APIs: versions, and for each service whether it answers."""
    head = ("Key", "API", "Versions", *served)
    rows = [head, tuple("---" for _ in head)]
    rows += [_row(api, served.values()) for api in API.values()]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(api: Api, services: Iterable[Set[ApiKey]]) -> tuple[str, ...]:
    first, last = api.versions
    versions = str(first) if first == last else f"{first}-{last}"
    return str(int(api.key)), api.name, versions, *(SERVED if api.key in keys else NOT_SERVED for keys in services)
