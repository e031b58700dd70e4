"""Share groups as a broker has to do with them: the sessions of their members, and their shares of its partitions."""

from collections.abc import Callable

from millstream_broker.config import BrokerConfig
from millstream_broker.core.share.session import ShareSession, ShareSessions
from millstream_broker.shell.delays import Delays
from millstream_broker.shell.share.partitions import SharePartitions
from millstream_broker.shell.share.settings import ShareSettings
from millstream_broker.shell.share.states import ShareStates
from millstream_broker.shell.topic_creation import TopicCreation
from millstream_cluster.features import SHARE_VERSION, feature_level
from millstream_cluster.ids import NodeId
from millstream_cluster.image import Image
from millstream_runtime.nodes.interest import Interest
from millstream_runtime.serving.context import Connection
from millstream_runtime.world import World


class ShareGroups:
    def __init__(
        self,
        config: BrokerConfig,
        world: World,
        delays: Delays,
        image: Callable[[], Image],
        topics: TopicCreation,
        interest: Interest,
    ) -> None:
        credentials = config.security.nodes
        states = ShareStates(world, image, topics, interest, node_id=NodeId(config.node_id), credentials=credentials)
        self._image = image
        self.sessions = ShareSessions(sessions_max=config.share_sessions_max)
        self.partitions = SharePartitions(
            world,
            delays,
            states,
            lambda group_id: ShareSettings.of(image(), config.properties, config.node_id, group_id),
        )

    @property
    def are_on(self) -> bool:
        """Whether share.version is at a level that has them."""
        return feature_level(self._image().feature_levels, SHARE_VERSION) > 0

    def on_image(self) -> None:
        self.partitions.on_image()

    async def run(self) -> None:
        await self.partitions.run()

    async def close(self) -> None:
        await self.partitions.close()

    def end(self, session: ShareSession) -> None:
        """The member is gone from here: what it has is for others."""
        self.sessions.close(session)
        self.partitions.leave(session.key.group_id, session.touched, session.key.member_id)

    def end_with(self, connection: Connection) -> None:
        """Have the sessions of a connection end with it."""
        if _WATCHED in connection.state:
            return
        connection.state[_WATCHED] = True

        def end_all() -> None:
            for session in self.sessions.of_connection(connection.number):
                self.end(session)

        connection.at_close.append(end_all)


_WATCHED = "share sessions end with it"
