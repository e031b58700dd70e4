"""The authorizer of a controller: asked by handlers only while it is active, and by listeners, who may be a node, at any time."""

from collections.abc import Callable

from millstream_cluster.image.acls import AclsImage
from millstream_cluster.principal import Principal
from millstream_controller.shell.controller import Controller
from millstream_security.authorization.authorizer import Authorizer, AuthorizerConfig


class ControllerAuthorizer(Authorizer):
    """A handler's question raises NotActive at a standby: its ACLs may be old, and who is denied by them would not ask elsewhere."""

    def __init__(self, config: AuthorizerConfig, controller: Controller, followed: Callable[[], AclsImage]) -> None:
        """`followed`: the ACLs as far as this process knows."""
        super().__init__(config, lambda: controller.active.log.image.acls)
        self._of_any = Authorizer(config, followed)

    def may_be_node(self, principal: Principal, host: str) -> bool:
        return self._of_any.may_be_node(principal, host)
