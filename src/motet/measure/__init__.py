"""Measure: pure numbers on tables of outcomes. No agents, no I/O, no state. One concept a file."""
