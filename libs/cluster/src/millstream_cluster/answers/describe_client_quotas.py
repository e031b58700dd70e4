"""DescribeClientQuotas (API key 48), versions 0 and 1, from an Image."""

from collections.abc import Sequence
from enum import IntEnum

from millstream_cluster.image import Image
from millstream_cluster.records import QuotaEntity, QuotaEntityType
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DescribeClientQuotasRequest, DescribeClientQuotasResponse
from millstream_wire.messages.describe_client_quotas import ComponentData, EntityData, EntryData, ValueData


class MatchType(IntEnum):
    """How a component of the filter matches, as the protocol numbers it."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2


def describe_client_quotas(image: Image, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    """Quotas whose entity has every part that the filter names; strict: and no other."""
    refusal = _refusal(request.components)
    if refusal is not None:
        code, message = refusal
        return DescribeClientQuotasResponse(error_code=code, error_message=message, entries=None)
    entries = [
        EntryData(
            entity=[EntityData(entity_type=part.type, entity_name=part.name) for part in entity],
            values=[ValueData(key=key, value=value) for key, value in quotas.items()],
        )
        for entity, quotas in image.client_quotas.items()
        if _matches(entity, request.components, strict=request.strict)
    ]
    return DescribeClientQuotasResponse(error_message="", entries=entries)


def _matches(entity: tuple[QuotaEntity, ...], components: Sequence[ComponentData], *, strict: bool) -> bool:
    if strict and len(components) != len(entity):
        return False
    parts: dict[str, str | None] = {part.type: part.name for part in entity}
    for component in components:
        if component.entity_type not in parts:
            return False
        name = parts[component.entity_type]
        if component.match_type != MatchType.ANY and name != component.match:
            return False  # for the default, what is to match is null
    return True


def _refusal(components: Sequence[ComponentData]) -> tuple[ErrorCode, str] | None:
    named: set[str] = set()
    for component in components:
        kind = component.entity_type
        wrong = None
        if not kind:
            wrong = "Invalid empty entity type."
        elif kind in named:
            wrong = f"Entity type {kind} cannot appear more than once in the filter."
        elif kind not in tuple(QuotaEntityType):
            return ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}"
        elif component.match_type == MatchType.EXACT and component.match is None:
            wrong = "Request specified MATCH_TYPE_EXACT, but set match string to null."
        elif component.match_type == MatchType.DEFAULT and component.match is not None:
            wrong = "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."
        elif component.match_type == MatchType.ANY and component.match is not None:
            wrong = "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string."
        elif component.match_type not in tuple(MatchType):
            wrong = f"Unknown match type {component.match_type}"
        if wrong is not None:
            return ErrorCode.INVALID_REQUEST, wrong
        named.add(kind)
    if QuotaEntityType.IP in named and len(named) > 1:
        message = (
            "Invalid entity filter component combination. "
            "IP filter component should not be used with user or clientId filter component."
        )
        return ErrorCode.INVALID_REQUEST, message
    return None
