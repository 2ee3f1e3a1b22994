"""From captions and an eval set to numbers, through real small stores."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

import drawn
import numpy as np
import pytest
from drawn import Watched
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clipstore as cs
from clipstore import EvalSet, Store
from clipstore.encoders.fake import FakeEncoder
from clipstore.encoders.protocol import Fingerprint
from clipstore.errors import BadFormat, InputError, NotStored, Unpaired
from clipstore.evaluate import signatures
from clipstore.metrics import recipes
from clipstore.metrics.recipes import Recipe

N = 6
PREFIX = "A photo depicts "


@pytest.fixture
def evalset(tmp_path: Path) -> EvalSet:
    """Six drawn images with two references each, in a folder of eight."""
    return EvalSet.read(images=drawn.draw(tmp_path / "images", N + 2), refs=drawn.references(N))


def by_hand(evalset: EvalSet, captions: dict[str, str]) -> dict[str, tuple[float, float | None]]:
    """Return CLIP-S and RefCLIP-S of each item, straight from the encoder and the formula, in float64."""
    encoder = FakeEncoder()
    out = {}
    for item in evalset.items:
        texts = [PREFIX + text for text in (captions[item.key], *item.references)]
        image = encoder.encode_images([item.image.source.read_bytes()]).astype(np.float64)[0]
        caption, *references = encoder.encode_texts(texts).astype(np.float64)
        clip = 2.5 * max(float(image @ caption), 0.0)
        if not references:
            out[item.key] = (clip, None)
            continue
        best = max(max(float(caption @ one), 0.0) for one in references)
        out[item.key] = (clip, 2 * clip * best / (clip + best) if clip > 0 and best > 0 else 0.0)
    return out


def test_scores_are_the_formula_on_the_encoders_vectors(store: Store, evalset: EvalSet) -> None:
    """Each image's CLIP-S and RefCLIP-S equal the formula on fresh vectors within 1e-6, prefix on both sides."""
    captions = drawn.captions(N)
    scores = cs.score(store.space("fake"), {"mine": captions}, evalset)
    expected = by_hand(evalset, captions)
    for key, (clip, ref) in expected.items():
        assert scores["mine"].clip_s[key] == pytest.approx(clip, abs=1e-6)
        assert scores["mine"].ref_clip_s[key] == pytest.approx(ref, abs=1e-6)
    assert np.std(scores["mine"].clip_s.per_item) > 0.05
    assert scores["mine"].clip_s.mean == pytest.approx(sum(clip for clip, _ in expected.values()) / N, abs=1e-6)


def test_the_second_run_encodes_nothing_and_gives_the_same_bits(store: Store, evalset: EvalSet) -> None:
    """Everything is asked again, nothing is encoded, no encoder is loaded, and the numbers are equal bit for bit."""
    first = cs.score(store.space("fake"), {"mine": drawn.captions(N)}, evalset)
    assert (first.work.images.encoded, first.work.references.encoded, first.work.captions.encoded) == (N, 2 * N, N)
    again = cs.score(store.space("fake"), {"mine": drawn.captions(N)}, evalset, encode=False)
    assert again.work.encoded == 0
    assert again.work.seconds == 0
    np.testing.assert_array_equal(first["mine"].ref_clip_s.per_item, again["mine"].ref_clip_s.per_item)
    assert first.to_dict() == again.to_dict()


def test_one_more_system_costs_only_its_new_captions(store: Store, evalset: EvalSet) -> None:
    """Of a second system that shares captions with the first and with a reference, only the new ones are encoded."""
    encoder = Watched()
    space = store.custom_space(encoder, "mine")
    cs.score(space, {"a": drawn.captions(N)}, evalset)
    encoder.texts.clear()
    second = {**drawn.captions(N), drawn.name(0): "a new one", drawn.name(1): drawn.references(N)[drawn.name(2)][0]}
    scores = cs.score(space, {"a": drawn.captions(N), "b": second}, evalset)
    assert scores.work.captions.encoded == 1
    assert encoder.texts == ["a photo depicts a new one"]
    assert encoder.images == N
    assert scores.work.written == 2 * N
    assert list(scores) == ["a", "b"]


def test_files_that_nobody_names_are_never_encoded(store: Store, tmp_path: Path) -> None:
    """200 referenced images in a folder of 2,000 files: 200 are read and encoded, 1,800 are counted."""
    folder = drawn.draw(tmp_path / "many", 200)
    data = (folder / f"{drawn.name(0)}.png").read_bytes()
    for i in range(200, 2000):
        (folder / f"{drawn.name(i)}.png").write_bytes(data[:30])
    encoder = Watched()
    evalset = EvalSet.read(images=folder, refs=drawn.references(200))
    scores = cs.score(store.custom_space(encoder, "mine"), {"a": drawn.captions(200)}, evalset)
    assert encoder.images == scores.work.images.encoded == 200
    assert evalset.others == 1800
    assert scores.complete


def test_without_references_there_is_no_ref_clip_s(store: Store, tmp_path: Path) -> None:
    """A set without any reference has one metric; where only some images lack them, those are None and left out."""
    folder = drawn.draw(tmp_path / "images", 3)
    plain = cs.score(store.space("fake"), {"a": drawn.captions(3)}, EvalSet.read(images=folder))
    assert list(plain["a"].metrics) == ["clip-s"]
    assert list(plain.signatures) == ["clip-s"]
    refs = {**drawn.references(3), drawn.name(1): []}
    some = cs.score(store.space("fake"), {"a": drawn.captions(3)}, EvalSet.read(images=folder, refs=refs))["a"]
    assert some.ref_clip_s[drawn.name(1)] is None
    assert some.clip_s[drawn.name(1)] is not None
    assert some.ref_clip_s.n == 2
    assert some.ref_clip_s.mean == pytest.approx((some.ref_clip_s[drawn.name(0)] + some.ref_clip_s[drawn.name(2)]) / 2)
    assert some.per_image()[drawn.name(1)]["RefCLIPScore"] is None


def test_references_alone_change_nothing_of_clip_s(store: Store, tmp_path: Path) -> None:
    """CLIP-S is the same with and without references."""
    folder = drawn.draw(tmp_path / "images", 3)
    space = store.space("fake")
    without = cs.score(space, {"a": drawn.captions(3)}, EvalSet.read(images=folder))
    with_refs = cs.score(space, {"a": drawn.captions(3)}, EvalSet.read(images=folder, refs=drawn.references(3)))
    np.testing.assert_array_equal(without["a"].clip_s.per_item, with_refs["a"].clip_s.per_item)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(seed=st.integers(0, 2**32))
def test_shuffling_changes_no_images_score(store: Store, tmp_path: Path, seed: int) -> None:
    """Captions, references and reference files in any order give each image the same numbers (B16, U9)."""
    rng = random.Random(seed)

    def mixed(values: dict[str, object]) -> dict[str, object]:
        keys = list(values)
        rng.shuffle(keys)
        return {key: rng.sample(one, len(one)) if isinstance(one := values[key], list) else one for key in keys}

    folder = tmp_path / "images"
    if not folder.exists():
        drawn.draw(folder, N)
    space = store.space("fake")
    straight = cs.score(space, {"a": drawn.captions(N)}, EvalSet.read(images=folder, refs=drawn.references(N)))
    shuffled = cs.score(
        space, {"a": mixed(drawn.captions(N))}, EvalSet.read(images=folder, refs=mixed(drawn.references(N)))
    )
    assert shuffled["a"].clip_s.to_dict() == straight["a"].clip_s.to_dict()
    assert shuffled["a"].ref_clip_s.to_dict() == straight["a"].ref_clip_s.to_dict()
    assert str(shuffled.signatures["ref-clip-s"]) == str(straight.signatures["ref-clip-s"])
    assert shuffled["a"].captions == straight["a"].captions


def test_means_are_over_images(store: Store, evalset: EvalSet) -> None:
    """The system's RefCLIP-S is the mean of harmonic means, not the harmonic mean of the means."""
    scores = cs.score(store.space("fake"), {"a": drawn.captions(N)}, evalset)["a"]
    ref = scores.ref_clip_s.per_item.astype(np.float64)
    assert scores.ref_clip_s.mean == pytest.approx(ref.mean())
    clip = scores.clip_s.per_item.astype(np.float64)
    other = ref * clip / (2 * clip - ref)
    joined = 2 * clip.mean() * other.mean() / (clip.mean() + other.mean())
    assert abs(joined - scores.ref_clip_s.mean) > 1e-4


def test_skip_scores_what_both_have_and_says_so(store: Store, evalset: EvalSet) -> None:
    """The row says 5/6, the missing ids are listed, and the signature says missing:skip."""
    captions = drawn.captions(N)
    del captions[drawn.name(2)]
    with pytest.raises(Unpaired):
        cs.score(store.space("fake"), {"a": captions}, evalset)
    scores = cs.score(store.space("fake"), {"a": captions, "b": drawn.captions(N)}, evalset, missing="skip")
    assert (scores["a"].n, scores["a"].of) == (5, 6)
    assert (scores["b"].n, scores["b"].of) == (6, 6)
    assert scores["a"].clip_s[drawn.name(2)] is None
    assert scores["a"].clip_s.n == 5
    assert scores.missing == (drawn.name(2),)
    assert "|missing:skip|n:5-6/6|" in str(scores.signatures["clip-s"])
    alone = cs.score(store.space("fake"), {"a": captions}, evalset, missing="skip")
    assert "|missing:skip|n:5/6|" in str(alone.signatures["clip-s"])
    assert "5/6" in str(scores)
    assert drawn.name(2) not in scores["a"].per_image()


def test_skip_that_skips_nothing_is_no_other_score(store: Store, evalset: EvalSet) -> None:
    """Where everything has its partner, missing=skip leaves the signature alone."""
    space = store.space("fake")
    strict = cs.score(space, {"a": drawn.captions(N)}, evalset)
    lenient = cs.score(space, {"a": drawn.captions(N)}, evalset, missing="skip")
    assert strict.signatures == lenient.signatures


def test_the_sets_hash_does_not_depend_on_what_a_system_covers(store: Store, evalset: EvalSet) -> None:
    """The signature's set names the eval set: a caption that is missing changes coverage, not the set."""
    captions = drawn.captions(N)
    del captions[drawn.name(2)]
    space = store.space("fake")
    whole = cs.score(space, {"a": drawn.captions(N)}, evalset)
    part = cs.score(space, {"a": captions}, evalset, missing="skip")
    assert part.set_digest == whole.set_digest


def test_references_without_image_count_in_the_of(store: Store, tmp_path: Path) -> None:
    """Images that references name and the folder lacks are part of the n/of, and listed as missing."""
    folder = drawn.draw(tmp_path / "images", 4)
    evalset = EvalSet.read(images=folder, refs=drawn.references(6), missing="skip")
    scores = cs.score(store.space("fake"), {"a": drawn.captions(6)}, evalset, missing="skip")
    assert (scores["a"].n, scores["a"].of) == (4, 6)
    assert set(scores.missing) == {drawn.name(4), drawn.name(5)}
    assert "missing:skip" in str(scores.signatures["clip-s"])


def test_empty_captions_score_zero_when_asked(store: Store, evalset: EvalSet) -> None:
    """empty=zero gives 0 in both metrics, counts the image, encodes no empty text, and stands in the signature."""
    captions = {**drawn.captions(N), drawn.name(1): " "}
    with pytest.raises(InputError, match="1 caption is empty"):
        cs.score(store.space("fake"), {"a": captions}, evalset)
    scores = cs.score(store.space("fake"), {"a": captions}, evalset, empty="zero")
    assert scores["a"].clip_s[drawn.name(1)] == 0
    assert scores["a"].ref_clip_s[drawn.name(1)] == 0
    assert scores["a"].n == N
    assert scores.work.captions.encoded == N - 1
    assert "empty:zero" in str(scores.signatures["clip-s"])


def test_a_bad_image_is_named_and_the_rest_is_scored(store: Store, tmp_path: Path) -> None:
    """The failure is told, the others have numbers; a rerun with the file mended is complete."""
    folder = drawn.draw(tmp_path / "images", 3)
    good = (folder / f"{drawn.name(1)}.png").read_bytes()
    (folder / f"{drawn.name(1)}.png").write_bytes(good[:50])
    evalset = EvalSet.read(images=folder, refs=drawn.references(3))
    scores = cs.score(store.space("fake"), {"a": drawn.captions(3)}, evalset)
    assert not scores.complete
    assert [one.name for one in scores.failures] == [f"{drawn.name(1)}.png"]
    assert (scores["a"].n, scores["a"].of) == (2, 3)
    assert scores["a"].clip_s[drawn.name(1)] is None
    (folder / f"{drawn.name(1)}.png").write_bytes(good)
    mended = cs.score(store.space("fake"), {"a": drawn.captions(3)}, evalset)
    assert mended.complete
    assert mended.work.images.encoded == 1
    assert mended["a"].n == 3


def test_images_in_memory_are_scored(store: Store) -> None:
    """PIL images by id, plain dicts for captions and references; numbers come back under the same ids."""
    images = {1: drawn.picture(1), "two": drawn.picture(2)}
    evalset = EvalSet.read(images=images, refs={1: "one reference", "two": ["a", "b"]})
    scores = cs.score(store.space("fake"), {"a": {1: "x", "two": "y"}}, evalset)
    assert list(scores["a"].clip_s) == [1, "two"]
    assert type(scores["a"].clip_s[1]) is float
    assert cs.score(store.space("fake"), {"a": {1: "x", "two": "y"}}, evalset).work.encoded == 0


def test_no_encode_refuses_with_the_count(store: Store, evalset: EvalSet) -> None:
    """encode=False names how many are missing and leaves the store as it was."""
    with pytest.raises(NotStored, match=r"6 images have no vector of fake"):
        cs.score(store.space("fake"), {"a": drawn.captions(N)}, evalset, encode=False)
    assert store.counts().texts == 0


def test_captions_are_read_from_files_and_mistakes_are_placed(store: Store, evalset: EvalSet, tmp_path: Path) -> None:
    """A path is read by its format; duplicate keys, broken JSON and an empty file are refused with the place."""
    path = drawn.write_json(tmp_path / "a.json", drawn.captions(N))
    assert cs.score(store.space("fake"), {"a": path}, evalset)["a"].n == N
    path.write_text('{"a": "x",\n "b": "y",\n "a": "z"}')
    with pytest.raises(BadFormat, match=r"a\.json.*'a'"):
        cs.score(store.space("fake"), {"a": path}, evalset)
    path.write_text('{"a": "x",\n "b" "y"}')
    with pytest.raises(BadFormat, match=r"a\.json: invalid JSON at line 2, column 6"):
        cs.score(store.space("fake"), {"a": str(path)}, evalset)
    path.write_text("")
    with pytest.raises(BadFormat, match=r"a\.json: is empty"):
        cs.score(store.space("fake"), {"a": path}, evalset)


def test_long_captions_are_counted(store: Store, evalset: EvalSet) -> None:
    """Captions that do not fit are counted with their tokens, also when nothing is encoded any more (B6)."""
    captions = {**drawn.captions(N), drawn.name(0): "x " * 72, drawn.name(1): "x " * 73, drawn.name(2): "x " * 200}
    for _ in range(2):
        scored = cs.score(store.space("fake"), {"a": captions}, evalset)["a"]
        assert (scored.cut, scored.cut_tokens) == (2, 1 + 128)
        assert scored.clip_s[drawn.name(1)] is not None
    image = evalset.items[0].image.source.read_bytes()
    same = EvalSet.read(images={"a": image, "b": image, "c": image})
    three = cs.score(store.space("fake"), {"a": {"a": "x " * 72, "b": "x " * 73, "c": "x " * 200}}, same)["a"]
    assert len(set(three.clip_s.to_dict().values())) == 1


def test_special_strings_are_left_out_and_counted(store: Store, evalset: EvalSet) -> None:
    """A literal <|endoftext|> changes no score; it is counted and warned about."""
    plain = drawn.captions(N)
    special = {**plain, drawn.name(3): plain[drawn.name(3)] + "<|endoftext|>"}
    scores = cs.score(store.space("fake"), {"plain": plain, "special": special}, evalset)
    assert scores["special"].clip_s.to_dict() == scores["plain"].clip_s.to_dict()
    assert (scores["plain"].stripped, scores["special"].stripped) == (0, 1)
    assert any("special: special strings" in line for line in scores.warnings)


def test_mean_words_are_of_the_captions_as_they_came(store: Store, evalset: EvalSet) -> None:
    """Words are counted between blanks, without prefix."""
    captions = dict.fromkeys(evalset.keys, "one two three")
    captions[drawn.name(0)] = "six words stand in this caption"
    assert cs.score(store.space("fake"), {"a": captions}, evalset)["a"].words == pytest.approx((5 * 3 + 6) / 6)


def test_a_run_is_recorded_once_with_what_it_used(store: Store, evalset: EvalSet) -> None:
    """Every scoring leaves one row, content-addressed, that names the texts and images that it used."""
    from clipstore.storage.catalogue import runs

    for _ in range(2):
        cs.score(store.space("fake"), {"a": drawn.captions(N)}, evalset)
    with store.catalogue.read() as tx:
        (run,) = runs.all(tx)
    assert run.verb == "score"
    assert len(run.used_images) == N
    assert len(run.used_texts) == 3 * N
    assert run.result["systems"][0]["name"] == "a"


def test_a_saved_set_scores_without_its_files(store: Store, evalset: EvalSet, tmp_path: Path) -> None:
    """After saving, the same numbers and the same set hash come from the store alone, the images gone."""
    import shutil

    from clipstore.evalset import load_systems, save
    from clipstore.evaluate import score_systems
    from clipstore.formats import read_captions

    given = cs.score(store.space("fake"), {"a": drawn.captions(N)}, evalset)
    save(store, "mine", evalset, {"a": read_captions(drawn.captions(N))}, store.identify(evalset.images()).ids)
    shutil.rmtree(tmp_path / "images")
    loaded = EvalSet.load(store, "mine")
    saved = score_systems(store.space("fake"), load_systems(store, loaded), loaded, recipes.HESSEL2021, encode=False)
    assert saved["a"].ref_clip_s.to_dict() == given["a"].ref_clip_s.to_dict()
    assert saved.signatures == given.signatures
    assert saved.set_name == "mine"


def test_the_table_and_the_json_say_the_same(store: Store, evalset: EvalSet) -> None:
    """One row a system with n, metrics, words and cut; the JSON holds plain values under a schema number."""
    scores = cs.score(store.space("fake"), {"a": drawn.captions(N), "b": drawn.captions(N, "other")}, evalset)
    table = scores.table()
    assert [column.header for column in table.columns] == ["system", "n", "CLIP-S", "RefCLIP-S", "words", "cut"]
    written = scores.to_dict()
    assert written["schema"] == 1
    for row, system in zip(table.rows, written["systems"], strict=True):
        assert row[0] == system["name"]
        assert row[2] == f"{system['metrics']['clip_s']['mean']:.4f}"
        assert type(system["metrics"]["ref_clip_s"]["mean"]) is float
    assert table.notes == tuple(str(one) for one in scores.signatures.values())
    with pytest.raises(KeyError):
        scores["nobody"]


def test_interrupted_and_resumed_scores_equal_undisturbed_ones(
    open_store: Callable[[str], Store], evalset: EvalSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the middle, then again: only the rest is encoded, and each score is that of an undisturbed run."""
    monkeypatch.setattr(FakeEncoder, "image_batch", property(lambda _: 2))

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "images" and done >= 2:
            raise KeyboardInterrupt

    space = open_store("disturbed").space("fake")
    with pytest.raises(KeyboardInterrupt):
        cs.score(space, {"a": drawn.captions(N)}, evalset, progress=stop)
    resumed = cs.score(space, {"a": drawn.captions(N)}, evalset)
    assert resumed.work.images.encoded == N - 2
    straight = cs.score(open_store("straight").space("fake"), {"a": drawn.captions(N)}, evalset)
    np.testing.assert_allclose(resumed["a"].ref_clip_s.per_item, straight["a"].ref_clip_s.per_item, rtol=0, atol=1e-6)


# -- the signature -------------------------------------------------------------------------------


class Described(FakeEncoder):
    """The fake encoder with the fingerprint fields that a real model has."""

    def __init__(self, **changed: object) -> None:
        super().__init__()
        fields = {
            "kind": "open_clip",
            "architecture": {"embed_dim": 64, "quick_gelu": True},
            "weights": f"sha256:{'40d36571' * 8}",
            "preprocess": {"name": "exact", "size": [224, 224], "interpolation": "bicubic", "mean": [0.48, 0.46, 0.41]},
            "exif": "ignore",
            "tokenizer": {"kind": "openai"},
            "cleaning": "openai-bpe",
            "context_length": 77,
            "precision": "fp32",
            **changed,
        }
        self._fingerprint = Fingerprint(MappingProxyType(fields))


def signature_of(
    store: Store, evalset: EvalSet, encoder: FakeEncoder, metric: str = "ref-clip-s", **asked: object
) -> str:
    """Return the signature of a scoring with this encoder under the name ViT-B-32/openai."""
    space = store.custom_space(encoder, "ViT-B-32/openai")
    captions = asked.pop("captions", drawn.captions(len(evalset.items)))
    return str(cs.score(space, {"a": captions}, evalset, **asked).signatures[metric])


def test_the_signature_names_every_choice(store: Store, evalset: EvalSet) -> None:
    """Model, eight digits of the weights' digest, preprocessing, recipe, prefix, w, dtype, set, references, version."""
    line = signature_of(store, evalset, Described())
    fields = dict(part.split(":", 1) for part in line.split("|")[1:])
    assert line.startswith("RefCLIP-S|")
    assert fields["model"] == "ViT-B-32/openai"
    assert fields["ckpt"] == "40d36571"
    assert fields["pre"] == "bicubic224"
    assert fields["prefix"] == "A_photo_depicts"
    assert fields["w"] == "2.5"
    assert fields["dtype"] == "fp32"
    assert fields["refs"] == "2"
    assert len(fields["set"]) == 8
    assert fields["v"] == __import__("importlib.metadata").metadata.version("clipstore")
    assert not set(" {}'\"\n") & set(line)


@pytest.mark.parametrize(
    "changed",
    [
        {"precision": "fp16"},
        {"weights": f"sha256:{'40d36572' * 8}"},
        {"exif": "apply"},
        {"preprocess": {"name": "fast", "size": [224, 224], "interpolation": "bicubic", "mean": [0.48, 0.46, 0.41]}},
        {"preprocess": {"name": "exact", "size": [336, 336], "interpolation": "bicubic", "mean": [0.48, 0.46, 0.41]}},
    ],
    ids=["precision", "weights", "exif", "preprocess", "size"],
)
def test_the_signature_changes_with_the_encoder(store: Store, evalset: EvalSet, changed: dict[str, object]) -> None:
    """Whatever the user may choose of an encoder and changes vectors changes the signature."""
    one = signature_of(store, evalset, Described())
    other = signature_of(store, evalset, Described(**changed))
    assert one != other


def test_the_signature_changes_with_the_set_and_its_references(store: Store, evalset: EvalSet, tmp_path: Path) -> None:
    """Another image, another reference, another count of references: each is another signature."""
    folder = tmp_path / "images"
    refs = drawn.references(N)
    lines = {signature_of(store, evalset, FakeEncoder())}
    for changed in (
        {key: refs[key] for key in list(refs)[: N - 1]},
        {**refs, drawn.name(0): ["changed", refs[drawn.name(0)][1]]},
        {**refs, drawn.name(0): [*refs[drawn.name(0)], "one more"]},
    ):
        lines.add(signature_of(store, EvalSet.read(images=folder, refs=changed), FakeEncoder()))
    assert len(lines) == 4
    assert any("|refs:2-3|" in line for line in lines)


@pytest.mark.parametrize("changed", [{"name": "other"}, {"prefix": "A picture of "}, {"weight": 2.0}])
def test_the_signature_changes_with_the_recipe(store: Store, evalset: EvalSet, changed: dict[str, object]) -> None:
    """Name, prefix and weight of the recipe stand in it."""
    from dataclasses import replace

    def line(recipe: Recipe) -> str:
        configuration = signatures.Configuration(recipe, "f" * 64, [2])
        return str(signatures.signatures(store.space("fake"), configuration)["clip-s"])

    assert line(recipes.HESSEL2021) != line(replace(recipes.HESSEL2021, **changed))


def test_what_changes_no_score_changes_no_signature(store: Store, evalset: EvalSet) -> None:
    """Other captions, other systems beside, and another order leave the signature alone."""
    space = store.space("fake")
    one = cs.score(space, {"a": drawn.captions(N)}, evalset).signatures
    other = cs.score(space, {"b": drawn.captions(N, "other"), "c": drawn.captions(N)}, evalset).signatures
    assert one == other


def test_tiny_is_not_for_reporting(store: Store, evalset: EvalSet) -> None:
    """Every signature made with tiny says so."""
    space = store.custom_space(FakeEncoder(), "tiny")
    scores = cs.score(space, {"a": drawn.captions(N)}, evalset)
    assert all("tiny: not for reporting" in str(one) for one in scores.signatures.values())
    assert "tiny: not for reporting" in str(scores)
    assert all(one["note"] == "tiny: not for reporting" for one in scores.to_dict()["signature"].values())


def test_no_number_is_ever_nan_in_the_json(store: Store, tmp_path: Path) -> None:
    """NaN is null in the JSON, also where a whole metric is undefined."""
    import json

    folder = drawn.draw(tmp_path / "images", 2)
    refs = {drawn.name(0): [], drawn.name(1): ["x"]}
    captions = {drawn.name(0): "a"}
    evalset = EvalSet.read(images=folder, refs=refs)
    scores = cs.score(store.space("fake"), {"a": captions}, evalset, missing="skip")
    written = json.dumps(scores.to_dict(), allow_nan=False)
    assert json.loads(written)["systems"][0]["metrics"]["ref_clip_s"]["mean"] is None
    assert not math.isnan(scores["a"].clip_s.mean)
