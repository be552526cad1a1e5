"""The operations that only ask: they change neither the book nor the client's own game, and may be repeated."""

ASKING = frozenset(("ping", "hello", "metrics", "status", "legal", "analyze", "book.get", "jobs", "batch.results"))
