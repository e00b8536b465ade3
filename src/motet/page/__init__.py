"""Pages: one self-contained HTML file that opens offline, made of words, tables, charts and items to search."""
