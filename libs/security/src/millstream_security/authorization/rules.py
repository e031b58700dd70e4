"""ACLs, arranged so that a question costs the same whether there are ten of them or ten thousand.

Invariant: what is found for a resource is what a look at every ACL would find.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from millstream_cluster.acls import WILDCARD, Acl, AclPattern, AclResource


class Rules:
    """The ACLs of one principal, by what they apply to. A prefix is looked up by its length: there are few lengths."""

    def __init__(self) -> None:
        self._named: dict[tuple[AclPattern, AclResource, str], list[Acl]] = {}
        self._lengths: dict[AclResource, Counter[int]] = {}
        """How many different prefixes of each length there are."""

    def __len__(self) -> int:
        return len(self._named)

    def add(self, acl: Acl) -> None:
        key = (acl.pattern, acl.resource, acl.name)
        found = self._named.setdefault(key, [])
        found.append(acl)
        if len(found) == 1 and acl.pattern is AclPattern.PREFIXED:
            self._lengths.setdefault(acl.resource, Counter())[len(acl.name)] += 1

    def remove(self, acl: Acl) -> None:
        key = (acl.pattern, acl.resource, acl.name)
        found = self._named[key]
        found.remove(acl)
        if found:
            return
        del self._named[key]
        if acl.pattern is AclPattern.PREFIXED:
            lengths = self._lengths[acl.resource]
            lengths[len(acl.name)] -= 1
            if not lengths[len(acl.name)]:
                del lengths[len(acl.name)]

    def of(self, resource: AclResource, name: str) -> Iterator[Acl]:
        """Those that apply to the resource, whatever they say."""
        named = self._named
        yield from named.get((AclPattern.LITERAL, resource, name), ())
        if name != WILDCARD:
            yield from named.get((AclPattern.LITERAL, resource, WILDCARD), ())
        for length in self._lengths.get(resource, ()):
            if length <= len(name):
                yield from named.get((AclPattern.PREFIXED, resource, name[:length]), ())

    def of_type(self, resource: AclResource) -> Iterator[Acl]:
        for (_, kind, _), acls in self._named.items():
            if kind is resource:
                yield from acls


class RuleBook:
    """All ACLs, by principal."""

    def __init__(self, acls: Iterable[Acl] = ()) -> None:
        self._by_principal: dict[str, Rules] = {}
        self._everyone = Rules()
        """All of them together, for whether a resource has any."""
        for acl in acls:
            self.add(acl)

    def add(self, acl: Acl) -> None:
        self._by_principal.setdefault(acl.principal, Rules()).add(acl)
        self._everyone.add(acl)

    def remove(self, acl: Acl) -> None:
        rules = self._by_principal[acl.principal]
        rules.remove(acl)
        if not len(rules):
            del self._by_principal[acl.principal]
        self._everyone.remove(acl)

    def of(self, principals: Iterable[str], resource: AclResource, name: str) -> Iterator[Acl]:
        for principal in principals:
            rules = self._by_principal.get(principal)
            if rules is not None:
                yield from rules.of(resource, name)

    def of_type(self, principals: Iterable[str], resource: AclResource) -> Iterator[Acl]:
        for principal in principals:
            rules = self._by_principal.get(principal)
            if rules is not None:
                yield from rules.of_type(resource)

    def has_any(self, resource: AclResource, name: str) -> bool:
        return next(self._everyone.of(resource, name), None) is not None
