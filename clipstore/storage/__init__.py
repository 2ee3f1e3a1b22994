"""The store on disk: immutable segments of vectors, and a catalogue of rows that says what they are.

The only package that names sqlalchemy, alembic or faiss. It never encodes.
"""

import sys

if sys.platform == "win32":  # folder fsync and unlinking mapped files are needed
    msg = "clipstore does not run on Windows itself: use WSL2"
    raise ImportError(msg)
