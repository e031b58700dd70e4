"""The public keys of who issues bearer tokens: from a file or over https, fetched off the event loop, kept, and looked at again."""

import asyncio
import logging
import ssl
import urllib.error
import urllib.request
from pathlib import Path

from millstream_runtime.world import World
from millstream_security.sasl.json_web_token import KeySet, KeySetError, TokenRules, UnknownKey, check_token
from millstream_security.sasl.oauthbearer import Claims, InvalidToken
from millstream_security.sasl.settings import BearerSettings

logger = logging.getLogger(__name__)

FETCH_TIMEOUT_S = 10.0
KEYS_MAX_BYTES = 1 << 20
RETRY_S = 10.0
"""Between two fetches, whoever asks for another: a token that names an unknown key costs the issuer nothing more."""
FILE_INTERVAL_S = 1.0


class BearerKeys:
    """Until the keys were read once nobody logs in by a token; after that the newest that could be read count."""

    def __init__(self, settings: BearerSettings, world: World) -> None:
        self._settings = settings
        self._world = world
        self._rules = TokenRules(
            settings.audiences, settings.issuer, settings.skew_ms, settings.scope_claim, settings.subject_claim
        )
        self._keys: KeySet | None = None
        self._content = b""
        self._wanted = asyncio.Event()

    def check(self, token: str, now_ms: int) -> Claims:
        if self._keys is None:
            raise InvalidToken("the issuer's keys have not been read yet")
        try:
            return check_token(token, self._keys, self._rules, now_ms)
        except UnknownKey:
            self._wanted.set()  # it may be new: whoever tries again finds it
            raise

    async def begin(self) -> None:
        await self._fetch()

    async def run(self) -> None:
        is_file = self._settings.keys_url.startswith("file:")
        interval_s = FILE_INTERVAL_S if is_file else self._settings.keys_refresh_ms / 1000
        while True:
            await asyncio.sleep(min(interval_s, RETRY_S))
            try:
                async with asyncio.timeout(max(0.0, interval_s - RETRY_S) if self._keys is not None else 0):
                    await self._wanted.wait()
            except TimeoutError:
                pass  # time to look again anyway
            self._wanted.clear()
            await self._fetch()

    async def _fetch(self) -> None:
        url = self._settings.keys_url
        try:
            content = await self._world.run_blocking(lambda: _read(url, self._settings.truststore))
            if content == self._content:
                return
            self._keys, self._content = KeySet.read(content), content
        except (OSError, KeySetError) as error:  # urllib's are OSErrors
            logger.warning("keys of bearer tokens not read url=%s reason=%s", url, error)
        else:
            logger.info("keys of bearer tokens read url=%s", url)


def _read(url: str, truststore: str | None) -> bytes:
    if url.startswith("file:"):
        return Path("/" + url.removeprefix("file:").lstrip("/")).read_bytes()
    context = ssl.create_default_context(cafile=truststore)
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), _NoRedirect())
    with opener.open(url, timeout=FETCH_TIMEOUT_S) as answer:
        content: bytes = answer.read(KEYS_MAX_BYTES + 1)
    if len(content) > KEYS_MAX_BYTES:
        raise KeySetError(f"more than {KEYS_MAX_BYTES} bytes")
    return content


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Another address is not the one that somebody wrote into the settings, and may not even be https."""

    def redirect_request(self, *_: object) -> None:
        return None
