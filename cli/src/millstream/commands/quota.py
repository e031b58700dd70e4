"""`millstream quota`: how much users, client ids and addresses may take."""

from argparse import Namespace
from dataclasses import asdict

from millstream.commands.connection import cluster_of
from millstream.commands.output import print_json, print_table, tell
from millstream.commands.pairs import parse_pairs
from millstream_client import InvalidData
from millstream_client.quotas import Quota, alter_quotas, list_quotas

_KINDS = (("user", "user"), ("client_id", "client-id"), ("ip", "ip"))
_DEFAULT = "default"


async def work(options: Namespace) -> None:
    entity = _entity(options)
    async with cluster_of(options) as cluster:
        if options.action == "list":
            quotas = [each for each in await list_quotas(cluster) if entity.items() <= each.entity.items()]
            _print(quotas, options)
            return
        if not entity:
            raise InvalidData("whose? --user, --client-id or --ip")
        if options.action == "set":
            changed = {key: _number(key, value) for key, value in parse_pairs(options.quotas).items()}
            await alter_quotas(cluster, entity, changed=changed)
            done = ", ".join(f"{key}={_shown(value)}" for key, value in changed.items())
            tell(options, f"{_named(entity)}: {done}", entity=entity, values=changed)
        else:
            await alter_quotas(cluster, entity, deleted=options.keys)
            tell(options, f"{_named(entity)}: no {', '.join(options.keys)} of its own", entity=entity)


def _entity(options: Namespace) -> dict[str, str | None]:
    named = [(kind, getattr(options, option)) for option, kind in _KINDS]
    return {kind: None if name == _DEFAULT else name for kind, name in named if name is not None}


def _number(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidData(f"{key} is a number, not {text!r}") from None


def _shown(value: float) -> str:
    return str(int(value)) if value.is_integer() else str(value)


def _named(entity: dict[str, str | None]) -> str:
    return " ".join(f"{kind} {name if name is not None else f'({_DEFAULT})'}" for kind, name in entity.items())


def _print(quotas: list[Quota], options: Namespace) -> None:
    if options.json:
        print_json([asdict(each) for each in quotas])
        return
    rows = [[_named(each.entity), key, _shown(value)] for each in quotas for key, value in sorted(each.values.items())]
    print_table(("OF", "QUOTA", ">VALUE"), rows)
