"""Pages: one self-contained HTML file that opens offline, made of words, tables and charts."""
