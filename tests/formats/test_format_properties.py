"""What holds for any input: order is no information, and only our errors come out."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard
from format_examples import CASES, make_tar
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clipstore.errors import ClipstoreError
from clipstore.formats import (
    Hints,
    embedded_images,
    format_names,
    match,
    match_keys,
    read_captions,
    read_references,
)

EXAMPLES = int(os.environ.get("CLIPSTORE_FUZZ_EXAMPLES", "60"))
BOUNDED = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])

TAR = make_tar({"1.jpg": b"\xff\xd8\xff", "1.txt": b"a cat", "1.json": b'{"caption":"x","status":"success"}'})


def _parquet() -> bytes:
    """Return a Parquet file with an image's bytes, a list of captions and a score."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"image": [{"bytes": b"x", "path": None}], "caption": [["a cat", "a dog"]], "scores": [[-1.0, -2.0]]}
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


PARQUET = _parquet()
TEXTS = st.text(max_size=12)
KEYS = st.one_of(
    st.sampled_from(
        [
            "image_id",
            "caption",
            "images",
            "annotations",
            "id",
            "file_name",
            "captions",
            "scores",
            "score",
            "text",
            "custom_id",
            "response",
            "body",
            "choices",
            "question_id",
            "model_id",
            "sentences",
            "raw",
            "split",
            "cocoid",
            "imgblobs",
            "img_path",
            "candidatelist",
            "candidate",
            "image",
            "rank",
            "system",
            "prediction",
            "img_id",
            "sequences",
            "image_ids",
            "sequences_scores",
            "domain",
            "is_rejected",
            "filename",
            "status_code",
            "message",
        ]
    ),
    TEXTS,
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=20
)
ROWS = st.lists(st.dictionaries(KEYS, JSON, min_size=1, max_size=5), min_size=1, max_size=4)


def only_ours(read: Callable[[], object]) -> None:
    """Run; our own errors are answers, anything else fails the test."""
    with contextlib.suppress(ClipstoreError):
        read()


@BOUNDED
@given(value=st.one_of(JSON, ROWS), name=st.sampled_from([None, *format_names()]))
def test_any_json_gives_captions_or_one_of_our_errors(value: object, name: str | None) -> None:
    """Whatever JSON holds, under every format's name, no traceback but ours comes out."""
    data = json.dumps(value).encode()
    only_ours(lambda: read_captions(data, Hints(input_format=name)))
    only_ours(lambda: read_references(data, Hints(input_format=name)))


@BOUNDED
@given(rows=ROWS, name=st.sampled_from([None, *format_names()]))
def test_any_python_rows_give_captions_or_one_of_our_errors(rows: list[dict[str, object]], name: str | None) -> None:
    """The same for rows that never were JSON, such as unhashable ids."""
    only_ours(lambda: read_captions(rows, Hints(input_format=name)))
    only_ours(lambda: read_references(rows[0], Hints(input_format=name)))


@BOUNDED
@given(
    data=st.one_of(
        st.binary(max_size=200),
        st.text(alphabet='a#0\t,|"\n\r;.jpg image caption{}[]:', max_size=120).map(str.encode),
        st.binary(max_size=60).map(lambda tail: b"\x1f\x8b" + tail),
        st.binary(max_size=60).map(lambda tail: b"\x28\xb5\x2f\xfd" + tail),
        st.binary(max_size=60).map(lambda tail: b"PAR1" + tail + b"PAR1"),
        st.binary(max_size=700).map(lambda tail: b"a.txt" + b"\0" * 252 + b"ustar" + tail),
    ),
    name=st.sampled_from([None, *format_names()]),
)
def test_any_bytes_give_captions_or_one_of_our_errors(data: bytes, name: str | None) -> None:
    """Noise, near-CSV, and noise after the magic bytes of gzip, zstd, Parquet and tar."""
    only_ours(lambda: read_captions(data, Hints(input_format=name)))


@st.composite
def damaged(draw: st.DrawFn) -> tuple[bytes, Hints]:
    """Draw a real example with a few bytes changed, cut out, put in, or its end cut off."""
    case = draw(st.sampled_from(CASES))
    text = case.text.encode()
    packed = [gzip.compress(text, mtime=0), zstandard.compress(text)]
    data = draw(st.sampled_from([text, *packed, TAR, PARQUET]))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        cut = draw(st.one_of(st.integers(0, 6), st.just(len(data))))
        put = draw(
            st.sampled_from(
                [
                    b"",
                    b"\0",
                    b"\xff",
                    b'"',
                    b"{",
                    b"]",
                    b",",
                    b"null",
                    b"1e999",
                    b"NaN",
                    b"\t",
                    b"\n",
                    b"[]",
                    b'"\\ud800"',
                ]
            )
        )
        data = data[:at] + put + data[at + cut :]
    names = st.one_of(st.none(), KEYS)
    columns = {name: draw(names) for name in ("image_col", "caption_col", "score_col")} if draw(st.booleans()) else {}
    return data, replace(case.hints, **columns, shared=draw(st.booleans()))


@BOUNDED
@given(case=damaged())
def test_damage_to_an_example_gives_captions_or_one_of_our_errors(case: tuple[bytes, Hints]) -> None:
    """An example of any format with a few bytes damaged."""
    data, hints = case
    only_ours(lambda: read_captions(data, hints))
    only_ours(lambda: read_references(data, hints))
    only_ours(lambda: list(embedded_images(data, hints)))


@settings(parent=BOUNDED, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(name=TEXTS.filter(bool))
def test_any_path_gives_captions_or_one_of_our_errors(name: str, tmp_path: Path) -> None:
    """Paths with odd characters, wildcards and nulls are input errors."""
    only_ours(lambda: read_captions(f"{tmp_path}/x{name}"))


@st.composite
def sets(draw: st.DrawFn) -> tuple[list[dict[str, object]], list[str], Callable[[list[object]], list[object]]]:
    """Draw caption rows, image files, and a shuffle."""
    numbers = draw(st.lists(st.integers(0, 10**6), min_size=1, max_size=8, unique=True))
    files = [f"COCO_val2014_{number:012d}.jpg" for number in numbers]
    dress: Callable[[int], str | int] = draw(
        st.sampled_from(
            [int, str, lambda number: f"COCO_val2014_{number:012d}", lambda number: f"v/COCO_val2014_{number:012d}.jpg"]
        )
    )
    rows: list[dict[str, object]] = [{"image_id": dress(number), "caption": f"about {number}"} for number in numbers]
    return rows, files, lambda values: draw(st.permutations(values))


@BOUNDED
@given(case=sets())
def test_shuffling_rows_or_files_moves_no_caption_to_another_image(
    case: tuple[list[dict[str, object]], list[str], Callable[[list[object]], list[object]]],
) -> None:
    """Both id -> caption and id -> image are the same for every order of rows and of files."""
    rows, files, shuffle = case
    captions = read_captions(rows)
    other = read_captions(shuffle(list(rows)))  # type: ignore[arg-type]
    assert dict(zip(captions.ids, captions.texts, strict=True)) == dict(zip(other.ids, other.texts, strict=True))
    before = match(captions.ids, files)
    after = match(other.ids, shuffle(list(files)))  # type: ignore[arg-type]
    assert (before.kind, before.by_id()) == (after.kind, after.by_id())
    for text, path in zip(captions.texts, before.paths, strict=True):
        assert path == f"COCO_val2014_{int(text.split()[1]):012d}.jpg"
    keys = match_keys(other.ids, files)
    assert keys.by_id() == after.by_id()


@BOUNDED
@given(
    ids=st.lists(st.one_of(st.integers(-5, 50), TEXTS), max_size=6),
    files=st.lists(TEXTS.filter(bool), max_size=6, unique=True),
)
def test_matching_pairs_each_image_at_most_once(ids: list[str | int], files: list[str]) -> None:
    """No two ids ever share an image, and nothing but our errors comes out."""
    with contextlib.suppress(ClipstoreError):
        found = match(ids, files, missing="skip")
        paths = list(found.by_id().values())
        assert len(set(paths)) == len(paths)
    with contextlib.suppress(ClipstoreError):
        matched = match_keys(ids, files, missing="skip")
        keys = list(matched.by_id().values())
        assert len(set(keys)) == len(keys)
