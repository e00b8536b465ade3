"""Routers: which agents is a question worth, before any of them is asked. One a file, beside the seam in `base`.

A new file here is found by itself: by the configuration, for the compositions that take a router.
"""

from motet.route.base import Forecast, Router
from motet.route.by_cards import ByCards
from motet.route.by_topic import ByTopic

__all__ = ["ByCards", "ByTopic", "Forecast", "Router"]
