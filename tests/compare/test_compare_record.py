"""The JSON keeps to its published schema, says the same twice, and holds no path."""

import json
from importlib import resources

import numpy as np
import pytest
from made import drawn, measured

from clipstore.compare import compare
from clipstore.significance import Settings

QUICK = Settings(resamples=300)
SCHEMA = json.loads(resources.files("clipstore.compare").joinpath("schema.json").read_text(encoding="utf-8"))
KINDS = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "null": type(None),
}


def faults(value, schema, where="$"):
    """Return how a value breaks the part of JSON Schema that ours uses."""
    if "$ref" in schema:
        return faults(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], where)
    if value not in schema.get("enum", [schema.get("const", value)]):
        return [f"{where}: {value!r}"]
    kinds = schema.get("type", list(KINDS))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    fits = [KINDS[kind] for kind in kinds if kind == "boolean" or not isinstance(value, bool)]
    if not any(isinstance(value, kind) for kind in fits):
        return [f"{where}: {value!r} is no {kinds}"]
    if isinstance(value, dict):
        return faults_of_object(value, schema, where)
    items = enumerate(value) if isinstance(value, list) else ()
    return [fault for place, inner in items for fault in faults(inner, schema.get("items", {}), f"{where}[{place}]")]


def faults_of_object(value, schema, where):
    """Return how an object breaks its schema: keys that lack, keys too many, and its values."""
    known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    out = [f"{where}: lacks {name}" for name in schema.get("required", []) if name not in value]
    for name, inner in value.items():
        if name not in known and more is False:
            out.append(f"{where}: {name} is not in the schema")
        else:
            out += faults(inner, known.get(name, more if isinstance(more, dict) else {}), f"{where}.{name}")
    return out


def made(**more):
    """Compare three made-up systems."""
    tags = tuple({"domain": str(row % 2)} for row in range(120))
    return compare(measured(drawn(3, 120), tags=tags, name="coco"), settings=QUICK, **more)


@pytest.mark.parametrize("more", [{}, {"baseline": "s1"}, {"slice_by": "domain"}], ids=str)
def test_the_json_keeps_to_the_schema(more):
    """Every key is in the schema and every required key is there."""
    assert faults(json.loads(made(**more).to_json()), SCHEMA) == []


def test_the_schema_check_can_fail():
    """A key too many, a key too few and a wrong kind are found."""
    value = json.loads(made().to_json())
    value["path"] = "x"
    value["systems"][0]["n"] = "120"
    del value["pairs"][0]["p"]
    assert len(faults(value, SCHEMA)) == 3


def test_numbers_are_plain_and_nan_is_null():
    """Python floats only; what is not defined is null."""
    done = compare(measured({"a": [np.nan, np.nan], "b": [np.nan, np.nan]}), settings=QUICK)
    value = json.loads(done.to_json(), parse_constant=pytest.fail)
    assert value["systems"][0]["metrics"]["clip_s"]["mean"] is None
    assert value["pairs"][0]["p"] is None


def test_the_same_comparison_gives_the_same_bytes():
    """Nothing of time, order or machine is in it."""
    assert made().to_json() == made().to_json()


def test_pairs_are_as_in_the_json():
    """The Python property is the JSON's list."""
    done = made()
    assert list(done.pairs) == done.to_dict()["pairs"]
    assert done.pairs[0]["a"] == "s0"
    assert done.pairs[0]["delta"] == pytest.approx(
        done.to_dict()["systems"][0]["metrics"]["clip_s"]["mean"]
        - done.to_dict()["systems"][1]["metrics"]["clip_s"]["mean"],
        abs=1e-9,
    )


def test_rows_are_keyed_by_image_system_and_rank(tmp_path):
    """One row a caption, in Python and in Parquet; ids are the user's own."""
    import pyarrow.parquet as pq

    done = compare(measured(drawn(2, 3), keys=(7, "7", "x")), settings=QUICK)
    assert [(row["image"], row["system"]) for row in done.per_item[:3]] == [(7, "s0"), (7, "s1"), ("7", "s0")]
    done.to_parquet(tmp_path / "rows.parquet")
    table = pq.read_table(tmp_path / "rows.parquet")
    assert table.column_names == ["set", "image", "system", "rank", "caption", "clip_s"]
    assert table.num_rows == 6
