"""The tables of the catalogue, as SQLAlchemy Core knows them.

Migrations make them; a test compares the two. Types are those that SQLite and PostgreSQL
share. Large tables have no index beyond their primary key: bytes per caption matter. For
the same reason ids of texts and images carry no foreign key (deleting a text would scan
every candidate); ``check()`` looks at those instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine

_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

metadata = MetaData(naming_convention=_NAMES)

Id = BigInteger().with_variant(Integer, "sqlite")
"""An int64; on SQLite the type that makes a primary key the row's own number."""

Real = Float(53)
"""A double on both databases."""


def _key(name: str, kind: TypeEngine[Any] | type[TypeEngine[Any]] = Id) -> Column[Any]:
    return Column(name, kind, primary_key=True, autoincrement=False)


settings = Table("settings", metadata, _key("name", Text), Column("value", Text, nullable=False))

commits = Table("commits", metadata, _key("id", Integer), Column("number", Id, nullable=False))
"""One row, counted up by every commit: how a reader sees that something changed."""

environments = Table(
    "environments",
    metadata,
    _key("id", Integer),
    Column("digest", Text, nullable=False, unique=True),
    Column("fields", Text, nullable=False),
    Column("created", Real, nullable=False),
)

spaces = Table(
    "spaces",
    metadata,
    _key("id", Integer),
    Column("digest", Text, nullable=False, unique=True),
    Column("fields", Text, nullable=False),
    Column("dim", Integer, nullable=False),
    Column("dtype", Text, nullable=False),
    Column("created", Real, nullable=False),
)

aliases = Table(
    "aliases",
    metadata,
    _key("model", Text),
    _key("weights", Text),
    _key("precision_name", Text),
    _key("preprocess", Text),
    _key("exif", Text),
    Column("space_id", ForeignKey("spaces.id"), nullable=False),
    Column("weights_size", Id),
    Column("weights_mtime_ns", Id),
    Column("weights_inode", Id),
)

prompts = Table(
    "prompts",
    metadata,
    Column("space_id", ForeignKey("spaces.id"), primary_key=True, autoincrement=False),
    _key("prefix", Text),
)

segments = Table(
    "segments",
    metadata,
    _key("id", Integer),  # in the order of commits: of two segments with one item, the first always answers
    Column("name", Text, nullable=False, unique=True),
    Column("space_id", ForeignKey("spaces.id"), nullable=False),
    Column("modality", Text, nullable=False),
    Column("row_count", Id, nullable=False),
    Column("dim", Integer, nullable=False),
    Column("dtype", Text, nullable=False),
    Column("vectors_offset", Id, nullable=False),
    Column("ids_offset", Id, nullable=False),
    Column("byte_count", Id, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("layout", Integer, nullable=False),
    Column("environment_id", ForeignKey("environments.id")),
    Column("created", Real, nullable=False),
    Index(None, "space_id", "modality"),
)

texts = Table("texts", metadata, _key("id"), Column("text", Text, nullable=False))

images = Table(
    "images",
    metadata,
    _key("id"),
    Column("sha256", LargeBinary, nullable=False),
    Column("byte_count", Id, nullable=False),
    Column("mode", Text, nullable=False),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    Column("flags", Text, nullable=False),
)

cuts = Table(
    "cuts",
    metadata,
    Column("space_id", ForeignKey("spaces.id"), primary_key=True, autoincrement=False),
    _key("vector_key"),
    Column("tokens", Integer, nullable=False),
    Column("cut", Integer, nullable=False),
    Column("stripped", Integer, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)

image_roots = Table(
    "image_roots",
    metadata,
    _key("id", Integer),
    Column("path", LargeBinary, nullable=False, unique=True),
)

image_files = Table(
    "image_files",
    metadata,
    Column("root_id", ForeignKey("image_roots.id"), primary_key=True, autoincrement=False),
    _key("name", LargeBinary),
    Column("size", Id, nullable=False),
    Column("mtime_ns", Id, nullable=False),
    Column("ctime_ns", Id, nullable=False),
    Column("inode", Id, nullable=False),
    Column("hashed_ns", Id, nullable=False),
    Column("image_id", Id, nullable=False),
    Index(None, "image_id"),
    sqlite_with_rowid=False,
)

image_failures = Table(
    "image_failures",
    metadata,
    _key("path", LargeBinary),
    Column("size", Id, nullable=False),
    Column("mtime_ns", Id, nullable=False),
    Column("reason", Text, nullable=False),
    Column("failed_at", Real, nullable=False),
)

eval_sets = Table(
    "eval_sets",
    metadata,
    _key("id", Integer),
    Column("name", Text, nullable=False, unique=True),
    Column("digest", Text, nullable=False),
    Column("created", Real, nullable=False),
    Column("origin", Text, nullable=False),
)

eval_items = Table(
    "eval_items",
    metadata,
    _key("id", Integer),
    Column("set_id", ForeignKey("eval_sets.id"), nullable=False),
    Column("item_key", Text, nullable=False),  # JSON, so that 7 and "7" stay apart
    Column("position", Integer),  # null: no longer in the set, but a system has captions for it
    Column("image_id", Id),
    Column("tags", Text),
    UniqueConstraint("set_id", "item_key"),
)

item_references = Table(
    "item_references",
    metadata,
    Column("item_id", ForeignKey("eval_items.id"), primary_key=True, autoincrement=False),
    _key("position", Integer),
    Column("text_id", Id, nullable=False),
    sqlite_with_rowid=False,
)

systems = Table(
    "systems",
    metadata,
    _key("id", Integer),
    Column("set_id", ForeignKey("eval_sets.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("created", Real, nullable=False),
    Column("origin", Text, nullable=False),
    Column("is_current", Boolean, nullable=False),
    UniqueConstraint("set_id", "name", "digest"),
)

candidates = Table(
    "candidates",
    metadata,
    Column("system_id", ForeignKey("systems.id"), primary_key=True, autoincrement=False),
    _key("item_id", Integer),
    _key("rank", Integer),
    Column("text_id", Id, nullable=False),
    Column("score", Real),
    Column("score_kind", Text),
    sqlite_with_rowid=False,
)

runs = Table(
    "runs",
    metadata,
    _key("id", Text),
    Column("verb", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("result", Text, nullable=False),
    Column("used_texts", LargeBinary, nullable=False),
    Column("used_images", LargeBinary, nullable=False),
    Column("run_at", Real, nullable=False),
)

scorers = Table("scorers", metadata, _key("id", Integer), Column("fingerprint", Text, nullable=False, unique=True))

pair_scores = Table(
    "pair_scores",
    metadata,
    Column("scorer_id", ForeignKey("scorers.id"), primary_key=True, autoincrement=False),
    _key("context_id"),
    _key("text_id"),
    Column("score", Real, nullable=False),
    sqlite_with_rowid=False,
)
