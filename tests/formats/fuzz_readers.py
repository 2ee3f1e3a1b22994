"""Coverage-guided fuzzing of the readers: each for some seconds, several at once; nothing but our errors comes out.

Run by ``make fuzz`` or, for some formats and another time, by hand::

    python tests/formats/fuzz_readers.py --seconds 60 webdataset parquet

A finding is printed with its traceback, and the input that made it is kept in the folder that the last line names.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["clipstore.formats", "tarfile", "csv", "json"]):
    from clipstore.formats import Hints, embedded_images, format_names, read_captions, read_references

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from format_examples import CASES, LLAVA, make_tar

from clipstore.errors import ClipstoreError

TEN_MINUTES = 600
MOST_BYTES = 4096
SECONDS_AN_INPUT = 20
MOST_MEMORY = 4096
WORDS = (
    "image_id",
    "caption",
    "images",
    "annotations",
    "sentences",
    "null",
    "1e999",
    "NaN",
    "\\ud800",
    "ustar",
    "PAR1",
)


def main() -> int:
    """Fuzz the named formats, or all of them; return 1 where one let something else out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=f"of {', '.join(format_names())}; all of them")
    parser.add_argument("--seconds", type=int, default=TEN_MINUTES, help="for each format (600)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="formats at once")
    parser.add_argument("--one", metavar="FOLDER", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        _fuzz(asked.formats[0], Path(asked.one), asked.seconds)
    folder = Path(tempfile.mkdtemp(prefix="clipstore-fuzz-"))
    with ThreadPoolExecutor(asked.jobs) as pool:
        sound = list(pool.map(lambda name: _in_a_process(name, folder, asked.seconds), asked.formats or format_names()))
    sys.stdout.write(
        f"{sum(sound)} of {len(sound)} readers let nothing but our errors out; inputs and logs: {folder}\n"
    )
    return 0 if all(sound) else 1


def _in_a_process(name: str, folder: Path, seconds: int) -> bool:
    """Fuzz one format in a process of its own, since a crash ends it; print its line."""
    place = folder / name
    place.mkdir()
    command = [sys.executable, __file__, name, "--seconds", str(seconds), "--one", str(place)]
    log = folder / f"{name}.log"
    with log.open("wb") as out:
        ended = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False, cwd=place)
    said = log.read_text(errors="replace")
    done = re.search(r"Done (\d+) runs? in (\d+) second", said)
    if ended.returncode or not done:
        sys.stdout.write(f"{name}: exit {ended.returncode}\n{said[-3000:]}\n")
        sys.stdout.flush()
        return False
    sys.stdout.write(f"{name}: {int(done[1]):,} inputs in {done[2]} s, nothing but our errors\n")
    return True


def _fuzz(name: str, place: Path, seconds: int) -> None:
    """Fuzz one format in this process until the time is over; never returns."""
    warnings.simplefilter("ignore")
    hints = _hints(name, place)
    corpus = place / "corpus"
    corpus.mkdir()
    for seed in _seeds(name):
        for which in range(len(hints)):
            whole = bytes([which]) + seed
            (corpus / hashlib.sha256(whole).hexdigest()[:16]).write_bytes(whole)
    words = place / "words"
    words.write_text("".join(f'"{word}"\n'.replace("\\", "\\\\") for word in WORDS))

    def once(data: bytes) -> None:
        which, given = (data[0] if data else 0) % len(hints), data[1:]
        for read in (read_captions, read_references, _images):
            try:
                read(given, hints[which])
            except ClipstoreError:
                continue

    limits = [f"-max_total_time={seconds}", f"-max_len={MOST_BYTES}", f"-timeout={SECONDS_AN_INPUT}"]
    memory = [f"-rss_limit_mb={MOST_MEMORY}", f"-dict={words}", f"-artifact_prefix={place}/"]
    atheris.Setup([sys.argv[0], *limits, *memory, str(corpus)], once)
    atheris.Fuzz()


def _images(given: bytes, hints: Hints) -> None:
    for _ in embedded_images(given, hints):
        pass


def _hints(name: str, place: Path) -> list[Hints]:
    """Return what a user may say of a file of the format: the format's name, nothing, columns, ids by row, questions."""
    order, questions = place / "order.txt", place / "questions.jsonl"
    order.write_text("a.jpg\nb.jpg\n")
    questions.write_text('{"question_id":0,"image":"a.jpg","text":"Caption this."}\n')
    named = Hints(input_format=name)
    own = [replace(case.hints, input_format=name) for case in CASES if case.name == name and case.hints != Hints()]
    columns = replace(named, image_col="image", caption_col="caption", score_col="score")
    rows = replace(named, id_key="row", order=order)
    return [
        named, Hints(), *own, columns, replace(named, image_col="a", caption_col="b", shared=True),
        replace(named, order=order), rows, replace(named, questions=questions), replace(named, num_candidates=2),
        replace(named, split="test,restval"),
    ]  # fmt: skip


def _seeds(name: str) -> list[bytes]:
    """Return the format's examples and their malformed twins, plain and compressed."""
    texts = [text.encode() for case in CASES if case.name == name for text in (case.text, case.twin)]
    if name == "parquet":
        rows = {"image": [{"bytes": b"x", "path": None}], "caption": [["a cat", "a dog"]], "scores": [[-1.0, -2.0]]}
        texts.extend(_parquet(columns) for columns in (rows, {"image_id": [1], "caption": ["a cat"], "score": [-1.0]}))
    elif name == "webdataset":
        texts.append(make_tar({"1.jpg": b"\xff\xd8\xff", "1.txt": b"a cat", "1.json": b'{"caption":"x"}'}))
    elif name in {"lines", "llava"}:
        texts.append(b"a cat\na dog\n" if name == "lines" else LLAVA.encode())
    return texts + [pack(text) for text in texts for pack in (gzip.compress, zstandard.compress)]


def _parquet(columns: dict[str, list[object]]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


if __name__ == "__main__":
    sys.exit(main())
