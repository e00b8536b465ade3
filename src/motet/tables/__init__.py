"""Tables: recorded outcomes of agents on items, read from the files that others write. One format a file."""
