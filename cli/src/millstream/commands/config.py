"""`millstream config`: describe, set and delete settings of topics, brokers and groups."""

from argparse import Namespace

from millstream.commands.connection import cluster_of
from millstream.commands.output import print_json, print_table, tell
from millstream.commands.pairs import parse_pairs
from millstream_client import Cluster, InvalidData
from millstream_client.admin import Resource, ResourceType, alter_settings, describe_settings

_ALL_BROKERS = "default"
_HIDDEN = "(hidden)"


async def work(options: Namespace) -> None:
    resource = _resource(options)
    async with cluster_of(options) as cluster:
        match options.action:
            case "describe":
                await _describe(cluster, resource, options)
            case "set":
                changed = parse_pairs(options.settings)
                await alter_settings(cluster, resource, changed=changed)
                tell(options, f"{resource}: set {', '.join(changed)}", **_named(resource))
            case _:
                await alter_settings(cluster, resource, deleted=options.keys)
                tell(options, f"{resource}: {', '.join(options.keys)} back to default", **_named(resource))


async def _describe(cluster: Cluster, resource: Resource, options: Namespace) -> None:
    settings = await describe_settings(cluster, resource)
    shown = [each for each in settings if options.all or each.source.is_set]
    if options.json:
        document = {
            each.name: {"value": each.value, "source": each.source.name, "read_only": each.is_read_only}
            for each in shown
        }
        print_json({**_named(resource), "configs": document})
    elif shown:
        rows = [[each.name, _HIDDEN if each.is_sensitive else each.value, each.source.name] for each in shown]
        print_table(("SETTING", "VALUE", "SOURCE"), rows)
    else:
        print(f"{resource}: nothing is set, all {len(settings)} settings are at their defaults (--all shows them)")


def _resource(options: Namespace) -> Resource:
    kind = ResourceType[options.resource.upper()]
    name = "" if kind is ResourceType.BROKER and options.name == _ALL_BROKERS else options.name
    if kind is ResourceType.BROKER and name and not name.isdecimal():
        raise InvalidData(f"a broker's id is a number, or {_ALL_BROKERS} for all of them, not {options.name!r}")
    return Resource(kind, name)


def _named(resource: Resource) -> dict[str, str]:
    return {"resource": resource.type.name.lower(), "name": resource.name}
