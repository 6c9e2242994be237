"""The web half: cluster objects in PostgreSQL, the engine in Celery workers, everything shown live in the browser."""
