"""Makes the golden segments with faiss itself: `python tests/storage/make_golden.py`."""

from pathlib import Path

import faiss
import numpy as np

HERE = Path(__file__).parent / "golden"
IDS = np.array([3, 7, 2**62, 2**63 - 1], dtype=np.int64)
VECTORS = np.array([[0.6, 0.8, 0.0], [0.0, 1.0, 0.0], [-0.8, 0.0, 0.6], [0.0, 0.0, -1.0]], dtype=np.float32)


def index(dtype: str) -> faiss.Index:
    """Return the FAISS index that a segment of ``dtype`` is."""
    dim = VECTORS.shape[1]
    inner = (
        faiss.IndexFlatIP(dim)
        if dtype == "float32"
        else faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    )
    mapped = faiss.IndexIDMap(inner)
    mapped.add_with_ids(VECTORS, IDS)
    return mapped


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for dtype in ("float32", "float16"):
        faiss.write_index(index(dtype), str(HERE / f"{dtype}.faiss"))
