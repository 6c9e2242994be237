"""Answers are compressed as the client accepts it, whole or as a stream, and read back byte for byte."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import zstandard
from django.contrib.staticfiles import finders
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import Client, RequestFactory

from kschedweb.cluster import clock, services
from kschedweb.common.compression import accepted, compression
from kschedweb.environment import ROOT
from tests.web.rest import items, logged_in, node, pod, upload

LINES = [f'{{"pod": "default/web-{number}"}}\n'.encode() * 50 for number in range(200)]


def unpacked(encoding: str | None, content: bytes) -> bytes:
    if encoding == "zstd":
        return zstandard.ZstdDecompressor().decompressobj().decompress(content)
    if encoding == "gzip":
        # As a browser does: what follows the first member is not read.
        return zlib.decompressobj(wbits=31).decompress(content)
    return content


@pytest.mark.parametrize(
    ("header", "codec"),
    [
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip, deflate", "gzip"),
        ("zstd;q=0, gzip;q=0.5", "gzip"),
        ("gzip; q=0.000", None),
        ("br", None),
        ("identity", None),
        ("", None),
    ],
)
def test_codec_is_the_best_that_the_client_accepts(header: str, codec: str | None) -> None:
    assert accepted(header) == codec


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("codec", ["zstd", "gzip"])
def test_snapshot_is_a_fifth_of_its_length_when_the_client_accepts_that(
    codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = clock.wall_us()
    monkeypatch.setattr(clock, "now_of", lambda cluster_id: now)
    cluster, client = services.cluster_create(name="c"), logged_in()
    upload(client, cluster, items(node(), *(pod(f"p{number}") for number in range(300))))
    plain = client.get(f"/api/clusters/{cluster.pk}/snapshot")
    assert not plain.has_header("Content-Encoding")
    packed = client.get(f"/api/clusters/{cluster.pk}/snapshot", HTTP_ACCEPT_ENCODING=codec)
    assert packed["Content-Encoding"] == codec
    assert "Accept-Encoding" in packed["Vary"]
    assert len(packed.content) < len(plain.content) / 5
    assert unpacked(codec, packed.content) == plain.content


@pytest.mark.django_db
def test_what_fits_a_packet_is_left_alone() -> None:
    assert not logged_in().get("/api/clusters", HTTP_ACCEPT_ENCODING="gzip").has_header("Content-Encoding")


def lines() -> Iterator[bytes]:
    yield from LINES


async def lines_async() -> AsyncIterator[bytes]:
    for line in LINES:
        yield line


@pytest.mark.parametrize("codec", ["zstd", "gzip"])
@pytest.mark.parametrize("source", [lines, lines_async], ids=["sync", "async"])
def test_stream_is_one_compressed_stream(source: Callable[[], Any], codec: str) -> None:
    """Were each chunk compressed for itself, browsers would show the first and drop the rest."""

    def view(request: HttpRequest) -> StreamingHttpResponse:
        return StreamingHttpResponse(source(), content_type="text/csv")

    request = RequestFactory().get("/api/clusters/1/export/attempts.csv", HTTP_ACCEPT_ENCODING=codec)
    answer = compression(view)(request)
    assert isinstance(answer, StreamingHttpResponse) and answer["Content-Encoding"] == codec

    async def read() -> list[bytes]:
        return [piece async for piece in answer.__aiter__()]

    pieces = asyncio.run(read()) if answer.is_async else list(answer.streaming_content)  # type: ignore[arg-type]
    assert len(pieces) > 1, "memory must not grow with the length of a download"
    assert unpacked(codec, b"".join(pieces)) == b"".join(LINES)


@pytest.mark.django_db
def test_static_files_are_compressed_and_pictures_are_not() -> None:
    # Of a package: nobody compressed it beforehand. Of the dashboard: its build did.
    css = Client().get("/static/admin/css/base.css", HTTP_ACCEPT_ENCODING="gzip")
    assert css["Content-Encoding"] == "gzip"
    assert css.get("ETag", "W/").startswith("W/")
    found = finders.find("admin/css/base.css")
    assert isinstance(found, str)
    with open(found, "rb") as file:
        assert gzip.decompress(b"".join(css.streaming_content)) == file.read()  # type: ignore[attr-defined]
    png = Client().get("/static/drf_spectacular_sidecar/swagger-ui-dist/favicon-32x32.png", HTTP_ACCEPT_ENCODING="gzip")
    assert png.status_code == 200 and not png.has_header("Content-Encoding")


@pytest.mark.django_db
def test_refusals_and_pages_are_left_alone() -> None:
    client = Client()
    for path in ("/login", "/api/clusters/1/snapshot", "/static/nothing.css", "/admin/login/"):
        assert not client.get(path, HTTP_ACCEPT_ENCODING="gzip, zstd").has_header("Content-Encoding"), path


def test_etag_is_weak_once_the_bytes_are_others() -> None:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(b"x" * 5_000, content_type="text/css", headers={"ETag": '"1"'})

    answer = compression(view)(RequestFactory().get("/static/a.css", HTTP_ACCEPT_ENCODING="gzip"))
    assert answer["ETag"] == 'W/"1"'


@pytest.mark.django_db
def test_dashboard_is_sent_as_its_build_compressed_it() -> None:
    assets = ROOT / "frontend" / "dist" / "assets"
    found = [path for path in assets.iterdir() if path.suffix in (".js", ".css")]
    assert found
    for path in found:
        packed = path.with_name(f"{path.name}.gz").read_bytes()
        assert gzip.decompress(packed) == path.read_bytes(), path.name
        if len(packed) >= path.stat().st_size:
            continue  # of a few letters: not sent
        answer = Client().get(f"/static/assets/{path.name}", HTTP_ACCEPT_ENCODING="gzip, deflate, br, zstd")
        assert answer["Content-Encoding"] == "gzip", path.name
        assert b"".join(answer.streaming_content) == packed  # type: ignore[attr-defined]
        assert "immutable" in answer["Cache-Control"]
