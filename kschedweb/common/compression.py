"""Compresses answers with zstd or gzip, whichever the client accepts, except those that may hold a secret.

Compressed: GET answers below PATHS whose content is text. Never compressed: everything else (pages with a CSRF token,
tokens, the login), and answers of views with `holds_secrets = True` (manifests and scheduler configurations). The
length of a compressed answer tells whether a guess that was put into it occurs in it twice (the BREACH attack), so a
secret must not share an answer with what others can influence.

Works on whole answers and on streams, in the thread that made them or in one of its own, never on the event loop; both
codecs release the interpreter's lock meanwhile.
"""

import asyncio
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from typing import Protocol, cast

import zstandard
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

PATHS = ("/api/clusters", "/api/lists", "/api/schema", "/metrics", "/static/")
TEXT = (
    "text/",
    "application/json",
    "application/x-ndjson",
    "application/vnd.oai.openapi",
    "application/openmetrics-text",
    "application/javascript",
    "image/svg+xml",
)
SMALLEST_BYTES = 1_024  # what fits one packet gains nothing
ZSTD_LEVEL, GZIP_LEVEL = 3, 6

Handler = Callable[[HttpRequest], HttpResponseBase]


class Compressor(Protocol):
    def compress(self, data: bytes) -> bytes: ...
    def flush(self) -> bytes: ...


# In the order of preference: zstd takes a quarter of the time.
CODECS: dict[str, Callable[[], Compressor]] = {
    "zstd": lambda: cast(Compressor, zstandard.ZstdCompressor(level=ZSTD_LEVEL).compressobj()),
    "gzip": lambda: zlib.compressobj(GZIP_LEVEL, wbits=zlib.MAX_WBITS | 16),
}


def compression(get_response: Handler) -> Handler:
    """Middleware; belongs outside of what makes content, static files included."""

    def respond(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if not _may_compress(request, response):
            return response
        patch_vary_headers(response, ("Accept-Encoding",))
        codec = accepted(request.headers.get("Accept-Encoding", ""))
        if codec is not None:
            _compress(response, CODECS[codec]())
            response.headers["Content-Encoding"] = codec
            etag = response.headers.get("ETag", "")
            if etag.startswith('"'):
                response.headers["ETag"] = f"W/{etag}"  # other bytes, the same content
        return response

    return respond


def accepted(header: str) -> str | None:
    """The best codec that an Accept-Encoding header allows; None when there is none."""
    offered = set()
    for part in header.lower().split(","):
        name, _, quality = part.partition(";")
        if quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
            offered.add(name.strip())
    return next((name for name in CODECS if name in offered), None)


def _may_compress(request: HttpRequest, response: HttpResponseBase) -> bool:
    if request.method != "GET" or response.status_code != 200 or not request.path.startswith(PATHS):
        return False
    if response.has_header("Content-Encoding") or not response.headers.get("Content-Type", "").startswith(TEXT):
        return False
    if isinstance(response, HttpResponse) and len(response.content) < SMALLEST_BYTES:
        return False
    view = getattr(request.resolver_match and request.resolver_match.func, "cls", None)
    return not getattr(view, "holds_secrets", False)


def _compress(response: HttpResponseBase, compressor: Compressor) -> None:
    if isinstance(response, StreamingHttpResponse):
        if response.is_async:
            response.streaming_content = _stream_async(
                cast(AsyncIterable[bytes], response.streaming_content), compressor
            )
        else:
            response.streaming_content = _stream(cast(Iterable[bytes], response.streaming_content), compressor)
        del response.headers["Content-Length"]
    elif isinstance(response, HttpResponse):
        response.content = compressor.compress(response.content) + compressor.flush()
        if response.has_header("Content-Length"):
            response.headers["Content-Length"] = str(len(response.content))


def _stream(chunks: Iterable[bytes], compressor: Compressor) -> Iterator[bytes]:
    for chunk in chunks:
        if piece := compressor.compress(chunk):
            yield piece
    yield compressor.flush()


async def _stream_async(chunks: AsyncIterable[bytes], compressor: Compressor) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        if piece := await asyncio.to_thread(compressor.compress, chunk):
            yield piece
    yield compressor.flush()
