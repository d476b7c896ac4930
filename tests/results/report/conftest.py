"""Fixtures of the tests of reports."""

import matplotlib.axes
import pytest
from fake_results import EXPECTED, REPORT, build, paper_rows, write_report

from budgetrun.results.plotting import save
from budgetrun.results.report import figures


@pytest.fixture(autouse=True, scope="module")
def no_pictures():
    """Saving pictures takes most of the time of a report; most tests look at what is around them."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(figures, "save", lambda figure, *paths: [path.touch() for path in paths])
        yield


@pytest.fixture
def drawn(monkeypatch):
    """A test that asks for it gets real SVG files, and empty PNG files."""
    monkeypatch.setattr(figures, "save", lambda figure, png, svg: png.touch() or save(figure, svg))


@pytest.fixture
def paper(tmp_path):
    """A results folder with published numbers, findings and one figure."""
    return build(tmp_path / "fake", paper_rows(), report=REPORT, expected={"table1": EXPECTED})


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """The same folder with its report, which tests do not change; without pictures."""
    folder = tmp_path_factory.mktemp("reported") / "fake"
    write_report(build(folder, paper_rows(), report=REPORT, expected={"table1": EXPECTED}))
    return folder


class Drawing:
    """Records what is drawn: lines, error bars and looks by label, hollow marks, and bands."""

    def __init__(self, monkeypatch):
        self.lines, self.hollow, self.bands, self.bars, self.looks = {}, [], [], {}, {}
        plot, fill, bar = (getattr(matplotlib.axes.Axes, name) for name in ("plot", "fill_between", "errorbar"))

        def record_plot(axes, xs, ys, **look):
            if look.get("markerfacecolor") == "none":
                self.hollow.append((list(xs), list(ys)))
            else:
                self.lines.setdefault(look["label"], []).append((list(xs), list(ys)))
                self.looks.setdefault(look["label"], set()).add((look["color"], look["marker"]))
            return plot(axes, xs, ys, **look)

        def record_fill(axes, xs, low, high, **look):
            self.bands.append((list(xs), list(low), list(high)))
            return fill(axes, xs, low, high, **look)

        def record_bar(axes, xs, ys, **look):
            self.bars[look["label"]] = (list(xs), list(ys), look.get("xerr"), look.get("yerr"))
            self.looks.setdefault(look["label"], set()).add((look["color"], look["marker"]))
            return bar(axes, xs, ys, **look)

        monkeypatch.setattr(matplotlib.axes.Axes, "plot", record_plot)
        monkeypatch.setattr(matplotlib.axes.Axes, "fill_between", record_fill)
        monkeypatch.setattr(matplotlib.axes.Axes, "errorbar", record_bar)


@pytest.fixture
def drawing(monkeypatch):
    """A record of all that is drawn from now on."""
    return Drawing(monkeypatch)
