"""Running the service: launchers of the databases, process commands, the supervisor and the command line."""
