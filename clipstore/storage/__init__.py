"""The store on disk: immutable segments of vectors, and a catalogue of rows that says what they are.

The only package that names sqlalchemy, alembic or faiss. It never encodes.
"""
