"""Transactional requests at a node that coordinates none: AddPartitionsToTxn (24), AddOffsetsToTxn (25), EndTxn (26),
TxnOffsetCommit (28), DescribeTransactions (65), in every version: NOT_COORDINATOR, after which clients ask where to go.
"""

from millstream_broker.shell.broker import Broker
from millstream_cluster.answers.transaction_refusal import refuse_transaction
from millstream_runtime.serving.context import RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.schema import Request, Response


def handle_transaction_request(broker: Broker, request: Request, context: RequestContext) -> Response:
    return refuse_transaction(request, context.version, ErrorCode.NOT_COORDINATOR)
