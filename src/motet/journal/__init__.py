"""The journal: every call that was paid for, before and after it was made; named runs and their results."""

from motet.journal.call import Call
from motet.journal.journal import Journal, default_path
from motet.journal.pruning import Pruned
from motet.journal.run import OpenRun, Record, RunInfo
from motet.journal.stats import Stats

__all__ = ["Call", "Journal", "OpenRun", "Pruned", "Record", "RunInfo", "Stats", "default_path"]
