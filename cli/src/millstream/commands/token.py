"""`millstream token`: create, describe, renew, expire delegation tokens. The HMAC, which is a password, is shown once, when it is made."""

from argparse import Namespace
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from millstream.commands.acl import principal_text
from millstream.commands.connection import cluster_of
from millstream.commands.output import print_json, print_table, tell, time_text
from millstream.commands.starts import parse_duration_ms
from millstream_client.tokens import (
    AS_THE_BROKER_SAYS,
    AT_ONCE,
    Token,
    create_token,
    describe_tokens,
    expire_token,
    renew_token,
)
from millstream_cluster.principal import Principal


async def work(options: Namespace) -> None:
    async with cluster_of(options) as cluster:
        match options.action:
            case "create":
                made = await create_token(
                    cluster,
                    owner=_owner(options),
                    renewers=[_principal(each) for each in options.renewer],
                    max_lifetime_ms=_duration(options.max_life, "--max-life", AS_THE_BROKER_SAYS),
                )
                _created(made, options)
            case "describe":
                _print(await describe_tokens(cluster, _owner(options)), options)
            case "renew":
                period_ms = _duration(options.period, "--for", AS_THE_BROKER_SAYS)
                _expires(options, await renew_token(cluster, options.token_id, period_ms))
            case _:
                period_ms = _duration(options.period, "--in", AT_ONCE)
                _expires(options, await expire_token(cluster, options.token_id, period_ms))


def _created(token: Token, options: Namespace) -> None:
    hmac = b64encode(token.hmac).decode()
    if options.json:
        print_json({**_shown(token), "hmac": hmac})
        return
    print(f"token {token.token_id}  hmac {hmac}")
    print(f"owner {token.owner}  expires {time_text(token.expires_ms)}  at most {time_text(token.most_ms)}")


def _print(tokens: Sequence[Token], options: Namespace) -> None:
    rows = [_shown(each) for each in tokens]
    if options.json:
        print_json(rows)
        return
    columns = ("TOKEN ID", "OWNER", "REQUESTER", "RENEWERS", "ISSUED", "EXPIRES", "AT MOST")
    print_table(
        columns,
        [
            [each.token_id, each.owner, each.requester, ",".join(map(str, each.renewers))]
            + [time_text(moment) for moment in (each.issued_ms, each.expires_ms, each.most_ms)]
            for each in tokens
        ],
    )


def _shown(token: Token) -> dict[str, Any]:
    return {
        "token_id": token.token_id,
        "owner": str(token.owner),
        "requester": str(token.requester),
        "renewers": [str(each) for each in token.renewers],
        "issued_ms": token.issued_ms,
        "expires_ms": token.expires_ms,
        "most_ms": token.most_ms,
    }


def _expires(options: Namespace, expires_ms: int) -> None:
    token_id = options.token_id
    tell(options, f"token {token_id} expires {time_text(expires_ms)}", token_id=token_id, expires_ms=expires_ms)


def _duration(text: str | None, option: str, unset: int) -> int:
    return unset if text is None else parse_duration_ms(text, option)


def _owner(options: Namespace) -> Principal | None:
    return None if options.owner is None else _principal(options.owner)


def _principal(text: str) -> Principal:
    kind, _, name = principal_text(text).partition(":")
    return Principal(kind, name)
