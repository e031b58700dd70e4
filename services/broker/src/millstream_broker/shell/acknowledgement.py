"""The answer to a Produce with acks=all that waits until its batch is committed: one is made for every record that somebody awaits."""

from collections.abc import Mapping
from typing import Final

from millstream_broker.core.appends.validation import Refused
from millstream_broker.core.partition.commit_waits import CommitWait
from millstream_broker.core.reads.purgatory import Place, Waiting
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.delays import Resume
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.produce_answers import Appended, refusing
from millstream_runtime.serving.context import Deferred, RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ProduceRequest, ProduceResponse
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData
from millstream_wire.usual.produce_request import SingleProduce
from millstream_wire.usual.produce_response import one_success

_NOWHERE: Final[Mapping[Place, int]] = {}


class Acknowledgement(Deferred):
    """The answer to a batch that is appended and not committed yet. The batch itself is gone by then."""

    __slots__ = (
        "_appended",
        "_broker",
        "_context",
        "_encoded_topic",
        "_index",
        "_replica",
        "_timer",
        "_wait",
    )

    def __init__(
        self,
        broker: Broker,
        replica: HostedPartition,
        single: SingleProduce,
        appended: Appended,
        context: RequestContext,
    ) -> None:
        super().__init__()
        self._broker = broker
        self._replica = replica
        self._encoded_topic = single.encoded_topic
        self._index = single.index
        self._appended = appended
        self._context = context
        self._wait: CommitWait | None = replica.partition.await_commit(appended[3], self._end)
        self._timer: Waiting[Resume] | None = broker.delays.wait(
            self._time_out, _NOWHERE, missing=1, wait_ms=single.timeout_ms
        )

    def on_cancelled(self) -> None:
        """Neither it nor what it waits for has to be collected as a cycle."""
        wait, self._wait = self._wait, None
        if wait is not None:
            self._replica.partition.cancel(wait)
        timer, self._timer = self._timer, None
        if timer is not None:
            self._broker.delays.cancel(timer)

    def _time_out(self, is_final: bool) -> None:
        self._end(ErrorCode.REQUEST_TIMED_OUT)

    def _end(self, code: ErrorCode) -> None:
        """It is committed, or it is known why nobody here will know."""
        if self.is_over:
            return
        self.on_cancelled()
        try:
            reply = self._reply(code)
        except Exception as error:
            self.fail(error)
            return
        self.answer(reply)

    def _reply(self, code: ErrorCode) -> bytes | ProduceResponse:
        context = self._context
        if code is ErrorCode.NONE:  # and enough are in sync at this moment, or it would not be committed
            base_offset, append_time_ms, start_offset, _ = self._appended
            return one_success(
                context.version,
                context.correlation_id,
                self._encoded_topic,
                self._index,
                base_offset,
                append_time_ms,
                start_offset,
            )
        asked = TopicProduceData(
            name=self._replica.topic,
            topic_id=self._replica.topic_id,
            partition_data=[PartitionProduceData(index=self._index)],
        )
        return refusing(self._broker, ProduceRequest(topic_data=[asked]), [[Refused(code, "")]], context)
