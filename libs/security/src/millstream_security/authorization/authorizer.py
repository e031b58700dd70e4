"""Who may do what: the ACLs of the Image, super users, and what holds where nothing is said.

One per service. ACLs change under it: it is asked with the Image as it is now, and takes over what has changed at the next question, so
that a change counts on open connections at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mypy_extensions import mypyc_attr

from millstream_cluster.acls import CLUSTER_NAME, AclOperation, AclResource
from millstream_cluster.image.acls import AclsImage
from millstream_cluster.principal import Principal
from millstream_security.authorization.decision import decide, decide_any
from millstream_security.authorization.rules import RuleBook

ANSWERS_MAX: Final = 4_096
"""How many answers are remembered for one principal at one address."""
RIGHTS_MAX: Final = 256
"""How many principals at an address share what is remembered; connections of those that came before keep their own."""

Question = tuple[AclOperation, AclResource, str]


@dataclass(frozen=True, slots=True)
class AuthorizerConfig:
    super_users: frozenset[str] = frozenset()
    """super.users: they may do everything, whatever ACLs say."""
    allow_everyone: bool = False
    """allow.everyone.if.no.acl.found: of resources that no ACL applies to."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Authorizer:
    def __init__(self, config: AuthorizerConfig, acls: Callable[[], AclsImage]) -> None:
        self._config = config
        self._acls = acls
        self._book = RuleBook()
        self._image: AclsImage | None = None
        """What the book was made of, up to its change number `_changes`."""
        self._changes = 0
        self._rights: dict[tuple[Principal, str], Rights] = {}
        """Shared by the connections of one principal from one address."""
        self.editions = 0
        """Counts up whenever the book has changed."""

    def is_super(self, principal: Principal) -> bool:
        return str(principal) in self._config.super_users

    def rights(self, principal: Principal, host: str) -> "Rights":
        key = principal, host.strip("[]")
        rights = self._rights.get(key)
        if rights is None:
            if len(self._rights) >= RIGHTS_MAX:
                self._rights.clear()
            rights = self._rights[key] = Rights(self, principal, key[1], is_super=self.is_super(principal))
        return rights

    def may_be_node(self, principal: Principal, host: str) -> bool:
        """Whether who has shown these credentials is believed when it says that it is a node of the cluster."""
        return self.rights(principal, host).may(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER, CLUSTER_NAME)

    # For `Rights`

    def book(self) -> RuleBook:
        """As the ACLs are now."""
        self.look()
        return self._book

    def look(self) -> int:
        """Take over what has changed; the edition of the book since then."""
        image = self._acls()
        if image is not self._image or image.changes != self._changes:
            self._take_over(image)
        return self.editions

    @property
    def answers_without_acl(self) -> bool:
        return self._config.allow_everyone

    def _take_over(self, image: AclsImage) -> None:
        changes = image.since(self._changes) if image is self._image else None
        if changes is None:
            self._book = RuleBook(image.ids)
        else:
            for acl, came in changes:
                (self._book.add if came else self._book.remove)(acl)
        self._image, self._changes = image, image.changes
        self.editions += 1


class Rights:
    """What one principal may do from one address. Answers are remembered until an ACL changes."""

    __slots__ = ("_answers", "_authorizer", "_edition", "_is_super", "host", "principal")

    def __init__(self, authorizer: Authorizer, principal: Principal, host: str, *, is_super: bool) -> None:
        self._authorizer = authorizer
        self._is_super = is_super
        self._answers: dict[Question, bool] = {}
        self._edition = 0
        """Of the ACLs, that the answers are true for."""
        self.principal = principal
        self.host = host

    def may(self, operation: AclOperation, resource: AclResource, name: str) -> bool:
        if self._is_super:
            return True
        edition = self._authorizer.look()
        if edition != self._edition:
            self._answers.clear()
            self._edition = edition
        question = (operation, resource, name)
        answer = self._answers.get(question)
        if answer is None:
            answer = decide(
                self._authorizer.book(),
                str(self.principal),
                self.host,
                operation,
                resource,
                name,
                otherwise=self._authorizer.answers_without_acl,
            )
            if len(self._answers) >= ANSWERS_MAX:
                self._answers.clear()
            self._answers[question] = answer
        return answer

    def may_any(self, operation: AclOperation, resource: AclResource) -> bool:
        """Whether there may be a resource of this type on which it is allowed."""
        if self._is_super:
            return True
        book = self._authorizer.book()
        if self._authorizer.answers_without_acl and self.may(operation, resource, "hardcode"):
            return True
        return decide_any(book, str(self.principal), self.host, operation, resource)
