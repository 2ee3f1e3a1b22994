"""Write a small store as this clipstore writes it, and keep it for all later ones to open.

Run at a release whose schema is new, from the root of a checkout::

    PYTHONPATH=. python tests/storage/released/make.py

It writes ``tests/storage/released/REVISION.tar.xz``: a store, and ``expected.json``, what
is in it. An archive never changes once its schema was released.
"""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import PIL.Image

from clipstore import Store, keys
from clipstore.encoders.fake import FakeEncoder
from clipstore.items import Image
from clipstore.storage import upgrade
from clipstore.storage.catalogue import files, pairs, runs, sets, settings, spaces
from clipstore.storage.catalogue.files import FailureRow, FileRow
from clipstore.storage.catalogue.runs import RunRow
from clipstore.storage.catalogue.sets import CandidateRow, ItemRow
from clipstore.storage.catalogue.spaces import AliasKey, AliasRow

HERE = Path(__file__).resolve().parent
DIM = 8
PREFIX = "A photo depicts "
CAPTIONS = ["a red square", "a  Green square &amp; more", "дог 🐕 \"quoted\" 'too'", "word " * 80, ""]
REFERENCES = ["a square that is red", "something green", "a square"]


def pictures() -> list[bytes]:
    """Return three small images."""
    made = []
    for colour in ("red", "green", "blue"):
        buffer = io.BytesIO()
        PIL.Image.new("RGB", (3, 2), colour).save(buffer, "PNG")
        made.append(buffer.getvalue())
    return made


def fill(store: Store) -> dict[str, object]:
    """Put something of every kind into the store; return what is in it."""
    encoder = FakeEncoder(DIM)
    space = store.custom_space(encoder, "fake")
    images = space.ensure_images([Image(data, f"picture {row}") for row, data in enumerate(pictures())]).ids
    written = [text for text in [*CAPTIONS, *REFERENCES] if text]
    vector_keys = space.ensure_texts(written[:4], PREFIX).keys.tolist()
    vector_keys += space.ensure_texts(written[4:], PREFIX).keys.tolist()
    text_ids = np.array(keys.text_ids(CAPTIONS), np.int64)
    image_ids = np.array(images, np.int64)
    items = [
        ItemRow("one", images[0], tuple(REFERENCES[:2]), {"colour": "red"}),
        ItemRow(2, images[1], (), {}),
        ItemRow("2", images[1], tuple(REFERENCES[2:]), {"colour": "green"}),
    ]
    candidates = [CandidateRow("one", 0, CAPTIONS[0], -1.5, "log"), CandidateRow("one", 1, CAPTIONS[4])]
    candidates += [CandidateRow(2, 0, CAPTIONS[2]), CandidateRow("2", 0, CAPTIONS[3])]
    run = RunRow("ab12", "score", {"model": "fake"}, {"clip-s": 0.5}, text_ids, image_ids, 1_700_000_000.0)
    digest = space.fingerprint.digest
    with store.catalogue.write() as tx:
        sets.add(tx, "squares", items, "5e7", {"format": "made"})
        sets.add_system(tx, "squares", "earlier", "aaa", candidates[:1], {"file": "a.json"})
        sets.add_system(tx, "squares", "earlier", "bbb", candidates, {"file": "b.json"})
        runs.add(tx, run)
        pairs.add(tx, "scorer", image_ids[:2], text_ids[:2], np.array([0.25, 0.75], np.float32))
        settings.set(tx, "a setting", "its value")
        files.remember(tx, [FileRow("/pictures/red.png", 70, 5, 6, 7, 8, images[0])])
        files.fail(tx, [FailureRow("/pictures/bad.png", 0, 5, "is empty", 9.0)])
        alias = AliasRow(AliasKey("fake:8", "", "fp32", "exact", "ignore"), digest, None, None, None)
        spaces.set_alias(tx, alias)
    return {
        "digest": digest,
        "texts": written,
        "text_keys": vector_keys,
        "text_vectors": space.gather_texts(np.array(vector_keys)).tolist(),
        "images": images,
        "image_vectors": space.gather_images(image_ids).tolist(),
        "items": [[item.key, item.image_id, list(item.references), item.tags] for item in items],
        "candidates": [list(candidate) for candidate in candidates],
        "cuts": {str(key): cut for key, cut in space.cuts(np.array(vector_keys)).items()},
    }


def main() -> None:
    """Write the archive of this clipstore's schema."""
    target = HERE / f"{upgrade.HEAD}.tar.xz"
    if target.exists():
        msg = f"{target.name} is there: a released store never changes"
        raise SystemExit(msg)
    with tempfile.TemporaryDirectory() as spare:
        folder = Path(spare)
        with Store.open(folder / "store") as store:
            expected = fill(store)
        (folder / "expected.json").write_text(json.dumps(expected, indent=1), encoding="utf-8")
        with tarfile.open(target, "w:xz") as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file() and path.name != "store.lock":
                    archive.add(path, str(path.relative_to(folder)), filter=_anonymous)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o644
    return member


if __name__ == "__main__":
    main()
