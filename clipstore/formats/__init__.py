"""What captioning people have -> captions, references, and the image of each id.

Reads no image and imports nothing heavy: pyarrow and zstandard load only for a file that needs them.
"""

from clipstore.formats.embedded import embedded_images as embedded_images
from clipstore.formats.images import image_files as image_files
from clipstore.formats.linting import LintWarning as LintWarning
from clipstore.formats.linting import lint as lint
from clipstore.formats.matched import Matched as Matched
from clipstore.formats.matched import MatchedKeys as MatchedKeys
from clipstore.formats.matched import describe as describe
from clipstore.formats.matching import ID_KEYS as ID_KEYS
from clipstore.formats.matching import match as match
from clipstore.formats.matching import match_keys as match_keys
from clipstore.formats.reading import Source as Source
from clipstore.formats.reading import read_captions as read_captions
from clipstore.formats.reading import read_references as read_references
from clipstore.formats.registry import COLUMNAR as COLUMNAR
from clipstore.formats.registry import format_names as format_names
from clipstore.formats.values import Captions as Captions
from clipstore.formats.values import Hints as Hints
from clipstore.formats.values import References as References
from clipstore.formats.writing import WRITERS as WRITERS
from clipstore.formats.writing import Row as Row
from clipstore.formats.writing import dumps as dumps
from clipstore.formats.writing import save as save
from clipstore.formats.writing import write as write

__all__ = [
    "COLUMNAR",
    "ID_KEYS",
    "WRITERS",
    "Captions",
    "Hints",
    "LintWarning",
    "Matched",
    "MatchedKeys",
    "References",
    "Row",
    "Source",
    "describe",
    "dumps",
    "embedded_images",
    "format_names",
    "image_files",
    "lint",
    "match",
    "match_keys",
    "read_captions",
    "read_references",
    "save",
    "write",
]
