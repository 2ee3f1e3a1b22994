"""Metrics against people, end to end: drawn images, simulated judges, an independent computation beside."""

import random
from dataclasses import replace

import drawn
import numpy as np
import pytest
from metaeval_made import ratings, write
from scipy import stats

from clipstore import Store
from clipstore.demo import scenes
from clipstore.encoders.fake import FakeEncoder
from clipstore.encoders.protocol import Fingerprint
from clipstore.errors import InputError, NotStored, Unpaired
from clipstore.metaeval import Pairs, Ratings, metaeval, probes
from clipstore.metaeval.readers import own

PREFIX = "A photo depicts "
SCENES = 24


def cosines(encoder, pictures, captions):
    """Return the cosine of each picture and caption, from the encoder alone."""
    images = encoder.encode_images(pictures)
    texts = encoder.encode_texts([PREFIX + caption for caption in captions])
    return np.einsum("ij,ij->i", images.astype(float), texts.astype(float))


@pytest.fixture
def few(tmp_path):
    """Ratings by three noisy judges of thirty captions of ten drawn images, and the images' folder."""
    folder = drawn.draw(tmp_path / "images", 10)
    images = [drawn.name(row // 3) for row in range(30)]
    captions = [f"caption {row} of a picture" for row in range(30)]
    references = [(f"the picture {name}", f"a picture called {name}") for name in images]
    encoder = FakeEncoder()
    files = [(folder / f"{name}.png").read_bytes() for name in images]
    seen = cosines(encoder, files, captions)
    judges = ratings(seen, judges=3, noise=0.02).ratings
    judged = Ratings("ratings", tuple(images), tuple(captions), tuple(references), judges)
    return judged, folder, seen


def test_clip_s_agrees_as_computed_by_hand(store, few):
    """tau_b, tau_c and both correlations of CLIP-S are SciPy's on cosines taken from the encoder itself."""
    judged, folder, seen = few
    space = store.custom_space(FakeEncoder(), "fake")
    found = metaeval(judged, space, images=folder, metrics=["clip-s"], resamples=50)["clip-s"]
    flat, people = np.repeat(np.maximum(seen, 0), 3), judged.ratings.ravel()
    assert found.agreement.tau_b == pytest.approx(stats.kendalltau(flat, people).statistic, abs=2e-3)
    assert found.agreement.tau_c == pytest.approx(stats.kendalltau(flat, people, variant="c").statistic, abs=2e-3)
    assert found.agreement.spearman == pytest.approx(stats.spearmanr(flat, people).statistic, abs=2e-3)
    assert found.agreement.pearson == pytest.approx(stats.pearsonr(flat, people).statistic, abs=1e-5)
    assert found.n == 90
    assert "model:fake" in found.signature


def test_ref_clip_s_uses_each_rows_references(store, few):
    """RefCLIP-S is the harmonic mean with the best of the row's own references."""
    judged, folder, seen = few
    encoder = FakeEncoder()
    done = metaeval(judged, store.custom_space(encoder, "fake"), images=folder, metrics=["ref-clip-s"], resamples=0)
    texts = encoder.encode_texts([PREFIX + caption for caption in judged.captions])
    best = [
        max(float(text @ one) for one in encoder.encode_texts([PREFIX + own for own in references]))
        for text, references in zip(texts, judged.references, strict=True)
    ]
    image = 2.5 * np.maximum(seen, 0)
    expected = 2 * image * best / (image + best)
    assert done.scores["ref-clip-s"] == pytest.approx(expected, abs=1e-5)


def test_a_warm_store_encodes_nothing(store, few):
    """The second evaluation works with encoding switched off; the first would have refused."""
    judged, folder, _ = few
    space = store.custom_space(FakeEncoder(), "fake")
    with pytest.raises(NotStored):
        metaeval(judged, space, images=folder, metrics=["clip-s"], resamples=0, encode=False)
    first = metaeval(judged, space, images=folder, metrics=["clip-s"], resamples=0)
    again = metaeval(judged, space, images=folder, metrics=["clip-s"], resamples=0, encode=False)
    assert np.array_equal(first.scores["clip-s"], again.scores["clip-s"])


def test_without_images_the_others_run_and_clip_s_says_why(store, few):
    """No folder: no CLIP-S, a reason in its place, and the user's own function runs."""
    judged, *_ = few
    length = {"length": lambda _images, captions, _references: [len(text) for text in captions]}
    done = metaeval(judged, store, metrics=["clip-s"], functions=length, resamples=0)
    assert [one.name for one in done.metrics] == ["length"]
    assert "--images" in done.problems["clip-s"]
    assert "not computed" in str(done)


def test_an_image_that_is_lost_leaves_its_rows_out(store, few):
    """Rows of an image that is not in the folder have no CLIP-S and are counted."""
    judged, folder, _ = few
    (folder / f"{drawn.name(0)}.png").unlink()
    done = metaeval(judged, store.custom_space(FakeEncoder(), "fake"), images=folder, metrics=["clip-s"], resamples=0)
    assert (done["clip-s"].missing, done["clip-s"].n) == (3, 81)
    assert any("1 of 10 images are not in the folder" in note for note in done.notes)


def test_numbers_meet_file_names(store, few):
    """A benchmark's ``7`` is the folder's ``COCO_val2014_000000000007.png``, as everywhere in clipstore."""
    judged, folder, _ = few
    numbers = {name: str(1000 + 7 * place) for place, name in enumerate(dict.fromkeys(judged.images))}
    for name, number in numbers.items():
        (folder / f"{name}.png").rename(folder / f"COCO_val2014_{int(number):012d}.png")
    space = store.custom_space(FakeEncoder(), "fake")
    renamed = replace(judged, images=tuple(numbers[image] for image in judged.images))
    done = metaeval(renamed, space, images=folder, metrics=["clip-s"], resamples=0)
    assert (done["clip-s"].missing, done["clip-s"].n) == (0, 90)


def test_a_folder_of_other_images_is_refused(store, few, tmp_path):
    """None of the benchmark's images is there: an error that shows both, not a table without CLIP-S."""
    judged, *_ = few
    other = drawn.draw(tmp_path / "other", 2)
    for path in list(other.iterdir()):
        path.rename(other / f"holiday {path.name[::-1]}.png")
    with pytest.raises(InputError, match=r"none of the 10 images .* has 'scene_000000', the folder 'holiday"):
        metaeval(judged, store.custom_space(FakeEncoder(), "fake"), images=other, metrics=["clip-s"])


def test_a_metric_without_a_number_a_caption_is_a_problem(store, few):
    """distinct-1 is one number a system: no row of dashes, but the reason."""
    judged, *_ = few
    done = metaeval(judged, store, metrics=["diversity"], resamples=0)
    assert [one.name for one in done.metrics] == ["mean-words"]
    assert done.problems.keys() == {"distinct-1", "distinct-2"}
    assert "one of a whole system" in done.problems["distinct-1"]


class Lengths:
    """A pair scorer: how many pixels the image has, and how long the caption is; counts what it scores."""

    fingerprint = Fingerprint({"kind": "lengths"})

    def __init__(self):
        self.environment = {"device": "fake"}
        self.scored = 0

    def prepare_image(self, image):
        """Decode as the fake encoder does."""
        return FakeEncoder().prepare_image(image)

    def score(self, image, texts):
        """Give each text its number."""
        self.scored += len(texts)
        return np.array([image.size[0] + len(text) / 100 for text in texts], np.float32)


def test_pair_scorers_are_metrics_too(store, few):
    """A scorer of image and caption together is evaluated; the second time its numbers come from the store."""
    judged, folder, _ = few
    scorer = Lengths()
    done = metaeval(judged, store, images=folder, metrics=[], scorers={"lengths": scorer}, resamples=0)
    assert done.scores["lengths"] == pytest.approx([12 + len(text) / 100 for text in judged.captions])
    metaeval(judged, store, images=folder, metrics=[], scorers={"lengths": scorer}, resamples=0)
    assert scorer.scored == 30
    without = metaeval(judged, store, metrics=[], scorers={"lengths": scorer}, resamples=0)
    assert "--images" in without.problems["lengths"]


def test_another_recipe(store, few):
    """The raw recipe: tau is that of the plain cosine without prefix."""
    judged, folder, _ = few
    space = store.custom_space(FakeEncoder(), "fake")
    done = metaeval(judged, space, images=folder, metrics=["clip-s"], recipe="raw", resamples=0)
    assert "recipe:raw" in done["clip-s"].signature


def test_pac_s_goes_by_its_name(store, few):
    """With the recipe of PAC-S the table says so, and what is published of PAC-S stands beside."""
    judged, folder, _ = few
    space = store.custom_space(FakeEncoder(), "fake")
    named = replace(judged, name="flickr8k-expert")
    done = metaeval(named, space, images=folder, metrics=["clip-s", "ref-clip-s"], recipe="pac-s", resamples=0)
    assert [row[0] for row in done.table().rows] == ["PAC-S", "RefPAC-S"]
    assert [one.published.values["tau_c"] for one in done.metrics] == [54.3, 55.9]
    done = metaeval(named, space, images=folder, metrics=["clip-s", "ref-clip-s"], resamples=0)
    assert [one.published.values["tau_c"] for one in done.metrics] == [51.2, 53.0]


def test_an_own_function_must_give_a_number_each(store, few):
    """A function that returns too few is named."""
    with pytest.raises(InputError, match="mine gave numbers"):
        metaeval(few[0], store, metrics=[], functions={"mine": lambda *_: [1.0]}, resamples=0)


def test_scores_of_another_program(store, few, tmp_path):
    """A file of scores is matched by image and caption in any order, and agrees as computed by hand."""
    judged, _, seen = few
    rows = [
        {"image": f"somewhere/{image}.png", "caption": f" {caption.upper()}", "score": float(value)}
        for image, caption, value in zip(judged.images, judged.captions, seen, strict=True)
    ]
    path = write(tmp_path / "scores.jsonl", rows[::-1])
    found = metaeval(judged, store, metrics=[], scores={"mine": path}, resamples=0)["mine"]
    expected = stats.kendalltau(np.repeat(seen, 3), judged.ratings.ravel(), variant="c").statistic
    assert found.agreement.tau_c == pytest.approx(expected)
    part = write(tmp_path / "part.jsonl", rows[:12])
    assert metaeval(judged, store, metrics=[], scores={"mine": part}, resamples=0)["mine"].n == 36


def test_scores_that_fit_nothing(store, few, tmp_path):
    """No caption in common, or a bare column of another length: an error that counts both."""
    path = write(tmp_path / "scores.jsonl", [{"image": "x", "caption": "y", "score": 1}])
    with pytest.raises(Unpaired, match="none of its 1 captions is one of the benchmark's 30"):
        metaeval(few[0], store, metrics=[], scores={"mine": path}, resamples=0)
    (tmp_path / "bare.txt").write_text("1\n2\n", encoding="utf-8")
    with pytest.raises(Unpaired, match="2 scores for 30"):
        metaeval(few[0], store, metrics=[], scores={"mine": tmp_path / "bare.txt"}, resamples=0)


def test_fleurs_layout_and_a_chosen_field(store, few, tmp_path):
    """``image file : ...`` blocks; the last score by default, another by name."""
    judged, *_ = few
    blocks = [
        f"image file : set/{image}.jpg\ncaption : {caption}\nmodel score : 0.5\nour score : {row / 30}\n"
        for row, (image, caption) in enumerate(zip(judged.images, judged.captions, strict=True))
    ]
    path = tmp_path / "fleur.txt"
    path.write_text("\n".join(blocks), encoding="utf-8")
    done = metaeval(judged, store, metrics=[], scores={"a": path, "b": f"{path}:model score"}, resamples=0)
    assert done.scores["a"][:3] == pytest.approx([0, 1 / 30, 2 / 30])
    assert set(done.scores["b"].tolist()) == {0.5}


def test_the_json_is_stable_and_plain(store, few):
    """Schema 1: raw taus, the interval of the printed tau, NaN as None."""
    judged, folder, _ = few
    constant = {"one": lambda images, *_: [1.0] * len(images)}
    space = store.custom_space(FakeEncoder(), "fake")
    found = metaeval(judged, space, images=folder, metrics=["clip-s"], functions=constant, resamples=20).to_dict()
    assert (found["schema"], found["protocol"], found["n"], found["excluded"]) == (1, "ratings", 90, {})
    clip, one = found["metrics"]
    assert clip["name"] == "clip-s"
    assert clip["ci"] == clip["intervals"]["tau_c"]
    assert clip["ci"][0] <= clip["tau_c"] <= clip["ci"][1]
    assert (one["tau_b"], one["ci"], one["published"]) == (None, None, None)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A store with the model that ships, drawn scenes with references, and captions good, middling and poor."""
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "images").mkdir()
    rng = random.Random(5)
    references, rows = {}, []
    for number in range(SCENES):
        scene = scenes.draw(scenes.FIRST_HELD_OUT_SEED + number)
        name = f"scene{number}"
        scene.image.save(folder / "images" / f"{name}.png")
        references[name] = list(scene.references)
        makers = ((scenes.good_caption, 4), (scenes.mixed_caption, 3), (scenes.poor_caption, 1))
        rows += [(name, make(scene, rng), tuple(scene.references), rating) for make, rating in makers]
    with Store.open(folder / "store") as store:
        yield store.space("tiny"), folder / "images", references, rows


def test_tiny_agrees_with_simulated_judges(tiny):
    """Judges who know which captions are good: tiny's tau is SciPy's on its own cosines, and high."""
    space, folder, _, rows = tiny
    rng = np.random.default_rng(0)
    people = np.array([row[3] for row in rows])[:, None] + rng.integers(-1, 2, (len(rows), 3))
    judged = Ratings(
        "ratings", tuple(row[0] for row in rows), tuple(row[1] for row in rows), tuple(row[2] for row in rows),
        people.astype(float),
    )  # fmt: skip
    done = metaeval(judged, space, images=folder, metrics=["clip-s", "ref-clip-s"], resamples=50)
    files = [(folder / f"{row[0]}.png").read_bytes() for row in rows]
    seen = np.repeat(np.maximum(cosines(space.encoder(), files, [row[1] for row in rows]), 0), 3)
    expected = stats.kendalltau(seen, people.ravel(), variant="c").statistic
    assert done["clip-s"].agreement.tau_c == pytest.approx(expected, abs=2e-3)
    assert done["clip-s"].agreement.tau_c > 0.3
    assert done["ref-clip-s"].agreement.tau_c > done["clip-s"].agreement.tau_c


def test_probes_of_drawn_scenes_are_seen(tiny):
    """One wrong noun, colour or count in a reference: tiny prefers the right one in nine of ten cases."""
    space, folder, references, _ = tiny
    words = {kind: probes.WORDS[kind] for kind in ("noun", "colour", "count")}
    judged = probes.probe(references, words)
    done = metaeval(judged, space, images=folder, metrics=["clip-s", "ref-clip-s"], resamples=0)
    for metric in ("clip-s", "ref-clip-s"):
        found = done[metric]
        right = sum(found.accuracy[kind] * count for kind, count in found.counts.items())
        assert right / found.n >= 0.9


def test_pairs_by_category_with_tiny(tiny):
    """A right caption against one of another scene: nearly always told apart; a file of pairs gives the same."""
    space, folder, references, rows = tiny
    good = [row for row in rows if row[3] == 4]
    labels = [number % 2 for number in range(len(good))]
    both = [(row[1], good[(number + 5) % len(good)][1]) for number, row in enumerate(good)]
    judged = Pairs(
        "pairs",
        tuple(row[0] for row in good),
        tuple(pair[label] for pair, label in zip(both, labels, strict=True)),
        tuple(pair[1 - label] for pair, label in zip(both, labels, strict=True)),
        (tuple(tuple(references[row[0]]) for row in good),),
        np.array(labels),
        tuple("even" if number % 2 == 0 else "odd" for number in range(len(good))),
    )
    done = metaeval(judged, space, images=folder, metrics=["clip-s", "ref-clip-s"], resamples=20)
    assert done["clip-s"].mean > 0.85
    assert set(done["clip-s"].accuracy) == {"even", "odd"}
    found = done.to_dict()["metrics"][0]
    assert set(found["accuracy"]) == {"even", "odd"}


def test_own_file_end_to_end(tiny, tmp_path):
    """Ratings in a file of one's own go through the same protocol."""
    space, folder, _, rows = tiny
    table = [{"image": f"{row[0]}.png", "caption": row[1], "rating": row[3]} for row in rows]
    judged = own.ratings(write(tmp_path / "mine.jsonl", table))
    done = metaeval(judged, space, images=folder, metrics=["clip-s", "ref-clip-s"], resamples=0)
    assert done["clip-s"].agreement.tau_c > 0.3
    assert "has none" in done.problems["ref-clip-s"]
