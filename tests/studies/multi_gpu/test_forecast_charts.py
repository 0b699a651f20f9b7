"""Speed-up and efficiency beside a forecast to many devices, or over nodes, by their artists."""

import matplotlib as mpl
import pandas as pd

from scaling_rows import line, make_forecasts, make_rows
from showing_data import texts
from trainspeed.studies.multi_gpu.scaling_charts import plot_efficiency, plot_scaling

mpl.use("Agg")


class TestForecastOfMany:
    def forecasts(self, *counts):
        rows = [{"framework": "torch", "scaling": "strong", "devices": p, "speedup": p**0.5} for p in counts]
        return pd.DataFrame(rows)

    def shade(self, ax):
        return [patch for patch in ax.patches if patch.get_gid() == "unmeasured"]

    def test_devices_of_which_none_were_measured_are_on_shaded_ground(self):
        """4 devices were measured in strong scaling; weak scaling has no forecast."""
        strong, weak = plot_scaling(make_rows(), make_forecasts()).axes
        (shade,) = self.shade(strong)
        assert shade.get_x() == 4
        assert self.shade(weak) == []
        (note,) = texts(weak, "note")
        assert note.endswith("no interval;\nshaded: nothing measured")

    def test_what_was_measured_has_none(self):
        figure = plot_scaling(make_rows(), self.forecasts(2, 4))
        assert not any(self.shade(ax) for ax in figure.axes)

    def test_a_thousand_devices_leave_room_for_those_that_were_measured(self):
        """Both axes are logarithmic: two devices are a tenth of the way to 1,024."""
        ax = plot_scaling(make_rows(), self.forecasts(2, 64, 1024)).axes[0]
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
        assert {1, 2, 1024} <= set(ax.get_xticks())
        assert ax.get_ylim()[0] > 0 and ax.get_ylim()[1] > 1024

    def test_efficiency_of_a_thousand_devices_starts_at_zero(self):
        ax = plot_efficiency(make_rows(), self.forecasts(2, 1024)).axes[0]
        assert (ax.get_xscale(), ax.get_yscale(), ax.get_ylim()[0]) == ("log", "linear", 0)

    def test_a_slow_down_beside_them_is_not_cut_off_by_another_panel(self):
        rows = make_rows()
        rows.loc[rows["scaling"] == "strong", ["speedup", "low", "high"]] = 0.6, 0.5, 0.8
        ax = plot_scaling(rows, self.forecasts(2, 64, 1024)).axes[0]
        assert ax.get_ylim()[0] < 0.5


def test_devices_on_several_nodes_have_a_panel_and_a_forecast_of_their_own():
    """Two devices on one node and one on each of two are not one line."""
    rows = make_rows().query("scaling == 'strong' and framework == 'torch' and devices == 2")
    rows = pd.concat([rows.assign(nodes=1), rows.assign(nodes=2, speedup=1.2, low=1.1, high=1.3)])
    forecasts = pd.concat(make_forecasts().assign(nodes=n, speedup=1.0 * n) for n in (1, 2))
    figure = plot_scaling(rows, forecasts)
    assert [ax.get_title("left") or ax.get_title() for ax in figure.axes] == [
        "strong scaling, 1 node: batch 64",
        "strong scaling, 2 nodes: batch 64",
    ]
    assert [list(line(ax, "forecast").get_ydata()) for ax in figure.axes] == [[1.0] * 4, [2.0] * 3]


def test_a_line_of_several_nodes_joins_no_point_of_one_node():
    """From one device of one node to two of two nodes, two things change: devices and nodes."""
    rows = make_rows().query("scaling == 'strong' and framework == 'torch'")
    rows = pd.concat([rows.assign(nodes=1), rows.assign(nodes=2, speedup=[1.2, 1.9])])

    one, two = plot_scaling(rows).axes

    assert list(line(one, "PyTorch ddp").get_ydata()) == [1.0, 1.8, 3.0]
    assert list(line(two, "PyTorch ddp, 2 nodes").get_ydata()) == [1.2, 1.9]
