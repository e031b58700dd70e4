"""Transactional requests at a node that coordinates none: AddPartitionsToTxn (24), AddOffsetsToTxn (25), EndTxn (26),
TxnOffsetCommit (28), DescribeTransactions (65), in every version: NOT_COORDINATOR, after which clients ask where to go.
"""

from typing import TypeVar

from millstream_broker.shell.broker import Broker
from millstream_runtime.serving.context import RequestContext
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.schema import Request, Response

R = TypeVar("R", bound=Response)


def handle_transaction_request(broker: Broker, request: Request[R], context: RequestContext) -> R:
    return error_response(request, context.version, ErrorCode.NOT_COORDINATOR)
