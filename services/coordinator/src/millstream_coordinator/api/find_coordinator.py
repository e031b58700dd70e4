"""FindCoordinator (API key 10), versions 0 to 6: groups, transactions, share partitions. The first request of all has their topic created."""

from millstream_cluster.answers.find_coordinator import find_coordinator, missing_topic
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.told_denials import say_denied
from millstream_wire.messages import FindCoordinatorRequest, FindCoordinatorResponse


async def handle_find_coordinator(
    coordinator: Coordinator, request: FindCoordinatorRequest, context: RequestContext
) -> FindCoordinatorResponse:
    topic = missing_topic(coordinator.image, request, context.may_what)
    if topic is not None:
        coordinator.topic_creation.want(topic)
    answer = await coordinator.live_coordinators.find(
        lambda: find_coordinator(
            coordinator.image, request, context.version, listener_name=context.listener_name, may=context.may_what
        )
    )
    asked = [(request.key, answer.error_code), *((each.key, each.error_code) for each in answer.coordinators)]
    say_denied(context, asked)
    return answer
