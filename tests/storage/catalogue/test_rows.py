"""Spaces, names, prompts, segments, settings, environments, runs and pair scores as rows."""

from __future__ import annotations

import numpy as np
import pytest
from small_stores import DIGEST, row_of, unit_vectors

from clipstore.errors import NotStored
from clipstore.storage import segments as segment_files
from clipstore.storage.catalogue import pairs, runs, segments, settings, spaces
from clipstore.storage.catalogue.runs import RunRow
from clipstore.storage.catalogue.spaces import AliasKey, AliasRow

OTHER = "ffeeddccbbaa9988"


def test_space_comes_back_as_registered_and_a_second_time_changes_nothing(catalogue):
    """A space keeps its fields, dimension and number format; registering it again does nothing."""
    with catalogue.write() as tx:
        spaces.register(tx, DIGEST, {"kind": "fake", "size": [1, 2]}, 16, "float16")
        spaces.register(tx, DIGEST, {"kind": "other"}, 99)
        spaces.register(tx, OTHER, {}, 8)
    with catalogue.read() as tx:
        first, second = spaces.all(tx)
        assert (first.digest, first.fields, first.dim, first.dtype) == (
            DIGEST,
            {"kind": "fake", "size": [1, 2]},
            16,
            "float16",
        )
        assert spaces.get(tx, OTHER) == second
        assert spaces.get(tx, "0" * 16) is None


def test_space_that_was_rebuilt_from_segments_learns_its_fields(catalogue):
    """A space without fields takes them from the next registration."""
    with catalogue.write() as tx:
        spaces.register(tx, DIGEST, {}, 16)
        spaces.register(tx, DIGEST, {"kind": "fake"}, 16)
        assert spaces.get(tx, DIGEST).fields == {"kind": "fake"}


def test_alias_is_found_by_all_its_parts_and_replaced(catalogue):
    """A name loads what it loaded last; names that differ in one part are different names."""
    key = AliasKey("ViT-B-32", "/w.pt", "fp32", "exact", "ignore")
    with catalogue.write() as tx:
        spaces.register(tx, DIGEST, {}, 16)
        spaces.register(tx, OTHER, {}, 16)
        spaces.set_alias(tx, AliasRow(key, DIGEST, 10, 20, 30))
        spaces.set_alias(tx, AliasRow(AliasKey("ViT-B-32"), OTHER))
        assert spaces.alias(tx, key) == AliasRow(key, DIGEST, 10, 20, 30)
        spaces.set_alias(tx, AliasRow(key, OTHER))
        assert spaces.alias(tx, key) == AliasRow(key, OTHER)
        assert spaces.alias(tx, AliasKey("ViT-B-32", "", "fp32")) is None
        assert len(spaces.aliases(tx)) == 2


@pytest.mark.parametrize(
    "action",
    [
        lambda tx: spaces.set_alias(tx, AliasRow(AliasKey("m"), OTHER)),
        lambda tx: spaces.add_prompt(tx, OTHER, "A photo depicts "),
    ],
)
def test_rows_of_an_unknown_space_are_refused(catalogue, action):
    """A name or prompt of a space that is not registered raises NotStored."""
    with pytest.raises(NotStored, match=OTHER), catalogue.write() as tx:
        action(tx)


def test_prompts_are_kept_once_each(catalogue):
    """Prefixes of a space are a set, the empty one included."""
    with catalogue.write() as tx:
        spaces.register(tx, DIGEST, {}, 16)
        for prefix in ("A photo depicts ", "", "A photo depicts "):
            spaces.add_prompt(tx, DIGEST, prefix)
        assert spaces.prompts(tx, DIGEST) == ["", "A photo depicts "]
        assert spaces.prompts(tx, OTHER) == []


def test_segments_are_listed_by_space_and_modality_in_commit_order(catalogue, tmp_path):
    """Segments come back whole, filtered as asked, in the order of their commits whatever their clock says."""
    rows = []
    for created, modality in ((9.0, "text"), (1.0, "image"), (5.0, "text")):
        file = segment_files.write(tmp_path / "files", np.arange(3), unit_vectors(3))
        rows.append(row_of(file, modality, created=created))
    with catalogue.write() as tx:
        spaces.register(tx, DIGEST, {}, 16)
        for row in rows:
            segments.add(tx, row)
        segments.add(tx, rows[0])
        assert segments.all(tx) == rows
        assert segments.all(tx, DIGEST, "text") == [rows[0], rows[2]]
        assert segments.all(tx, modality="image") == [rows[1]]
        assert segments.all(tx, OTHER) == []
        assert segments.remove(tx, [rows[0].name, "unknown"]) == 1
        assert segments.all(tx) == rows[1:]


def test_settings_and_environments(catalogue):
    """Settings are replaced by name; equal environments share one number."""
    with catalogue.write() as tx:
        settings.set(tx, "a", "1")
        settings.set(tx, "a", "2")
        assert (settings.get(tx, "a"), settings.get(tx, "b"), settings.all(tx)) == ("2", None, {"a": "2"})
        one = settings.environment(tx, {"torch": "2", "device": "cpu"})
        assert settings.environment(tx, {"device": "cpu", "torch": "2"}) == one
        two = settings.environment(tx, {"torch": "3"})
        assert settings.environments(tx) == {one: {"torch": "2", "device": "cpu"}, two: {"torch": "3"}}


def test_runs_keep_what_they_used_and_a_rerun_replaces(catalogue):
    """A run comes back with its JSON and its id arrays; the same run again has the newer result."""
    used = np.array([5, 2**63 - 1, 0], dtype=np.int64)
    row = RunRow("ab" * 16, "score", {"systems": ["α"]}, {"mean": 0.5}, used, used[:0], 1.5)
    with catalogue.write() as tx:
        runs.add(tx, row)
        runs.add(tx, RunRow(row.id, "score", row.request, {"mean": 0.75}, used, used[:1], 2.5))
        found = runs.get(tx, row.id)
        assert (found.verb, found.request, found.result, found.at) == ("score", {"systems": ["α"]}, {"mean": 0.75}, 2.5)
        assert found.used_texts.tolist() == used.tolist()
        assert found.used_images.tolist() == used[:1].tolist()
        assert [run.id for run in runs.all(tx)] == [row.id]
        assert runs.get(tx, "none") is None


def test_pair_scores_by_scorer_context_and_text(catalogue):
    """A pair's score comes back for its scorer only, NaN where there is none, in the order asked."""
    contexts, texts = np.arange(1000, dtype=np.int64), np.arange(1000, dtype=np.int64)[::-1].copy()
    values = np.linspace(0, 1, 1000, dtype=np.float32)
    values[3] = np.nan
    with catalogue.write() as tx:
        pairs.add(tx, "bleu", contexts, texts, values)
        pairs.add(tx, "bleu", contexts[:1], texts[:1], np.array([9], dtype=np.float32))
        pairs.add(tx, "cider", contexts[:1], texts[:1], np.array([7], dtype=np.float32))
        asked = np.array([5, 5, 0, 3, 999])
        found = pairs.get(tx, "bleu", contexts[asked], texts[asked])
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, values[asked])
        assert pairs.get(tx, "cider", contexts[:1], texts[:1]).tolist() == [7]
        assert np.isnan(pairs.get(tx, "bleu", contexts[:2], texts[1:3])).all()
        assert np.isnan(pairs.get(tx, "unknown", contexts[:2], texts[:2])).all()
