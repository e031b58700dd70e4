"""SaslHandshake (17), versions 0 and 1, and SaslAuthenticate (36), versions 0 to 2, where there is no login to come.

A login itself is over before a request comes here (runtime/serving/login_gate.py).
"""

from typing import TypeVar

from millstream_cluster.answers.no_security import refuse_security
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_wire.schema import Request, Response

R = TypeVar("R", bound=Response)


def handle_login_out_of_place(controller: Controller, request: Request[R], context: RequestContext) -> R:
    return refuse_security(request, context.version)
