"""The options, each said once: a word means the same in every command.

Those that go together are groups; :func:`clipstore_cli.grouped.grouped` spreads them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, final

import typer

from clipstore.encoders.protocol import MAX_PIXELS
from clipstore.errors import InputError

Recipe = Annotated[
    Literal["hessel2021", "coco-ptb", "torchmetrics", "pac-s", "raw"] | None,
    typer.Option("--recipe", help="How a cosine becomes a score; else the model's own, hessel2021 for most."),
]
MissingRule = Literal["error", "skip"]
EmptyRule = Literal["error", "zero"]

Captions = Annotated[list[str] | None, typer.Argument(metavar="[NAME=]CAPS...", help="Captions of a system.")]
Empty = Annotated[Literal["error", "zero"], typer.Option("--empty", help="Empty captions: refuse, or score 0.")]
EvalSetName = Annotated[str | None, typer.Option("-t", "--set", help="A saved eval set.", metavar="SET")]
EvalSetNames = Annotated[
    list[str] | None, typer.Option("-t", "--set", help="A saved eval set.", metavar="SET", show_default=False)
]
"""For commands that show one set: a second ``-t`` is refused, not taken in place of the first."""

Replace = Annotated[bool, typer.Option("--replace", help="Change what is saved under this name.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Out = Annotated[Path | None, typer.Option("-o", "--out", help="Write the result to a file.", metavar="FILE")]


@final
@dataclass(frozen=True, slots=True)
class Common:
    """What every command takes."""

    store: Annotated[
        Path | None, typer.Option("--store", help="The store; else .clipstore here or in a parent.", metavar="DIR")
    ] = None
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No notes, only errors.")] = False
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Tracebacks of errors.")] = False


@final
@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Which encoder, and how it runs."""

    models: Annotated[
        list[str] | None,
        typer.Option("--model", help="open_clip ARCHITECTURE/TAG, hf-hub:..., local-dir:..., or tiny."),
    ] = None
    pretrained: Annotated[str | None, typer.Option("--pretrained", help="open_clip's tag, as in its own tools.")] = None
    weights: Annotated[
        Path | None, typer.Option("--weights", help="Weights file of the named model.", metavar="FILE")
    ] = None
    trust_weights: Annotated[
        bool, typer.Option("--trust-weights", help="Load a TorchScript archive, which runs code in it.")
    ] = False
    device: Annotated[str, typer.Option("--device", help="auto, cpu, cuda, cuda:N or cuda:all.")] = "auto"
    precision: Annotated[
        Literal["fp32", "fp16", "bf16"],
        typer.Option("--precision", help="Of the encoder; each is a space of its own."),
    ] = "fp32"
    preprocess: Annotated[
        Literal["exact", "fast"],
        typer.Option("--preprocess", help="Pixels as the official code's, or within one grey level and twice as fast."),
    ] = "exact"
    exif: Annotated[
        Literal["ignore", "apply"],
        typer.Option("--exif", help="EXIF orientation: ignored as the official code does, or applied."),
    ] = "ignore"
    max_pixels: Annotated[
        int, typer.Option("--max-pixels", min=1, help="Refuse larger images as decompression bombs.")
    ] = MAX_PIXELS
    batch_size: Annotated[
        str | None, typer.Option("--batch-size", help="Images in a batch; auto tries which number is quickest.")
    ] = None
    no_encode: Annotated[bool, typer.Option("--no-encode", help="Fail where something would have to be encoded.")] = (
        False
    )

    @property
    def model(self) -> str | None:
        """The one model, None where none is given.

        Raises
        ------
        InputError
            When there are several: most commands take one.
        """
        if self.models is not None and len(self.models) > 1:
            msg = f"--model {' --model '.join(self.models)}: one model here; only score ranks under several"
            raise InputError(msg)
        return self.models[0] if self.models else None

    def each(self) -> list[ModelOptions]:
        """Return these options with one model each, in the order given.

        Raises
        ------
        InputError
            When one is named twice, or a weights file or tag could belong to any of several.
        """
        if self.models is None or len(self.models) < 2:
            return [self]
        if self.weights is not None or self.pretrained is not None:
            flag = "--weights" if self.weights is not None else "--pretrained"
            msg = f"{flag} goes with one --model, and there are {len(self.models)}: name each in full, or score in turn"
            raise InputError(msg)
        twice = [name for name in self.models if self.models.count(name) > 1]
        if twice:
            msg = f"--model {twice[0]} is given twice"
            raise InputError(msg)
        return [replace(self, models=[name]) for name in self.models]


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """How files are to be read, where they are not recognised as the user wants."""

    input_format: Annotated[
        str | None, typer.Option("--input-format", help="Format of the captions, if not recognised.", metavar="NAME")
    ] = None
    id_key: Annotated[
        str | None, typer.Option("--id-key", help="What ids are: id, path, name, stem, number, cocoid, imgid or row.")
    ] = None
    split: Annotated[str | None, typer.Option("--split", help="Split of a Karpathy file, such as test.")] = None
    questions: Annotated[
        Path | None, typer.Option("--questions", help="The questions that LLaVA answers belong to.", metavar="FILE")
    ] = None
    order: Annotated[
        Path | None, typer.Option("--order", help="The ids that plain lines belong to, one a line.", metavar="FILE")
    ] = None
    image_col: Annotated[str | None, typer.Option("--image-col", help="Column or field of image ids.")] = None
    caption_col: Annotated[str | None, typer.Option("--caption-col", help="Column or field of captions.")] = None
    score_col: Annotated[str | None, typer.Option("--score-col", help="Column or field of log-probabilities.")] = None
    num_candidates: Annotated[
        int | None, typer.Option("--num-candidates", min=1, help="Captions an image in a flat n-best file.")
    ] = None
    take: Annotated[
        Literal["first"] | None, typer.Option("--take", help="Of an n-best file, the first caption of each image.")
    ] = None
    strict: Annotated[bool, typer.Option("--strict", help="Make warnings about the captions errors.")] = False


@final
@dataclass(frozen=True, slots=True)
class SetOptions:
    """The eval set, as files."""

    images: Annotated[
        Path | None,
        typer.Option("--images", help="Folder of images; or Parquet or tar: a file, a folder, a glob.", metavar="DIR"),
    ] = None
    refs: Annotated[Path | None, typer.Option("--refs", help="References.", metavar="FILE")] = None
    annotations: Annotated[
        Path | None,
        typer.Option("--annotations", help="COCO annotations: file names, and references.", metavar="FILE"),
    ] = None
    missing: Annotated[
        Literal["error", "skip"],
        typer.Option("--missing", help="Captions without image and images without caption: refuse, or leave out."),
    ] = "error"
