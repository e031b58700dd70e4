"""No API is served that nobody thought about: each one has its requests in the table, or a reason why it needs none."""

from authorization_rows import ROWS

import millstream_broker.api
import millstream_controller.api
import millstream_coordinator.api
from millstream_wire.api import ApiKey

UNPROTECTED = {
    ApiKey.SASL_HANDSHAKE: "how one shows who one is",
    ApiKey.SASL_AUTHENTICATE: "how one shows who one is",
    ApiKey.CREATE_DELEGATION_TOKEN: "everybody's own; asked with what else is asked of tokens",
    ApiKey.RENEW_DELEGATION_TOKEN: "takes no ACL: the owner's and the renewers'",
    ApiKey.EXPIRE_DELEGATION_TOKEN: "takes no ACL: the owner's and the renewers'",
    ApiKey.DESCRIBE_DELEGATION_TOKEN: "everybody's own; asked with what else is asked of tokens",
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: "what a client tells of itself",
    ApiKey.PUSH_TELEMETRY: "what a client tells of itself",
    ApiKey.ENVELOPE: "for nodes; what is inside is asked in the client's name",
}
FOR_NODES = {
    ApiKey.ALLOCATE_PRODUCER_IDS,
    ApiKey.ALTER_PARTITION,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS,
    ApiKey.BROKER_HEARTBEAT,
    ApiKey.BROKER_REGISTRATION,
    ApiKey.FETCH_SNAPSHOT,
}
"""At the controller; `test_nodes_only.py` asks for them."""


def test_every_api_is_in_the_table_or_needs_no_grant() -> None:
    served = {
        *millstream_broker.api.HANDLERS,
        *millstream_coordinator.api.HANDLERS,
        *millstream_controller.api.HANDLERS,
    }
    checked = {key for key, _ in ROWS.values()}
    assert sorted(key.name for key in served - checked - UNPROTECTED.keys() - FOR_NODES) == []
    assert checked.isdisjoint(UNPROTECTED)
