"""What the API server does to objects, without a database, a clock or a socket: rules over a store."""
