"""One error for everything that a request asks: what a node answers when it cannot even ask who could.

Two users: requests that belong to the controller while it cannot be reached, and group requests at a node that coordinates
no groups.
"""

from millstream_cluster.answers.ops_refusal import refuse_ops
from millstream_wire import messages as m
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.alter_configs import AlterConfigsResourceResponse
from millstream_wire.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
from millstream_wire.messages.create_partitions import CreatePartitionsTopicResult
from millstream_wire.messages.create_topics import CreatableTopicResult
from millstream_wire.messages.delete_groups import DeletableGroupResult
from millstream_wire.messages.delete_topics import DeletableTopicResult
from millstream_wire.messages.describe_groups import DescribedGroup
from millstream_wire.messages.describe_share_group_offsets import DescribeShareGroupOffsetsResponseGroup
from millstream_wire.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse as IncrementalAlterConfigsResourceResponse,
)
from millstream_wire.messages.offset_commit import OffsetCommitResponsePartition, OffsetCommitResponseTopic
from millstream_wire.messages.offset_fetch import (
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from millstream_wire.messages.share_group_describe import DescribedGroup as DescribedShareGroup
from millstream_wire.schema import Request, Response


def refuse_admin(request: Request, code: ErrorCode, text: str | None) -> Response:
    """Refuse every item of a request that the controller would have executed."""
    match request:
        case m.CreateTopicsRequest():
            created = [
                CreatableTopicResult(name=topic.name, error_code=code, error_message=text) for topic in request.topics
            ]
            return m.CreateTopicsResponse(topics=created)
        case m.DeleteTopicsRequest():
            deleted = [
                DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=code, error_message=text)
                for topic in request.topics
            ]
            deleted += [
                DeletableTopicResult(name=name, error_code=code, error_message=text) for name in request.topic_names
            ]
            return m.DeleteTopicsResponse(responses=deleted)
        case m.CreatePartitionsRequest():
            grown = [
                CreatePartitionsTopicResult(name=topic.name, error_code=code, error_message=text)
                for topic in request.topics
            ]
            return m.CreatePartitionsResponse(results=grown)
        case m.AlterConfigsRequest():
            altered = [
                AlterConfigsResourceResponse(
                    error_code=code,
                    error_message=text,
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                )
                for resource in request.resources
            ]
            return m.AlterConfigsResponse(responses=altered)
        case m.IncrementalAlterConfigsRequest():
            changed = [
                IncrementalAlterConfigsResourceResponse(
                    error_code=code,
                    error_message=text,
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                )
                for resource in request.resources
            ]
            return m.IncrementalAlterConfigsResponse(responses=changed)
        case m.UnregisterBrokerRequest():
            return m.UnregisterBrokerResponse(error_code=code, error_message=text)
        case m.DescribeQuorumRequest():
            return m.DescribeQuorumResponse(error_code=code, error_message=text)
        case _:
            return refuse_ops(request, code, text)


def refuse_group(request: Request, version: int, code: ErrorCode) -> Response:
    """Refuse a group request as a whole, in the shape its version has."""
    match request:
        case m.OffsetCommitRequest():
            return _refuse_offset_commit(request, code)
        case m.OffsetFetchRequest():
            return _refuse_offset_fetch(request, version, code)
        case m.JoinGroupRequest():
            no_protocol = None if version >= 7 else ""
            return m.JoinGroupResponse(error_code=code, protocol_name=no_protocol, member_id=request.member_id)
        case m.HeartbeatRequest():
            return m.HeartbeatResponse(error_code=code)
        case m.LeaveGroupRequest():
            return m.LeaveGroupResponse(error_code=code)
        case m.SyncGroupRequest():
            return m.SyncGroupResponse(error_code=code)
        case m.DescribeGroupsRequest():
            groups = [DescribedGroup(group_id=group, error_code=code) for group in request.groups]
            return m.DescribeGroupsResponse(groups=groups)
        case m.DeleteGroupsRequest():
            results = [DeletableGroupResult(group_id=group, error_code=code) for group in request.groups_names]
            return m.DeleteGroupsResponse(results=results)
        case m.ConsumerGroupHeartbeatRequest():
            return m.ConsumerGroupHeartbeatResponse(error_code=code)
        case m.ConsumerGroupDescribeRequest():
            refused = [DescribedConsumerGroup(group_id=group, error_code=code) for group in request.group_ids]
            return m.ConsumerGroupDescribeResponse(groups=refused)
        case m.OffsetDeleteRequest():
            return m.OffsetDeleteResponse(error_code=code)
        case _:
            return _refuse_share_group(request, code)


def _refuse_share_group(request: Request, code: ErrorCode) -> Response:
    match request:
        case m.ShareGroupHeartbeatRequest():
            return m.ShareGroupHeartbeatResponse(error_code=code)
        case m.ShareGroupDescribeRequest():
            refused = [DescribedShareGroup(group_id=group, error_code=code) for group in request.group_ids]
            return m.ShareGroupDescribeResponse(groups=refused)
        case m.DescribeShareGroupOffsetsRequest():
            groups = [
                DescribeShareGroupOffsetsResponseGroup(group_id=group.group_id, error_code=code)
                for group in request.groups
            ]
            return m.DescribeShareGroupOffsetsResponse(groups=groups)
        case m.AlterShareGroupOffsetsRequest():
            return m.AlterShareGroupOffsetsResponse(error_code=code)
        case m.DeleteShareGroupOffsetsRequest():
            return m.DeleteShareGroupOffsetsResponse(error_code=code)
        case _:
            raise TypeError(f"{type(request).__name__} is not a group request")


def _refuse_offset_commit(request: m.OffsetCommitRequest, code: ErrorCode) -> m.OffsetCommitResponse:
    topics = [
        OffsetCommitResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[
                OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code)
                for partition in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return m.OffsetCommitResponse(topics=topics)


def _refuse_offset_fetch(request: m.OffsetFetchRequest, version: int, code: ErrorCode) -> m.OffsetFetchResponse:
    if version >= 8:
        groups = [OffsetFetchResponseGroup(group_id=group.group_id, error_code=code) for group in request.groups]
        return m.OffsetFetchResponse(groups=groups)
    topics = [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(partition_index=index, committed_offset=-1, error_code=code)
                for index in topic.partition_indexes
            ],
        )
        for topic in request.topics or ()
    ]
    return m.OffsetFetchResponse(topics=topics, error_code=code)
