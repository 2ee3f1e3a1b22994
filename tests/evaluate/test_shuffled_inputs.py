"""Order is no information: whatever layout captions and references come in, a shuffle changes no image's score."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import drawn
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clipstore as cs
from clipstore.formats import Hints, Row, write

COUNT = 6
Rows = Sequence[tuple[int, str]]


def lines(rows: list[object]) -> str:
    """Return JSON lines."""
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def batch(key: str, text: str) -> dict[str, object]:
    """Return one line of batch output."""
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}
    return {"custom_id": key, "response": {"status_code": 200, "body": body}, "error": None}


CAPTIONS: dict[str, Callable[[Rows], str]] = {
    "official": lambda rows: json.dumps({drawn.name(i): text for i, text in rows}),
    "coco": lambda rows: json.dumps([{"image_id": i, "caption": text} for i, text in rows]),
    "predictions": lambda rows: json.dumps(
        [{"img_id": f"{drawn.name(i)}.png", "prediction": [text]} for i, text in rows]
    ),
    "batch": lambda rows: lines([batch(str(i), text) for i, text in rows]),
    "beams": lambda rows: lines([{"image_id": i, "captions": [text], "scores": [-1]} for i, text in rows]),
    "imagefolder": lambda rows: lines([{"file_name": f"{drawn.name(i)}.png", "text": text} for i, text in rows]),
    "canonical": lambda rows: lines([{"image": drawn.name(i), "rank": 0, "caption": text} for i, text in rows]),
    "tokens": lambda rows: "".join(f"{drawn.name(i)}.png#0\t{text}\n" for i, text in rows),
    "csv": lambda rows: "image,caption\n" + "".join(f"{drawn.name(i)}.png,{text}\n" for i, text in rows),
    "llava": lambda rows: lines([{"question_id": i, "text": text, "model_id": "m"} for i, text in rows]),
    "lines": lambda rows: "".join(f"{text}\n" for _, text in rows),
    "parquet": lambda _: "",  # written by ``Bench.score``
}
REFERENCES: dict[str, Callable[[Rows], str]] = {
    "official": lambda rows: json.dumps({drawn.name(i): [text, f"{text} again"] for i, text in rows}),
    "annotations": lambda rows: json.dumps(
        {
            "images": [{"id": i, "file_name": f"{drawn.name(i)}.png"} for i, _ in rows],
            "annotations": [{"image_id": i, "caption": one} for i, text in rows for one in (f"{text} again", text)],
        }
    ),
    "karpathy": lambda rows: json.dumps(
        {
            "images": [
                {
                    "filename": f"{drawn.name(i)}.png",
                    "cocoid": i,
                    "split": "test",
                    "sentences": [{"raw": text}, {"raw": f"{text} again"}],
                }
                for i, text in rows
            ]
        }
    ),
    "tokens": lambda rows: "".join(
        f"{drawn.name(i)}.png#{n}\t{one}\n" for i, text in rows for n, one in enumerate((text, f"{text} again"))
    ),
}


@dataclass(frozen=True)
class Bench:
    """A folder to write to, a space, and what is expected of each image."""

    folder: Path
    space: cs.store.Space
    expected: dict[str, dict[int, float | None]]

    def score(self, captions: str, references: str, rows: Rows, refs: Rows) -> dict[str, dict[int, float | None]]:
        """Score rows in a layout against references in a layout, and return each image's numbers by its number."""
        path = self.folder / "captions.data"
        path.write_text(CAPTIONS[captions](rows))
        if captions == "parquet":
            write(path, [Row(f"{drawn.name(i)}.png", text) for i, text in rows], "parquet")
        (self.folder / "q.jsonl").write_text(
            lines([{"question_id": i, "image": f"{drawn.name(i)}.png"} for i, _ in refs])
        )
        (self.folder / "ids.txt").write_text("".join(f"{i}\n" for i, _ in rows))
        (self.folder / "refs.data").write_text(REFERENCES[references](refs))
        hints = Hints(questions=self.folder / "q.jsonl", order=self.folder / "ids.txt" if captions == "lines" else None)
        evalset = cs.EvalSet.read(images=self.folder / "images", refs=self.folder / "refs.data")
        found = cs.score(self.space, {"x": path}, evalset, hints=hints)["x"]
        number = {key: int("".join(filter(str.isdigit, str(key)))) for key in evalset.keys}
        return {
            name: {number[key]: value for key, value in one.to_dict().items()} for name, one in found.metrics.items()
        }


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Six drawn images, and the scores of their captions and references in order."""
    folder = tmp_path_factory.mktemp("bench")
    drawn.draw(folder / "images", COUNT)
    with cs.Store.open(folder / "store") as store:
        bench = Bench(folder, store.space("fake"), {})
        rows = [(i, f"caption of {i}") for i in range(COUNT)]
        refs = [(i, f"reference of {i}") for i in range(COUNT)]
        bench.expected.update(bench.score("official", "official", rows, refs))
        yield bench


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    captions=st.sampled_from(sorted(CAPTIONS)),
    references=st.sampled_from(sorted(REFERENCES)),
    order=st.permutations(range(COUNT)),
    other=st.permutations(range(COUNT)),
)
def test_a_shuffle_of_any_layout_changes_no_images_score(
    bench: Bench, captions: str, references: str, order: list[int], other: list[int]
) -> None:
    """Each image keeps its CLIP-S and RefCLIP-S to the last bit."""
    rows = [(i, f"caption of {i}") for i in order]
    refs = [(i, f"reference of {i}") for i in other]
    assert bench.score(captions, references, rows, refs) == bench.expected
