"""Files of the model hub: from the local cache, else fetched, else one message that says what is missing."""

from __future__ import annotations

import socket
import sys
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from huggingface_hub import constants, hf_hub_download

from clipstore.errors import UnknownModel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.encoders.profiles import Profile

CONFIG = "open_clip_config.json"
_WEIGHTS = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")
_PATIENCE = 5.0  # seconds for the hub to answer at all; the hub's own client would retry for half a minute


def fetch(shown: str, repository: str, files: Sequence[str], elsewhere: str = "") -> Path:
    """Return the path of the first of ``files`` that the repository has.

    Parameters
    ----------
    shown
        The model's name, for the message.
    repository
        ``organisation/name`` on the hub.
    files
        Names to try, the best first.
    elsewhere
        Another address of the same weights, for the message.

    Raises
    ------
    UnknownModel
        When it is neither in the cache nor to be had; with the way to bring it here.
    """
    for file in files:
        try:
            return Path(hf_hub_download(repository, file, local_files_only=True))
        except (OSError, ValueError):  # not in the cache
            continue
    reason = _unreachable(constants.ENDPOINT)
    for file in () if reason else files:
        try:
            return Path(hf_hub_download(repository, file))
        except _network_errors() as error:
            reason = str(error).strip().partition("\n")[0]
    raise UnknownModel(_missing(shown, files[0], repository, reason, elsewhere))


def fetch_tag(shown: str, tag: Mapping[str, object]) -> Path:
    """Return the path of the weights that open_clip's entry of a tag names.

    Raises
    ------
    UnknownModel
        When they are neither in a cache nor to be had.
    """
    url, place = str(tag.get("url", "")), str(tag.get("hf_hub", ""))
    if not place:
        return _from_url(shown, url)
    repository, _, file = place.rpartition("/")
    files = _WEIGHTS if not file else (str(Path(file).with_suffix(".safetensors")), file)
    return fetch(shown, repository, files, url)


def fetch_weights(shown: str, repository: str) -> Path:
    """Return the path of the weights of an open_clip repository on the hub."""
    return fetch(shown, repository, _WEIGHTS)


def fetch_profile(profile: Profile) -> Path:
    """Return the path of a published scorer's weights.

    Raises
    ------
    UnknownModel
        When they are not on the hub, or can't be had; with where they are.
    """
    if not profile.repository:
        message = (
            f"{profile.name}: its weights are not on the model hub. Download {profile.elsewhere}, "
            "then pass the file with --weights FILE"
        )
        raise UnknownModel(message)
    return fetch(profile.name, profile.repository, [profile.file])


def offline() -> bool:
    """Say whether the hub is switched off (``HF_HUB_OFFLINE``)."""
    return bool(constants.HF_HUB_OFFLINE)


def _from_url(shown: str, url: str) -> Path:
    from open_clip.pretrained import download_pretrained_from_url  # imports torch

    cached = Path("~/.cache/clip").expanduser() / url.rpartition("/")[2]
    reason = "" if cached.is_file() else _unreachable(url)
    if not reason:
        try:
            return Path(download_pretrained_from_url(url))
        except (OSError, RuntimeError) as error:
            reason = str(error)
    raise UnknownModel(_missing(shown, url, "", reason, ""))


def _unreachable(address: str) -> str:
    """Say in words why an address can't be asked, after one quick try; empty where it can."""
    if offline():
        return "offline mode is on: HF_HUB_OFFLINE"
    if urllib.request.getproxies():  # a proxy resolves names for us
        return ""
    parts = urlsplit(address)
    port = parts.port or (80 if parts.scheme == "http" else 443)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=_PATIENCE).close()
    except OSError as error:
        return f"{parts.hostname} can't be reached: {error.strerror or error}"
    return ""


def _missing(shown: str, file: str, repository: str, reason: str, elsewhere: str) -> str:
    where = f"{file} of {repository}" if repository else file
    ways = f"`hf download {repository} {file}`" if repository else f"download {file}"
    if elsewhere:
        ways += f" (or {elsewhere}, a TorchScript archive that also needs --trust-weights)"
    if file == CONFIG:
        rest = f"the whole repository, and name the folder as local-dir:FOLDER instead of {shown}"
    else:
        rest = "then copy the file here and pass it with --weights FILE"
    return f"{shown}: missing {where} ({reason}). On a machine with network: {ways}, {rest}"


def _network_errors() -> tuple[type[Exception], ...]:
    """Return what the hub's client raises; which library is under it depends on its version."""
    httpx = sys.modules.get("httpx")
    own: type[Exception] = getattr(httpx, "HTTPError", OSError)
    return (OSError, ValueError, own)
