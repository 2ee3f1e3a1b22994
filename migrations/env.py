"""Alembic's environment: runs on the connection that clipstore hands over, and says nothing."""

from alembic import context

from clipstore.storage.schema import metadata

connection = context.config.attributes.get("connection")
if connection is None:
    msg = "clipstore runs its own migrations when a store is opened; tools hand a connection in config.attributes"
    raise RuntimeError(msg)

context.configure(
    connection=connection,
    target_metadata=metadata,
    render_as_batch=True,  # SQLite can't alter most things in place
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
