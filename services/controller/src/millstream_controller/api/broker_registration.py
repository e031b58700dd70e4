"""BrokerRegistration (62), versions 0 to 4, from brokers and coordinators. Left out: ZooKeeper migration."""

import logging

from millstream_cluster.acls import AclOperation
from millstream_cluster.ids import BrokerEpoch
from millstream_cluster.records import Endpoint, FeatureRange
from millstream_controller.core.nodes.nodes import Registration, register
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import BrokerRegistrationRequest, BrokerRegistrationResponse

logger = logging.getLogger(__name__)


async def handle_broker_registration(
    controller: Controller, request: BrokerRegistrationRequest, context: RequestContext
) -> BrokerRegistrationResponse:
    listeners = tuple(Endpoint(each.name, each.host, each.port) for each in request.listeners)
    wanted = Registration(
        request.broker_id,
        request.cluster_id,
        request.incarnation_id,
        listeners,
        request.rack or None,
        log_dirs=tuple(request.log_dirs),
        features=tuple(
            FeatureRange(each.name, each.min_supported_version, each.max_supported_version) for each in request.features
        ),
        previous_epoch=BrokerEpoch(request.previous_broker_epoch),
    )
    try:
        refused = refuse_all(request, context, AclOperation.CLUSTER_ACTION)
        if refused is not None:
            return refused
        active = controller.active
        answer = await active.execute(
            lambda machine: register(machine, wanted, session_live=active.session_live(request.broker_id))
        )
    except NotActive:
        return BrokerRegistrationResponse(error_code=ErrorCode.NOT_CONTROLLER)
    if answer.outcome.error is not ErrorCode.NONE:
        logger.warning("registration refused node=%d reason=%s", request.broker_id, answer.outcome.message)
        return BrokerRegistrationResponse(error_code=answer.outcome.error)
    active.heard(request.broker_id, answer.broker_epoch, context.connection)
    logger.info("node registered node=%d epoch=%d", request.broker_id, answer.broker_epoch)
    if answer.lost_partitions:
        logger.error(
            "node came back with an empty disk node=%d partitions_without_its_copy=%d",
            request.broker_id,
            answer.lost_partitions,
        )
    return BrokerRegistrationResponse(broker_epoch=answer.broker_epoch)
