"""Bakes to files: Alembic and point caches."""
