"""FindCoordinator (API key 10), versions 0 to 6: groups, transactions, share partitions. The first request of all has their topic created."""

from millstream_broker.shell.broker import Broker
from millstream_cluster.answers.find_coordinator import find_coordinator, missing_topic
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.told_denials import say_denied
from millstream_wire.messages import FindCoordinatorRequest, FindCoordinatorResponse


async def handle_find_coordinator(
    broker: Broker, request: FindCoordinatorRequest, context: RequestContext
) -> FindCoordinatorResponse:
    await broker.until_it_sees_cluster()
    topic = missing_topic(broker.image, request, context.may_what)
    if topic is not None:
        broker.topic_creation.want(topic)
    answer = await broker.live_coordinators.find(
        lambda: find_coordinator(
            broker.image, request, context.version, listener_name=context.listener_name, may=context.may_what
        )
    )
    asked = [(request.key, answer.error_code), *((each.key, each.error_code) for each in answer.coordinators)]
    say_denied(context, asked)
    return answer
