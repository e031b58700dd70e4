"""What every node checks of InitProducerId (API key 22) before it gives or looks up an id."""

from millstream_wire.messages import InitProducerIdRequest


def is_half_known(request: InitProducerIdRequest) -> bool:
    """Whether it names a producer's id without an epoch, or an epoch without an id."""
    return (request.producer_id == -1) != (request.producer_epoch == -1)
