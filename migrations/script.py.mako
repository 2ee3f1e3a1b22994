"""${message}

Revision ID: ${up_revision}
Revises: ${down_revision | comma,n}
"""

import sqlalchemy as sa
from alembic import op
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}


def upgrade() -> None:
    """Bring a store of the revision before to this one."""
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    """Stores only move forward: keep a copy of the catalogue to go back."""
    raise NotImplementedError
