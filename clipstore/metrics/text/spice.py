"""SPICE: scene graphs by Java, where its models are present; nothing is downloaded."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clipstore.metrics.text import java

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.metrics.text.bleu import Values

_MODELS = ("stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar")


def segments_f(captions: Sequence[tuple[str, Sequence[str]]]) -> Values:
    """Return SPICE's F of each caption against its references (Anderson et al. 2016), float64, shape (captions,).

    Raises
    ------
    InputError
        When pycocoevalcap is not installed.
    JavaFault
        When Java or the models are missing, or the program fails.
    """
    folder = java.package() / "spice"
    missing = [name for name in _MODELS if not (folder / "lib" / name).is_file()]
    if missing:
        msg = (
            f"SPICE needs {' and '.join(missing)} in pycocoevalcap's spice/lib: run "
            "`python -m pycocoevalcap.spice.get_stanford_models` where there is a network"
        )
        raise java.JavaFault(msg)
    from pycocoevalcap.spice.spice import SPICE_JAR

    rows = [{"image_id": row, "test": text, "refs": list(refs)} for row, (text, refs) in enumerate(captions)]
    with tempfile.TemporaryDirectory(prefix="clipstore-spice-") as place:
        asked, answered = Path(place) / "in.json", Path(place) / "out.json"
        asked.write_text(json.dumps(rows), encoding="utf-8")
        java.run(["-Xmx8G", "-jar", SPICE_JAR, str(asked), "-out", str(answered), "-subset", "-silent"], folder, ())
        found = json.loads(answered.read_text(encoding="utf-8"))
    out = np.full(len(captions), np.nan)
    for row in found:
        value = row["scores"]["All"]["f"]
        out[row["image_id"]] = np.nan if value is None else float(value)
    return out
