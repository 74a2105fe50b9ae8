"""Point caches, Alembic, and exports without anything of ours."""
