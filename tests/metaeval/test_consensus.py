"""Pascal-50S and Abstract-50S from the MATLAB files as published, made small."""

import contextlib

import numpy as np
import pytest
from metaeval_made import write

from clipstore.errors import BadFormat, InputError
from clipstore.metaeval.readers import pascal50s

scipy_io = pytest.importorskip("scipy.io", reason="MATLAB files need SciPy (extra clipstore[metaeval])")

ROWS = [("one.jpg", "a dog", "a cat"), ("two.jpg", "a car", "a bus"), ("three.jpg", "a man", "a boy")]
VOTES_FOR_A = [40, 24, 8]


def structures(rows, names):
    """Return a MATLAB structure array."""
    return np.array([tuple(rows[at]) for at in range(len(rows))], dtype=[(name, "O") for name in names]).reshape(1, -1)


def consensus(folder, kind, categories=(1, 3, 4)):
    """Write the pairs and the votes; every second triplet has the captions the other way round."""
    pairs = structures(ROWS, ("image", "sent1", "sent2"))
    scipy_io.savemat(folder / f"pair_{kind}.mat", {"new_input": pairs, "category": np.array([categories])})
    triplets = []
    for (_, first, second), votes in zip(ROWS, VOTES_FOR_A, strict=True):
        for at in range(48):
            for_a, turned = at < votes, at % 2
            shown = (second, first) if turned else (first, second)
            triplets.append((f"sentence {at} of {first}", *shown, 1 if for_a != bool(turned) else -1))
    scipy_io.savemat(folder / f"consensus_{kind}.mat", {"triplets": structures(triplets, ("A", "B", "C", "winner"))})


def test_the_label_is_the_majority_of_48_votes(tmp_path):
    """Whichever way round a triplet shows them; 24 to 24 is a tie and counted; references are the 48 sentences."""
    consensus(tmp_path, "pascal")
    found = pascal50s.read(tmp_path)
    assert found.labels.tolist() == [0, -1, 1]
    assert found.categories == ("HC", "HM", "MM")
    assert list(found.excluded.values()) == [1]
    assert len(found.draws) == 5
    assert all(one.endswith("of a dog") for draw in found.draws for one in draw[0])
    assert len({draw[0] for draw in found.draws}) > 1


def test_abstract_scenes(tmp_path):
    """The same layout, with categories of its own."""
    consensus(tmp_path, "abstract", (1, 2, 1))
    found = pascal50s.abstract(tmp_path)
    assert (found.name, found.n) == ("abstract50s", 3)
    assert found.categories == ("same image", "other image", "same image")


def test_too_few_votes_are_refused(tmp_path):
    """A file with another number of triplets is named."""
    consensus(tmp_path, "pascal")
    scipy_io.savemat(tmp_path / "consensus_pascal.mat", {"triplets": structures([("r", "a", "b", 1)], "ABCD")})
    with pytest.raises(BadFormat, match="1 triplets for 3 pairs"):
        pascal50s.read(tmp_path)


def sentences(folder):
    """Write the sentences of one image, and a pair of it in each category."""
    said = np.array([[f"sentence number {number}"] for number in range(9)] + [["A dog."]], dtype=object)
    rows = structures([("http://there/2008_000001.jpg", said)], ("name", "sentences"))
    scipy_io.savemat(folder / "pascal50S.mat", {"train_sent_final": rows})
    pair = {"image": "VOC/2008_000001.jpg", "captions": ["a dog", "a cat"], "label": 1}
    return {category: [pair] for category in ("HC", "HI", "HM", "MM")}


@pytest.mark.parametrize(("votes", "name"), [(48, "pascal50s"), (11, "pascal50s-11")])
def test_labels_with_sentences(tmp_path, votes, name):
    """A pair's own caption is never drawn as its reference; 11 votes come from a file of their own."""
    labels = sentences(tmp_path)
    write(tmp_path / ("pascal_50s.json" if votes == 48 else "pascal_50s_11.json"), labels)
    found = pascal50s.read(tmp_path, votes=votes)
    assert (found.name, found.n, list(found.excluded.values())) == (name, 4, [1])
    assert "A dog." not in {one for draw in found.draws for own in draw for one in own}
    assert {len(own) for draw in found.draws for own in draw} == {5}


def test_a_file_with_other_variables(tmp_path):
    """A MATLAB file that holds something else is named."""
    write(tmp_path / "pascal_50s.json", sentences(tmp_path))
    scipy_io.savemat(tmp_path / "pascal50S.mat", {"x": 1})
    with pytest.raises(InputError, match="no variable 'train_sent_final'"):
        pascal50s.read(tmp_path)
    write(tmp_path / "pascal_50s.json", {"HC": []})
    with pytest.raises(BadFormat, match="not lists HC, HI, HM, MM"):
        pascal50s.read(tmp_path)


def only_ours(read):
    """Run it; our own errors are answers, a result too; anything else fails."""
    with contextlib.suppress(BadFormat, InputError):
        read()


def test_damaged_matlab_files_are_told(tmp_path):
    """Cut off anywhere, with bytes changed, empty or of another kind: our error that names the file, no other."""
    votes, labels = tmp_path / "votes", tmp_path / "labelled"
    votes.mkdir()
    labels.mkdir()
    consensus(votes, "pascal")
    write(labels / "pascal_50s.json", sentences(labels))
    for path, folder in (
        (votes / "pair_pascal.mat", votes),
        (votes / "consensus_pascal.mat", votes),
        (labels / "pascal50S.mat", labels),
    ):
        whole = path.read_bytes()
        for size in range(0, len(whole), max(1, len(whole) // 60)):
            path.write_bytes(whole[:size])
            only_ours(lambda folder=folder: pascal50s.read(folder))
            path.write_bytes(whole[:size] + b"\xff\x00\x07" + whole[size + 3 :])
            only_ours(lambda folder=folder: pascal50s.read(folder))
        path.write_bytes(b"no MATLAB file at all" * 20)
        with pytest.raises(BadFormat, match=f"{path.name}: a MATLAB file that can't be read"):
            pascal50s.read(folder)
        path.write_bytes(whole)


def test_other_layouts_in_matlab_files_are_told(tmp_path):
    """Cells without captions, fewer categories than pairs, sentences without names."""
    consensus(tmp_path, "pascal", (1, 3))
    with pytest.raises(BadFormat, match=r"pair_pascal\.mat: 2 categories for 3 pairs"):
        pascal50s.read(tmp_path)
    consensus(tmp_path, "pascal")
    scipy_io.savemat(tmp_path / "pair_pascal.mat", {"new_input": np.arange(3), "category": np.array([[1, 2, 3]])})
    with pytest.raises(BadFormat, match="not pairs of image, A, B and triplets"):
        pascal50s.read(tmp_path)
    write(tmp_path / "pascal_50s.json", sentences(tmp_path))
    scipy_io.savemat(tmp_path / "pascal50S.mat", {"train_sent_final": np.arange(4)})
    with pytest.raises(BadFormat, match="no list of 'name' and 'sentences'"):
        pascal50s.read(tmp_path)
