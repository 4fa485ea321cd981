"""Snapshots to figures: one pure function per question a viewer may ask.

Knows no component and no language: words are arguments. Colours are the light theme's. Whatever was
not measured is left out and called so in the text, never drawn as zero.
"""

from specdemo.charts.all import charts, lanes_of, live_charts
from specdemo.charts.chart import Chart, Lanes, Words
from specdemo.charts.overlay import overlay_figure

__all__ = ["Chart", "Lanes", "Words", "charts", "lanes_of", "live_charts", "overlay_figure"]
