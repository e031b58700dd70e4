"""Who may log in, who may do what, and how much: SCRAM users, ACLs, quotas."""

import math
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, TypeVar

from aiohttp import web

from millstream_client import InvalidData
from millstream_client.acls import AclFilter, create_acls, delete_acls, list_acls
from millstream_client.quotas import Quota, alter_quotas, list_quotas
from millstream_client.users import delete_user, list_users, set_password
from millstream_cluster.acls import CLUSTER_NAME, Acl, AclOperation, AclPattern, AclPermission, AclResource
from millstream_console.asked import body_of, name_in
from millstream_console.paging import Paging
from millstream_console.protection import ACCESS
from millstream_security.sasl.scram_mechanism import SCRAM_NAMES, ScramMechanism

Word = TypeVar("Word", bound=IntEnum)
ENTITIES = ("user", "client-id", "ip")
_DEFAULT = "<default>"
"""How Kafka's tools write the default of a kind."""


# ---- users ----


async def list_all_users(request: web.Request) -> web.Response:
    users = await list_users(request[ACCESS].cluster)
    page = Paging.of(request.query).cut(
        users, {"user": lambda each: (each.name, each.mechanism)}, lambda each: f"{each.name} {each.mechanism}"
    )
    rows = [{"user": each.name, "mechanism": each.mechanism, "iterations": each.iterations} for each in page.rows]
    return web.json_response(page.shown(rows))


async def change_password(request: web.Request) -> web.Response:
    """Of a user that there is, or of a new one."""
    asked = await body_of(request)
    user, password = name_in(asked, "user"), name_in(asked, "password")
    await set_password(request[ACCESS].cluster, user, password, _mechanism(asked))
    return web.json_response({"user": user})


async def delete_one_user(request: web.Request) -> web.Response:
    asked = await body_of(request)
    user = name_in(asked, "user")
    await delete_user(request[ACCESS].cluster, user, _mechanism(asked))
    return web.json_response({"user": user})


def _mechanism(asked: Mapping[str, Any]) -> ScramMechanism:
    name = name_in(asked, "mechanism")
    if name not in SCRAM_NAMES:
        raise InvalidData(f"mechanism must be one of {', '.join(SCRAM_NAMES)}")
    return SCRAM_NAMES[name]


# ---- ACLs ----


async def list_all_acls(request: web.Request) -> web.Response:
    acls = [_shown(each) for each in await list_acls(request[ACCESS].cluster, AclFilter())]
    page = Paging.of(request.query).cut(
        acls,
        {
            "principal": lambda each: each["principal"],
            "resource": lambda each: (each["resource"], each["name"]),
            "operation": lambda each: each["operation"],
        },
        lambda each: " ".join(each.values()),
    )
    return web.json_response(page.shown(page.rows))


async def create_one_acl(request: web.Request) -> web.Response:
    acl = _acl(await body_of(request))
    await create_acls(request[ACCESS].cluster, [acl])
    return web.json_response(_shown(acl))


async def delete_one_acl(request: web.Request) -> web.Response:
    """Exactly that one."""
    acl = _acl(await body_of(request))
    wanted = AclFilter(acl.resource, acl.name, acl.pattern, acl.principal, acl.host, acl.operation, acl.permission)
    gone = await delete_acls(request[ACCESS].cluster, wanted)
    return web.json_response({"deleted": len(gone)})


def _acl(asked: Mapping[str, Any]) -> Acl:
    resource = _word(AclResource, asked, "resource")
    return Acl(
        resource,
        _word(AclPattern, asked, "pattern"),
        CLUSTER_NAME if resource is AclResource.CLUSTER else name_in(asked, "name"),
        name_in(asked, "principal"),
        name_in(asked, "host"),
        _word(AclOperation, asked, "operation"),
        _word(AclPermission, asked, "permission"),
    )


def _word(words: type[Word], asked: Mapping[str, Any], name: str) -> Word:
    text = name_in(asked, name).upper().replace("-", "_")
    if text not in words.__members__:
        raise InvalidData(f"{name} must be one of {', '.join(map(_written, words))}")
    return words[text]


def _written(word: IntEnum) -> str:
    return word.name.lower().replace("_", "-")


def _shown(acl: Acl) -> dict[str, str]:
    return {
        "principal": acl.principal,
        "host": acl.host,
        "permission": _written(acl.permission),
        "operation": _written(acl.operation),
        "resource": _written(acl.resource),
        "pattern": _written(acl.pattern),
        "name": acl.name,
    }


# ---- quotas ----


async def list_all_quotas(request: web.Request) -> web.Response:
    quotas = await list_quotas(request[ACCESS].cluster)
    page = Paging.of(request.query).cut(quotas, {"of": _named}, _named)
    return web.json_response(page.shown([{"entity": each.entity, "values": each.values} for each in page.rows]))


async def change_quota(request: web.Request) -> web.Response:
    """Of an entity, as `{"user": "alice"}`, null for the default of a kind; a value of null takes a quota away."""
    asked = await body_of(request)
    entity, values = asked.get("entity"), asked.get("values")
    if not isinstance(entity, dict) or not entity or not entity.keys() <= set(ENTITIES):
        raise InvalidData(f"entity must name some of {', '.join(ENTITIES)}")
    if any(not (each is None or isinstance(each, str)) for each in entity.values()):
        raise InvalidData("names must be texts")
    if not isinstance(values, dict) or not values:
        raise InvalidData("values are missing")
    changed = {key: _number(key, value) for key, value in values.items() if value is not None}
    deleted = [key for key, value in values.items() if value is None]
    await alter_quotas(request[ACCESS].cluster, entity, changed=changed, deleted=deleted)
    return web.json_response({"entity": entity})


def _number(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidData(f"{key} must be a number")
    return float(value)


def _named(quota: Quota) -> str:
    return " ".join(f"{kind} {_DEFAULT if name is None else name}" for kind, name in sorted(quota.entity.items()))
