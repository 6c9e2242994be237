"""Controllers of a simulated cluster: state machines that turn changes and time into requests of the API server."""
