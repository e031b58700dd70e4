"""AlterUserScramCredentials (51), version 0."""

from millstream_cluster.acls import AclOperation
from millstream_controller.core.logins.scram_credentials import Deletion, Upsertion, alter_scram_credentials
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.accounts import SECRET_BYTES
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse
from millstream_wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsResult


async def handle_alter_user_scram_credentials(
    controller: Controller, request: AlterUserScramCredentialsRequest, context: RequestContext
) -> AlterUserScramCredentialsResponse:
    deletions = [Deletion(each.name, each.mechanism) for each in request.deletions]
    upsertions = [
        Upsertion(each.name, each.mechanism, each.iterations, bytes(each.salt), bytes(each.salted_password))
        for each in request.upsertions
    ]
    secret = controller.world.random.getrandbits(8 * SECRET_BYTES).to_bytes(SECRET_BYTES, "big")
    try:
        denied = refuse_all(request, context, AclOperation.ALTER)
        if denied is not None:
            return denied
        answers = await controller.active.execute(
            lambda machine: alter_scram_credentials(machine, deletions, upsertions, secret)
        )
    except NotActive as reason:
        return error_response(request, context.version, ErrorCode.NOT_CONTROLLER, str(reason))
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(user=user, error_code=outcome.error, error_message=outcome.message)
            for user, outcome in answers.items()
        ]
    )
