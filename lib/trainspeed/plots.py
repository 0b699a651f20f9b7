"""The report's charts, gathered: a tidy frame in, an Axes or a Figure of small multiples out.

Each chart lives with its kind; a notebook needs this module only. Set the theme once before
(`trainspeed.theme.set_theme`) and show a chart with its alt text (`trainspeed.theme.show`).
"""

from trainspeed.plots_batch import plot_memory, plot_ratio_trend, plot_time_vs_batch
from trainspeed.plots_conv2d import plot_stages
from trainspeed.plots_conv2d_sweeps import plot_sweeps
from trainspeed.plots_costs import plot_costs
from trainspeed.plots_monitor import plot_monitor
from trainspeed.plots_pipelines import plot_pipelines
from trainspeed.plots_rows import plot_accuracy, plot_speedups
from trainspeed.plots_scaling import plot_efficiency, plot_scaling

__all__ = [
    "plot_accuracy",
    "plot_costs",
    "plot_efficiency",
    "plot_memory",
    "plot_monitor",
    "plot_pipelines",
    "plot_ratio_trend",
    "plot_scaling",
    "plot_speedups",
    "plot_stages",
    "plot_sweeps",
    "plot_time_vs_batch",
]
