"""The long work of scheduling, callable without Celery: slices of the loop, bindings, the sweep."""
