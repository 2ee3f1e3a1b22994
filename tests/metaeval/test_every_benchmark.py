"""CLIP-S and RefCLIP-S through every benchmark's own files, on drawn images with judges who see the cosine."""

import json

import drawn
import numpy as np
import pytest
from metaeval_made import write
from scipy import io, stats

from clipstore.encoders.fake import FakeEncoder
from clipstore.metaeval import Ratings, explain, metaeval
from clipstore.metaeval.pictures import find
from clipstore.metaeval.readers import BENCHMARKS, flickr8k, read
from clipstore.metaeval.scoring import Sources

COUNT, EACH = 12, 3
PREFIX = "A photo depicts "
NAMES = [drawn.name(number) for number in range(COUNT)]
CAPTIONS = {name: [f"caption {place} of {name}" for place in range(EACH)] for name in NAMES}
REFERENCES = {name: [f"reference {place} of the picture {name}" for place in range(6)] for name in NAMES}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """The folder of drawn images."""
    return drawn.draw(tmp_path_factory.mktemp("benchmarks") / "images", COUNT)


@pytest.fixture(scope="module")
def cosine(pictures):
    """The cosine of an image and a text, and of two texts, from the encoder alone."""
    encoder = FakeEncoder()
    images = {name: encoder.encode_images([(pictures / f"{name}.png").read_bytes()])[0] for name in NAMES}
    texts = {}

    def text(words):
        if words not in texts:
            texts[words] = encoder.encode_texts([PREFIX + words])[0]
        return texts[words]

    def of(one, other):
        left = images[one] if one in images else text(one)
        return float(np.einsum("i,i->", left.astype(float), text(other).astype(float)))

    return of


def level(cosine, name, caption):
    """What a judge says, 1 to 5: the cosine in steps."""
    return int(np.clip(1 + 5 * (cosine(name, caption) - 0.1) / 0.4, 1, 5))


def rows(cosine):
    """Yield image, caption and rating."""
    for name in NAMES:
        for caption in CAPTIONS[name]:
            yield name, caption, level(cosine, name, caption)


def better(cosine, name):
    """Return two captions of an image, the one that a judge prefers first."""
    return sorted(CAPTIONS[name][:2], key=lambda caption: -cosine(name, caption))


def flickr_tokens(folder):
    """Write five references and three more captions an image, the captions under images of their own."""
    lines = [f"{name}.jpg#{at}\t{text}" for name in NAMES for at, text in enumerate(REFERENCES[name][:5])]
    lines += [f"of_{name}.jpg#{at}\t{text}" for name in NAMES for at, text in enumerate(CAPTIONS[name])]
    (folder / "Flickr8k.token.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def expert(folder, cosine):
    """Three judges who agree but for one step."""
    flickr_tokens(folder)
    lines = [
        f"{name}.jpg\tof_{name}.jpg#{at}\t{seen}\t{max(1, seen - at % 2)}\t{min(5, seen + at // 2)}"
        for name in NAMES
        for at, seen in enumerate(level(cosine, name, caption) for caption in CAPTIONS[name])
    ]
    (folder / "ExpertAnnotations.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def crowd(folder, cosine):
    """Six votes a caption."""
    flickr_tokens(folder)
    lines = [
        f"{name}.jpg\tof_{name}.jpg#{at}\t{yes / 6}\t{yes}\t{6 - yes}"
        for name in NAMES
        for at, yes in enumerate(level(cosine, name, caption) for caption in CAPTIONS[name])
    ]
    (folder / "CrowdFlowerAnnotations.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def composite(folder, cosine):
    """A third of the images from each source."""
    flickr_tokens(folder)
    write(folder / "references.json", {name: REFERENCES[name] for name in NAMES[4:8]})
    coco = {
        "images": [{"id": at, "file_name": f"{name}.jpg"} for at, name in enumerate(NAMES[8:])],
        "annotations": [
            {"image_id": at, "caption": text} for at, name in enumerate(NAMES[8:]) for text in REFERENCES[name]
        ],
    }
    write(folder / "annotations.json", coco)
    lines = [
        "part\timage\tcaption\thuman_1to5",
        *(f"8k\t{name}.jpg\t{text}\t{seen}" for name, text, seen in rows(cosine)),
    ]
    (folder / "composite.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def thumb(folder, cosine):
    """Three systems."""
    rated = [
        {"SYS": f"system{at % EACH}", "image": f"{name}.jpg", "hyp": text, "human_score": seen}
        for at, (name, text, seen) in enumerate(rows(cosine))
    ]
    write(folder / "mscoco_THumB-1.0.jsonl", rated)
    lines = [json.dumps({"seg_id": f"{at}", "refs": REFERENCES[name][:4]}) for at, name in enumerate(NAMES)]
    (folder / "mscoco_references.json").write_text("\n".join(lines), encoding="utf-8")


def polaris(folder, cosine, name="polaris_test"):
    """One mean score a row."""
    table = [
        {"imgid": f"{image}.jpg", "mt": text, "refs": REFERENCES[image][:5], "score": seen / 5}
        for image, text, seen in rows(cosine)
    ]
    write(folder / f"{name}.jsonl", table)


def nebula(folder, cosine):
    """The same layout."""
    polaris(folder, cosine, "nebula_test")


def structures(table, names):
    """Return a MATLAB structure array."""
    return np.array([tuple(row) for row in table], dtype=[(name, "O") for name in names]).reshape(1, -1)


def pascal(folder, cosine, file="pascal_50s.json"):
    """A pair of each image, a quarter in each category, and six sentences an image."""
    said = [
        (f"http://there/{name}.jpg", np.array([[text] for text in REFERENCES[name]], dtype=object)) for name in NAMES
    ]
    io.savemat(folder / "pascal50S.mat", {"train_sent_final": structures(said, ("name", "sentences"))})
    pairs = {category: [] for category in ("HC", "HI", "HM", "MM")}
    for at, name in enumerate(NAMES):
        won, lost = better(cosine, name)
        captions = [won, lost] if at % 2 else [lost, won]
        row = {"image": f"VOC/{name}.jpg", "captions": captions, "label": captions.index(won)}
        pairs[list(pairs)[at % 4]].append(row)
    write(folder / file, pairs)


def pascal_11(folder, cosine):
    """The same from a file of other labels."""
    pascal(folder, cosine, "pascal_50s_11.json")


def abstract(folder, cosine):
    """Pairs and 48 votes each, all for the one that judges prefer."""
    pairs = [(f"{name}.jpg", *better(cosine, name)) for name in NAMES]
    kinds = np.array([[1 + at % 2 for at in range(COUNT)]])
    io.savemat(folder / "pair_abstract.mat", {"new_input": structures(pairs, "abc"), "category": kinds})
    votes = [(REFERENCES[name][at % 6], *better(cosine, name), 1) for name in NAMES for at in range(48)]
    io.savemat(folder / "consensus_abstract.mat", {"triplets": structures(votes, "ABCD")})


def foil(folder, cosine):
    """The true caption is the one that judges prefer."""
    notes = []
    for at, name in enumerate(NAMES):
        true, wrong = better(cosine, name)
        notes += [{"id": at, "image_id": at, "caption": true, "foil": False}]
        notes += [{"id": at, "image_id": at, "caption": wrong, "foil": True}]
    images = [{"id": at, "file_name": f"{name}.jpg"} for at, name in enumerate(NAMES)]
    write(folder / "foilv1.0_test_2017.json", {"images": images, "annotations": notes})
    known = [{"image_id": at, "caption": text} for at, name in enumerate(NAMES) for text in REFERENCES[name][:5]]
    write(folder / "captions_val2014.json", {"images": [], "annotations": known})


MADE = {
    "flickr8k-expert": expert, "flickr8k-cf": crowd, "composite": composite, "thumb": thumb, "polaris": polaris,
    "nebula": nebula, "pascal50s": pascal, "pascal50s-11": pascal_11, "abstract50s": abstract, "foil": foil,
}  # fmt: skip


def by_hand(cosine, image, caption, references):
    """Return CLIP-S and RefCLIP-S of one row, from cosines alone."""
    name = next(name for name in NAMES if name in image)
    clip = 2.5 * max(cosine(name, caption), 0)
    best = max(0, *(cosine(caption, one) for one in references))
    return clip, 2 * clip * best / (clip + best) if clip + best else 0.0


def test_every_published_benchmark_is_here():
    """None is left out below."""
    assert MADE.keys() == BENCHMARKS.keys() - {"ratings", "pairs"}


@pytest.mark.parametrize("name", MADE)
def test_a_benchmark_end_to_end(store, pictures, cosine, tmp_path, name):
    """From its files to agreement: as SciPy has it, or counted by hand, on cosines from the encoder alone."""
    MADE[name](tmp_path, cosine)
    judged = read(name, tmp_path)
    space = store.custom_space(FakeEncoder(), "fake")
    done = metaeval(judged, space, images=pictures, metrics=["clip-s", "ref-clip-s"], resamples=20)
    assert [one.missing for one in done.metrics] == [0, 0]
    if isinstance(judged, Ratings):
        columns = zip(judged.images, judged.captions, judged.references, strict=True)
        both = np.array([by_hand(cosine, *row) for row in columns])
        where, people = judged.flat()
        for column, metric in enumerate(("clip-s", "ref-clip-s")):
            scores = both[where, column].astype(np.float32)
            found = done[metric].agreement
            assert found.tau_b == pytest.approx(stats.kendalltau(scores, people).statistic, abs=5e-3)
            assert found.tau_c == pytest.approx(stats.kendalltau(scores, people, variant="c").statistic, abs=5e-3)
        assert done["clip-s"].agreement.tau_b > 0.6
        return
    for column, metric in enumerate(("clip-s", "ref-clip-s")):
        right = []
        for draw in judged.draws:
            first, second = (
                np.array([by_hand(cosine, *row)[column] for row in zip(judged.images, texts, draw, strict=True)])
                for texts in (judged.first, judged.second)
            )
            right.append(np.where(judged.labels == 0, first > second, second > first))
        of_pairs, kinds = np.mean(right, axis=0), np.array(judged.categories)
        expected = {kind: float(of_pairs[kinds == kind].mean()) for kind in dict.fromkeys(judged.categories)}
        assert done[metric].accuracy == pytest.approx(expected, abs=1e-9)
    assert done["clip-s"].mean == 1


def test_explain_scores_every_metric_with_other_references(store, pictures, cosine, tmp_path):
    """RefCLIP-S, too, is shown with candidates left among their references: as on the table read so."""
    expert(tmp_path, cosine)
    own = "".join(f"{name}.jpg\t{name}.jpg#0\t4\t4\t4\n" for name in NAMES)
    with (tmp_path / "ExpertAnnotations.txt").open("a", encoding="utf-8") as file:
        file.write(own)
    space = store.custom_space(FakeEncoder(), "fake")
    judged = read("flickr8k-expert", tmp_path)
    assert list(judged.excluded.values()) == [COUNT]
    done = metaeval(judged, space, images=pictures, metrics=["clip-s", "ref-clip-s"], resamples=0)
    sources = Sources(space, find(pictures, judged.images))
    found = {one.setup: one.values for one in explain.explain("flickr8k-expert", tmp_path, done, sources)}
    for setup, choice in (
        ("every row, candidate left among its references", "keep"),
        ("every row, candidate removed from the references of its row", "remove-row"),
    ):
        again = metaeval(
            flickr8k.expert(tmp_path, choice), space, images=pictures, metrics=["clip-s", "ref-clip-s"], resamples=0
        )
        assert found[setup] == pytest.approx({one.name: one.agreement.tau_c for one in again.metrics})
    assert found["every row, candidate left among its references"]["ref-clip-s"] != done["ref-clip-s"].agreement.tau_c
    without = {one.setup for one in explain.explain("flickr8k-expert", tmp_path, done)}
    assert not any("every row" in setup for setup in without)
