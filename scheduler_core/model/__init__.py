"""What all of the engine speaks of: statuses, events, node and pod infos, changes and effects."""
