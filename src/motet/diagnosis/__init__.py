"""Diagnosis: what a table of outcomes says about mixing its agents, in the order a person wants it.

One file a section: what it holds, how it is computed, and how it is shown; `diagnose` puts them together.
"""
