"""The first schema.

Revision ID: 0001
Revises: nothing
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # an int64; on SQLite the row's own number
REAL = sa.Float(precision=53)


def upgrade() -> None:
    """Make the tables of an empty catalogue."""
    op.create_table(
        "commits",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", ID, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_commits"),
    )
    op.create_table(
        "environments",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("fields", sa.Text(), nullable=False),
        sa.Column("created", REAL, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_environments"),
        sa.UniqueConstraint("digest", name="uq_environments_digest"),
    )
    op.create_table(
        "eval_sets",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("created", REAL, nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_eval_sets"),
        sa.UniqueConstraint("name", name="uq_eval_sets_name"),
    )
    op.create_table(
        "image_failures",
        sa.Column("path", sa.LargeBinary(), autoincrement=False, nullable=False),
        sa.Column("size", ID, nullable=False),
        sa.Column("mtime_ns", ID, nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("failed_at", REAL, nullable=False),
        sa.PrimaryKeyConstraint("path", name="pk_image_failures"),
    )
    op.create_table(
        "image_roots",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("path", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_image_roots"),
        sa.UniqueConstraint("path", name="uq_image_roots_path"),
    )
    op.create_table(
        "images",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("byte_count", ID, nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("flags", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_images"),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("verb", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("used_texts", sa.LargeBinary(), nullable=False),
        sa.Column("used_images", sa.LargeBinary(), nullable=False),
        sa.Column("run_at", REAL, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
    )
    op.create_table(
        "scorers",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_scorers"),
        sa.UniqueConstraint("fingerprint", name="uq_scorers_fingerprint"),
    )
    op.create_table(
        "settings",
        sa.Column("name", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_settings"),
    )
    op.create_table(
        "spaces",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("fields", sa.Text(), nullable=False),
        sa.Column("dim", sa.Integer(), nullable=False),
        sa.Column("dtype", sa.Text(), nullable=False),
        sa.Column("created", REAL, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_spaces"),
        sa.UniqueConstraint("digest", name="uq_spaces_digest"),
    )
    op.create_table(
        "texts",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_texts"),
    )
    op.create_table(
        "aliases",
        sa.Column("model", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("weights", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("precision_name", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("preprocess", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("exif", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("space_id", sa.Integer(), nullable=False),
        sa.Column("weights_size", ID, nullable=True),
        sa.Column("weights_mtime_ns", ID, nullable=True),
        sa.Column("weights_inode", ID, nullable=True),
        sa.ForeignKeyConstraint(["space_id"], ["spaces.id"], name="fk_aliases_space_id_spaces"),
        sa.PrimaryKeyConstraint("model", "weights", "precision_name", "preprocess", "exif", name="pk_aliases"),
    )
    op.create_table(
        "cuts",
        sa.Column("space_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("vector_key", ID, autoincrement=False, nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("cut", sa.Integer(), nullable=False),
        sa.Column("stripped", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["space_id"], ["spaces.id"], name="fk_cuts_space_id_spaces"),
        sa.PrimaryKeyConstraint("space_id", "vector_key", name="pk_cuts"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "eval_items",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("set_id", sa.Integer(), nullable=False),
        sa.Column("item_key", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=True),
        sa.Column("image_id", ID, nullable=True),
        sa.Column("tags", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["set_id"], ["eval_sets.id"], name="fk_eval_items_set_id_eval_sets"),
        sa.PrimaryKeyConstraint("id", name="pk_eval_items"),
        sa.UniqueConstraint("set_id", "item_key", name="uq_eval_items_set_id_item_key"),
    )
    op.create_table(
        "image_files",
        sa.Column("root_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.LargeBinary(), autoincrement=False, nullable=False),
        sa.Column("size", ID, nullable=False),
        sa.Column("mtime_ns", ID, nullable=False),
        sa.Column("ctime_ns", ID, nullable=False),
        sa.Column("inode", ID, nullable=False),
        sa.Column("hashed_ns", ID, nullable=False),
        sa.Column("image_id", ID, nullable=False),
        sa.ForeignKeyConstraint(["root_id"], ["image_roots.id"], name="fk_image_files_root_id_image_roots"),
        sa.PrimaryKeyConstraint("root_id", "name", name="pk_image_files"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_image_files_image_id", "image_files", ["image_id"], unique=False)
    op.create_table(
        "pair_scores",
        sa.Column("scorer_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("context_id", ID, autoincrement=False, nullable=False),
        sa.Column("text_id", ID, autoincrement=False, nullable=False),
        sa.Column("score", REAL, nullable=False),
        sa.ForeignKeyConstraint(["scorer_id"], ["scorers.id"], name="fk_pair_scores_scorer_id_scorers"),
        sa.PrimaryKeyConstraint("scorer_id", "context_id", "text_id", name="pk_pair_scores"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "prompts",
        sa.Column("space_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("prefix", sa.Text(), autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(["space_id"], ["spaces.id"], name="fk_prompts_space_id_spaces"),
        sa.PrimaryKeyConstraint("space_id", "prefix", name="pk_prompts"),
    )
    op.create_table(
        "segments",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("space_id", sa.Integer(), nullable=False),
        sa.Column("modality", sa.Text(), nullable=False),
        sa.Column("row_count", ID, nullable=False),
        sa.Column("dim", sa.Integer(), nullable=False),
        sa.Column("dtype", sa.Text(), nullable=False),
        sa.Column("vectors_offset", ID, nullable=False),
        sa.Column("ids_offset", ID, nullable=False),
        sa.Column("byte_count", ID, nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("layout", sa.Integer(), nullable=False),
        sa.Column("environment_id", sa.Integer(), nullable=True),
        sa.Column("created", REAL, nullable=False),
        sa.ForeignKeyConstraint(
            ["environment_id"], ["environments.id"], name="fk_segments_environment_id_environments"
        ),
        sa.ForeignKeyConstraint(["space_id"], ["spaces.id"], name="fk_segments_space_id_spaces"),
        sa.PrimaryKeyConstraint("id", name="pk_segments"),
        sa.UniqueConstraint("name", name="uq_segments_name"),
    )
    op.create_index("ix_segments_space_id_modality", "segments", ["space_id", "modality"], unique=False)
    op.create_table(
        "systems",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("set_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("created", REAL, nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("is_current", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["set_id"], ["eval_sets.id"], name="fk_systems_set_id_eval_sets"),
        sa.PrimaryKeyConstraint("id", name="pk_systems"),
        sa.UniqueConstraint("set_id", "name", "digest", name="uq_systems_set_id_name_digest"),
    )
    op.create_table(
        "candidates",
        sa.Column("system_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("item_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("rank", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("text_id", ID, nullable=False),
        sa.Column("score", REAL, nullable=True),
        sa.Column("score_kind", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["system_id"], ["systems.id"], name="fk_candidates_system_id_systems"),
        sa.PrimaryKeyConstraint("system_id", "item_id", "rank", name="pk_candidates"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "item_references",
        sa.Column("item_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("text_id", ID, nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["eval_items.id"], name="fk_item_references_item_id_eval_items"),
        sa.PrimaryKeyConstraint("item_id", "position", name="pk_item_references"),
        sqlite_with_rowid=False,
    )
    op.execute("INSERT INTO commits (id, number) VALUES (1, 0)")


def downgrade() -> None:
    """Stores only move forward: keep a copy of the catalogue to go back."""
    raise NotImplementedError
