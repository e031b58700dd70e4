"""Envelope (58), version 0: what a client asked another node that is the controller's to do, in that client's name.

From nodes only (CLUSTER_AUTHORIZATION_FAILED to others). The errors of what is inside are told inside, NOT_CONTROLLER too.
"""

from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.envelope import HandleEnvelope, opening
from millstream_runtime.serving.handlers import Handlers


def envelope_handler(forwarded: Handlers[Controller]) -> HandleEnvelope[Controller]:
    return opening(forwarded, Controller.request_time)
