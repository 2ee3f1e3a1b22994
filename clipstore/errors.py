"""Everything that clipstore raises on purpose.

The tree is the map of what can go wrong::

    ClipstoreError                    2
    ├── StoreError                    2   the store can't do what was asked
    │   ├── NotAStore                 2   the folder is no store, or can't be one
    │   ├── NewerSchema               2   written by a newer clipstore
    │   ├── Damaged                   2   bytes or rows are not what was committed
    │   ├── Busy                      2   another process held the store too long
    │   ├── CannotWrite               2   disk full, read-only, no permission
    │   ├── NotStored                 2   a name or vector that the store does not hold
    │   └── IdCollision               2   one id met two contents
    ├── EncoderError                  2   a model can't be used
    │   ├── UnknownModel              2   no such name, or its weights can't be had
    │   ├── FingerprintMismatch       2   a known name now loads other weights
    │   └── BadImage                  1   an image file that can't be decoded
    └── InputError                    2   what the user gave does not fit
        ├── Unpaired                  1   captions, images and references do not meet
        ├── NoReferences              2   a metric needs references and there are none
        └── BadFormat                 2   a file that can't be read as what it claims

The number is the exit code of the command: 1 = ran, but incomplete or a check
failed; 2 = nothing was done. A message says what is wrong, where, and what to do.
"""

from typing import ClassVar


class ClipstoreError(Exception):
    """The root: catch this to catch everything that clipstore raises on purpose."""

    exit_code: ClassVar[int] = 2


class StoreError(ClipstoreError):
    """The store can't do what was asked."""


class NotAStore(StoreError):
    """The folder is not a clipstore, or nothing can be created there."""


class NewerSchema(StoreError):
    """The store was written by a newer clipstore."""


class Damaged(StoreError):
    """Bytes or rows are not what was committed."""


class Busy(StoreError):
    """Another process held the store for too long."""


class CannotWrite(StoreError):
    """The disk is full, the folder read-only, or permission is missing."""


class NotStored(StoreError):
    """A name or a vector that the store does not hold."""


class IdCollision(StoreError):
    """One content id met two different contents."""


class EncoderError(ClipstoreError):
    """A model can't be used."""


class UnknownModel(EncoderError):
    """No model has this name, or its weights can't be had."""


class FingerprintMismatch(EncoderError):
    """A name that the store knows now loads other weights or settings."""


class BadImage(EncoderError):
    """An image that can't be decoded or encoded."""

    exit_code = 1


class InputError(ClipstoreError):
    """What the user gave does not fit together."""


class Unpaired(InputError):
    """Captions, images and references do not meet."""

    exit_code = 1


class NoReferences(InputError):
    """A metric needs references and none were given."""


class BadFormat(InputError):
    """A file can't be read as what it claims to be."""
