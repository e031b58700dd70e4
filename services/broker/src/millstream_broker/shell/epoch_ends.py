"""Where the epochs of a partition's leaders end, as its present leader tells it."""

from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_log import EpochEnd
from millstream_log.leader_epochs import UNDEFINED_EPOCH


def end_of_epoch(replica: HostedPartition, epoch: int) -> EpochEnd:
    """Return the largest epoch up to `epoch` and where it ended; (-1, -1) for one that is yet to come.

    The log notes an epoch with its first record; the present one begins at the log's end even before that.
    """
    log, present = replica.log, replica.partition.leader_epoch
    if epoch == present:
        return EpochEnd(epoch, log.log_end_offset)
    epochs = log.epochs
    is_unwritten = not epochs or epoch > epochs[-1].epoch
    if is_unwritten and epoch < present and epoch != UNDEFINED_EPOCH:
        return EpochEnd(epochs[-1].epoch if epochs else epoch, log.log_end_offset)
    return log.end_of_epoch(epoch)
