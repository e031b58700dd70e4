"""What a pod of a cluster may do on its node: nothing that the `restricted` level of Pod Security forbids, and no more."""

from millstream_operator.resources.identity import Manifest

USER = 10001


def pod_security() -> Manifest:
    return {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        # A volume has many segments: their owner is looked at once, not at each start.
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container_security() -> Manifest:
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
