"""The client by the name that programs import it by; it lives in `millstream_client`."""

from millstream_client import *  # noqa: F403
from millstream_client import __all__ as __all__
