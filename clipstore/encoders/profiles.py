"""Published scorers with two towers, by name: architecture, pixels, context, formula, and where the weights are.

Loads nothing. Any model of open_clip can be named without standing here; these have a
checkpoint, a layout, a formula or a preprocessing of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, final

if TYPE_CHECKING:
    from collections.abc import Mapping

Pixels = Literal["official", "longest-tensor"]
"""``official`` is open_clip's transform; ``longest-tensor`` fits the longest side, resizing floats (HPSv2)."""

PREFIX: Final = "A photo depicts "


@final
@dataclass(frozen=True, slots=True)
class Profile:
    """A published scorer.

    Parameters
    ----------
    name
        What ``--model`` takes.
    architecture
        open_clip's config.
    quick_gelu
        The activation its weights were trained with.
    formula
        From a cosine to its published number.
    prefix
        What it puts before a text.
    recipe
        The recipe that computes it.
    context_length
        Tokens that it reads.
    repository, file
        Where the weights are on the model hub; both empty where they are elsewhere.
    elsewhere
        An address in words, where the hub does not have them.
    paper
        Who published it.
    pixels
        How it wants its images.
    preprocess
        What departs from open_clip's default preprocessing.
    """

    name: str
    architecture: str
    quick_gelu: bool
    formula: str
    recipe: str
    paper: str
    prefix: str = ""
    context_length: int = 77
    repository: str = ""
    file: str = ""
    elsewhere: str = ""
    pixels: Pixels = "official"
    preprocess: Mapping[str, object] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """The place of its weights, for people."""
        return f"{self.file} of {self.repository}" if self.repository else self.elsewhere


_PAC = "Sarto et al. 2023, arXiv 2303.12112; aimagelab/pacscore"
_PAC_WEIGHTS = "the checkpoints linked in the README of github.com/aimagelab/pacscore"
_HPS = "Wu et al. 2023, arXiv 2306.09341; tgxs002/HPSv2"
_LONG = "Zhang et al. 2024, arXiv 2403.15378; beichenzbc/Long-CLIP"
_HALF: Final = {"mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}

PROFILES: Final[Mapping[str, Profile]] = {
    profile.name: profile
    for profile in (
        Profile(
            "pac-s",
            "ViT-B-32",
            quick_gelu=True,
            formula="2 max(cos, 0); RefPAC-S = H(PAC-S, max_r cos)",
            recipe="pac-s",
            paper=_PAC,
            prefix=PREFIX,
            elsewhere=f"clip_ViT-B-32.pth: {_PAC_WEIGHTS}",
        ),
        Profile(
            "pac-s-l14",
            "ViT-L-14",
            quick_gelu=False,
            formula="2 max(cos, 0); RefPAC-S = H(PAC-S, max_r cos)",
            recipe="pac-s",
            paper=_PAC,
            prefix=PREFIX,
            elsewhere=f"openClip_ViT-L-14.pth: {_PAC_WEIGHTS}",
            preprocess=_HALF,  # laion2b_s32b_b82k, which it starts from
        ),
        Profile(
            "hpsv2",
            "ViT-H-14",
            quick_gelu=False,
            formula="cos (score()), exp(logit_scale) cos in its benchmark",
            recipe="raw",
            paper=_HPS,
            repository="xswu/HPSv2",
            file="HPS_v2_compressed.pt",
            pixels="longest-tensor",
        ),
        Profile(
            "hpsv2.1",
            "ViT-H-14",
            quick_gelu=False,
            formula="cos (score()), exp(logit_scale) cos in its benchmark",
            recipe="raw",
            paper=_HPS,
            repository="xswu/HPSv2",
            file="HPS_v2.1_compressed.pt",
            pixels="longest-tensor",
        ),
        Profile(
            "pickscore",
            "ViT-H-14",
            quick_gelu=False,
            formula="exp(logit_scale) cos",
            recipe="raw",
            paper="Kirstain et al. 2023, arXiv 2305.01569; yuvalkirstain/PickScore",
            repository="yuvalkirstain/PickScore_v1",
            file="model.safetensors",
        ),
        Profile(
            "longclip-b",
            "ViT-B-16",
            quick_gelu=True,
            formula="cos",
            recipe="raw",
            paper=_LONG,
            context_length=248,
            repository="BeichenZhang/LongCLIP-B",
            file="longclip-B.pt",
        ),
        Profile(
            "longclip-l",
            "ViT-L-14",
            quick_gelu=True,
            formula="cos",
            recipe="raw",
            paper=_LONG,
            context_length=248,
            repository="BeichenZhang/LongCLIP-L",
            file="longclip-L.pt",
        ),
    )
}
"""Name -> profile."""

PAIR_SCORER: Final = "image-reward"
"""ImageReward, which looks at image and text together: ``image-reward:FOLDER`` in a cascade."""

PAIR_FORMULA: Final = "(MLP(text that attends to the image) - 0.1672) / 1.0333"
PAIR_LENGTH: Final = 35  # tokens, start and end included
PAIR_FILES: Final[Mapping[str, str]] = {
    "ImageReward.pt": "THUDM/ImageReward",
    "vocab.txt": "google-bert/bert-base-uncased",
}
"""The files of its folder, and which repository of the model hub has each."""

SIGLIP: Final = "SigLIP"
"""In the name of each SigLIP of open_clip: trained with a bias and without a prefix, so its score is the cosine."""

ALIASES: Final[Mapping[str, str]] = {"siglip": "ViT-B-16-SigLIP/webli", "siglip2": "ViT-B-16-SigLIP2/webli"}
"""Short names of models that open_clip has itself: cos, or sigmoid(exp(logit_scale) cos + logit_bias); context 64."""
