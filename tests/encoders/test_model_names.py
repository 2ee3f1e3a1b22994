"""Names of models, in every spelling."""

from pathlib import Path

import pytest

from clipstore.encoders import names
from clipstore.errors import UnknownModel


@pytest.mark.parametrize(
    "spelling",
    [
        "ViT-B-32/openai",
        "ViT-B/32",
        "ViT-B/32/openai",
        "openai/clip-vit-base-patch32",
        "ViT-B-32-quickgelu/openai",
        " ViT-B-32/openai ",
    ],
)
def test_spellings_of_the_default(spelling):
    """The paper's name, Hugging Face's and open_clip's mean one model."""
    assert names.parse(spelling) == names.parse()
    assert names.parse(spelling).shown == "ViT-B-32/openai"


@pytest.mark.parametrize(
    ("spelling", "shown"),
    [
        ("openai/clip-vit-base-patch16", "ViT-B-16/openai"),
        ("openai/clip-vit-large-patch14", "ViT-L-14/openai"),
        ("openai/clip-vit-large-patch14-336", "ViT-L-14-336/openai"),
        ("ViT-L/14@336px", "ViT-L-14-336/openai"),
        ("ViT-B-32-quickgelu/metaclip_400m", "ViT-B-32-quickgelu/metaclip_400m"),
        ("tiny", "tiny"),
    ],
)
def test_other_names(spelling, shown):
    """OpenAI's other models are known; a twin with another tag keeps its name."""
    assert names.parse(spelling).shown == shown


def test_architecture_and_tag_apart():
    """open_clip's two arguments give the same name as one."""
    assert names.parse("ViT-B-32", "openai") == names.parse()
    assert names.parse("ViT-B/32", "laion2b_e16").shown == "ViT-B-32/laion2b_e16"
    assert names.parse("ViT-B-32/openai", "openai") == names.parse()


def test_weights_file_stays_with_its_name(tmp_path):
    """A weights file is kept beside the name that says what it is of."""
    file = tmp_path / "w.pt"
    assert names.parse("ViT-B-32/openai", weights=file) == names.ModelName(
        "open_clip", "ViT-B-32", "openai", file, "ViT-B-32/openai"
    )
    twin = names.parse("ViT-B-32-quickgelu", weights=str(file))
    assert (twin.architecture, twin.tag, twin.weights) == ("ViT-B-32-quickgelu", None, file)


@pytest.mark.parametrize(
    ("name", "kind", "place", "shown"),
    [
        ("hf-hub:org/x", "hf-hub", "org/x", "hf-hub:org/x"),
        ("local-dir:/a/b-c/d", "local-dir", "/a/b-c/d", "local-dir:d"),
        ("local-dir:b/../d/", "local-dir", "b/../d/", "local-dir:d"),
    ],
)
def test_places_are_never_split(name, kind, place, shown):
    """A slash in a repository or folder is no tag; of a folder only the last part is shown."""
    parsed = names.parse(name)
    assert (parsed.kind, parsed.architecture, parsed.tag, parsed.shown) == (kind, place, None, shown)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("",), "empty"),
        (("hf-hub:",), "names no place"),
        (("/openai",), "half a name"),
        (("ViT-B-32/",), "half a name"),
        (("ViT-B-32/openai", "laion2b_e16"), "leave one out"),
        (("hf-hub:a/b", "openai"), "already names its weights"),
        (("tiny", None, Path("w.pt")), "its own weights"),
        (("tiny", "openai"), "its own weights"),
    ],
)
def test_parts_that_do_not_fit_are_refused(arguments, says):
    """Each contradiction is one message that says what to leave out."""
    with pytest.raises(UnknownModel, match=says):
        names.parse(*arguments)
