"""The store of a study: its SQLite file, tables, writers, readers and verification."""
