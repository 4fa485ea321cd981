"""Files that nobody recorded, offered as recordings."""

from __future__ import annotations

import base64
import gzip
import io
import json
import zipfile
from typing import Any

from tests.hostile.inputs import SCRIPTS


def trace_files(good: bytes) -> dict[str, bytes]:
    """Files that are offered as a recording; `good` is one that opens."""
    text = gzip.decompress(good)
    value = json.loads(text)
    lane = value["snapshot"]["normal"]
    bombs = io.BytesIO()
    with zipfile.ZipFile(bombs, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../hostile.json", b"0" * 5_000_000)

    def changed(**changes: Any) -> bytes:
        return json.dumps({**value, **changes}).encode("utf-8", "surrogatepass")

    def in_lane(**changes: Any) -> bytes:
        snapshot = {**value["snapshot"], "normal": {**lane, **changes}}
        return changed(snapshot=snapshot)

    return {
        "nothing": b"",
        "null": b"null",
        "a list": b"[]",
        "a number": b"1e999",
        "html": SCRIPTS[0].encode(),
        "a pickle": b"\x80\x04\x95cos\nsystem\n(S'touch /tmp/hostile'\ntR.",
        "yaml": b"!!python/object/apply:os.system ['touch /tmp/hostile']",
        "an entity bomb": b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>',
        "a zip bomb": bombs.getvalue(),
        "a gzip bomb": gzip.compress(b"0" * 80_000_000, 1),
        "a gzip of a gzip": gzip.compress(good),
        "a cut gzip": good[: len(good) // 2],
        "a gzip of nothing": gzip.compress(b""),
        "a bad checksum": good[:-8] + b"\x00" * 8,
        "gzip's magic alone": b"\x1f\x8b",
        "broken UTF-8": text[:200] + b"\xff\xfe" + text[200:],
        "UTF-16": text.decode().encode("utf-16"),
        "cut JSON": text[:500],
        "deep nesting": b"[" * 100_000,
        "a deep lane": text[:-1] + b',"x":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        "two roots": text + text,
        "NaN": in_lane(text=float("nan")),
        "a later version": changed(version=2),
        "another format": changed(format="other"),
        "no title": changed(title=None),
        "a title that runs": changed(title=SCRIPTS[0]),
        "a title of half a character": changed(title="\ud800"),
        "a date that is none": changed(recorded_at=SCRIPTS[1]),
        "models that are paths": changed(models=[{"name": "/etc/passwd", "sha256": "../x"}]),
        "a huge number": text.replace(b'"seed":42', b'"seed":' + b"9" * 5000),
        "negative seconds": text.replace(b'"draft_seconds":', b'"draft_seconds":-'),
        "no rounds": in_lane(trace={**lane["trace"], "rounds": []}),
        "no pieces": in_lane(pieces=[]),
        "memory of text": in_lane(memory=[{"seconds": "x"}]),
        "an unknown outcome": text.replace(b'"normal"', b'"hostile"'),
    }


def as_message(data: bytes) -> dict[str, str]:
    """A file as the page sends it."""
    return {"data": base64.b64encode(data).decode("ascii")}
