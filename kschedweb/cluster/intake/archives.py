"""The texts of an upload: files as they are, and what stands in tar archives, which may stand in each other.

Of an archive, and of a folder that `./ksched import` packs into one, files named as manifests or as archives are
opened. Others are counted and passed over, as are links and devices.
"""

import io
import re
import tarfile
from collections import Counter
from collections.abc import Iterator

from kschedweb.cluster.intake import files
from kschedweb.cluster.intake.files import TextFile, Upload
from kschedweb.cluster.intake.limits import Limits
from kschedweb.cluster.intake.problems import Place, Refusals, UnreadableError, UploadTooLargeError

# What is passed over, as reports name it.
FILES, LOGS = "files", "logs"
MOST_NESTED = 3
# macOS writes a file that begins so beside each of its own into archives.
_READ = re.compile(r"(?!\._).*\.(?:(?:ya?ml|json)(?:\.gz)?|tar|tar\.gz|tgz)", re.IGNORECASE)
_MAGIC = slice(257, 262)
_BLOCK = 512
_END = 2 * _BLOCK
_CONTENT = re.compile(rb"[^\0]")


def is_read(name: str) -> bool:
    """Whether a file of this name in a folder or archive is opened."""
    return _READ.fullmatch(name.rpartition("/")[2]) is not None


class Opening:
    """Opens the files of one upload within its limits; notes what cannot be opened, counts what is passed over."""

    def __init__(self, limits: Limits, refused: Refusals) -> None:
        self.passed_over: Counter[str] = Counter()
        self._limits = limits
        self._refused = refused
        self._unpacked = self._members = 0

    def texts(self, upload: Upload, depth: int = 0) -> Iterator[TextFile]:
        """The file itself, or what its archive holds; UploadTooLargeError."""
        place = Place(upload.name)
        with self._refused.noting():
            content = files.unpacked(upload, self._limits)
            self._unpacked += len(content)
            self._limit(place, self._unpacked, self._limits.unpacked_bytes, "unpacks to more than {:,} bytes")
            if len(content) >= _END and not content.strip(b"\0"):
                return  # an archive of nothing is its end alone
            if content[_MAGIC] != b"ustar":
                text = files.text_of(upload.name, content)
                self.passed_over[LOGS] += text.logs
                yield text
            elif depth == MOST_NESTED:
                raise UnreadableError(place, f"is an archive in {MOST_NESTED} others; no more are opened")
            else:
                for member in self._archived(upload.name, content):
                    yield from self.texts(member, depth + 1)

    def _archived(self, archive: str, content: bytes) -> Iterator[Upload]:
        """The files of an archive, or of several one after another, that are to be opened.

        UnreadableError where one is unsound or has no end: what is missing would be missed by nobody.
        """
        place, file = Place(archive), io.BytesIO(content)
        while (begin := _CONTENT.search(content, file.tell())) is not None:
            file.seek(begin.start())
            try:
                with tarfile.open(fileobj=file, mode="r:") as tar:
                    for member in tar:
                        yield from self._opened(archive, tar, member)
            except (tarfile.TarError, OSError, ValueError, OverflowError) as error:
                raise UnreadableError(place, f"is not a sound tar file: {error}") from None
            file.seek(tar.offset)
            if file.read(_BLOCK) != bytes(_BLOCK):
                detail = f"is not a sound tar file: at byte {tar.offset:,} stands neither a header nor the end"
                raise UnreadableError(place, detail)

    def _opened(self, archive: str, tar: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[Upload]:
        """A file of an archive, if it is to be opened."""
        place = Place(archive)
        self._members += 1
        self._limit(place, self._members, self._limits.archive_files, "has more than {:,} files in archives")
        name = files.shown(member.name.removeprefix("./").lstrip("/"))
        if member.isreg() and is_read(name):
            self._limit(place, member.size, self._limits.unpacked_bytes, "unpacks to more than {:,} bytes")
            file = tar.extractfile(member)
            yield Upload(f"{archive}/{name}", file.read() if file is not None else b"")
        elif not member.isdir():
            self.passed_over[FILES] += 1

    def _limit(self, place: Place, count: int, limit: int, what: str) -> None:
        if count > limit:
            raise UploadTooLargeError(place, what.format(limit), limit=limit)
