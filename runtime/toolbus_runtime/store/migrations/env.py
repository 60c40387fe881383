"""
Alembic's entry: runs revisions on the connection that `database.migrate` hands over, inside its transaction.

Revisions only add (tables, nullable columns, indexes): the code of the release before must go on working.
"""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
