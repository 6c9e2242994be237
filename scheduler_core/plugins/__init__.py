"""The rules of scheduling, one file per plugin; hot rules in two forms, for one node and for all rows of the table."""
