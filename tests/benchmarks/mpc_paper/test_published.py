import pytest

from benchmarks.mpc_paper.published import PUBLISHED, PublishedFigure, compare
from benchmarks.results import Comparison, Series
from tests.benchmarks.comparisons import make_comparison, make_run


def by_name(comparison: Comparison) -> dict[str, PublishedFigure]:
    figures = compare(comparison)
    named = {figure.name: figure for figure in figures}
    assert len(named) == len(figures)
    return named


def test_savings_are_of_the_mean_over_seeds() -> None:
    runs = [
        make_run("lat-power-nosw", 0, mean_power_w=48.0),
        make_run("lat-power-nosw", 1, mean_power_w=50.0),
        make_run("lat-node-nosw", 0, mean_power_w=59.0),
        make_run("lat-node-nosw", 1, mean_power_w=61.0),
    ]
    figure = by_name(make_comparison(*runs))["power saved by lat-power-nosw against lat-node-nosw"]
    assert figure.paper == 18.2
    assert figure.ours == pytest.approx(100 * (1 - 49 / 60))
    assert figure.difference == pytest.approx(figure.ours - 18.2)
    assert figure.tolerance == 4.0
    assert figure.within is True


@pytest.mark.parametrize(("power_w", "within"), [(52.6, True), (53.0, False), (45.5, False)])
def test_the_tolerance_of_the_saving_against_peak(power_w: float, within: bool) -> None:
    runs = [
        make_run("lat-power-h2", mean_power_w=power_w),
        make_run("peak", mean_power_w=69.5),
    ]
    figure = by_name(make_comparison(*runs))["power saved by lat-power-h2 against peak"]
    assert (figure.paper, figure.tolerance) == (29, 5.0)
    assert figure.within is within


def test_a_figure_without_promise_has_no_verdict() -> None:
    figure = by_name(make_comparison(make_run("lat-node-nosw", reconfigurations=40)))[
        "reconfigurations of lat-node-nosw"
    ]
    assert (figure.paper, figure.ours, figure.within) == (37, 40, None)


def test_only_figures_of_policies_that_ran() -> None:
    assert not by_name(make_comparison())
    names = by_name(make_comparison(make_run("lat-power-nosw")))
    assert all("lat-node" not in name and "peak" not in name for name in names)
    assert names["windows triggered in one run"].ours == 2_158_000


def test_only_under_the_published_conditions() -> None:
    run = make_run("lat-node-nosw")
    assert compare(make_comparison(run))
    assert not compare(make_comparison(run, step_s=2.0))
    assert not compare(make_comparison(run, threshold_s=3e-3))
    assert not compare(make_comparison(run, scenario="replay"))


def test_calibrated_figures_say_that_they_are_no_prediction() -> None:
    figures = by_name(make_comparison(make_run("lat-node-nosw")))
    for name in ("executors of lat-node-nosw", "power of lat-node-nosw"):
        assert "calibrated" in figures[name].note
    assert "calibrated" not in figures["violations of lat-node-nosw"].note


def test_switching_cost_overheads_on_the_equity_day() -> None:
    runs = [
        make_run("lat-node-nosw", mean_executors=8.0),
        make_run("lat-node-h1", mean_executors=9.0),
        make_run("lat-power-nosw", mean_power_w=50.0),
        make_run("lat-power-h3", mean_power_w=51.0),
    ]
    figures = by_name(make_comparison(*runs, scenario="equity-day", threshold_s=7e-3))
    node = figures["executors of lat-node-h1 above lat-node-nosw"]
    assert node.paper == 14.76
    assert node.ours == pytest.approx(12.5)
    power = figures["power of lat-power-h3 above lat-power-nosw"]
    assert power.paper == 1.12
    assert power.ours == pytest.approx(2.0)
    assert "Other day" in node.note


def test_table_3_is_for_steps_of_four_seconds() -> None:
    run = make_run("spl", violation_fraction=0.5, reconfigurations=20, mean_executors=5.0)
    figures = by_name(make_comparison(run, scenario="equity-day", threshold_s=7e-3, step_s=4.0))
    assert set(figures) == {
        "reconfigurations of spl",
        "share of time in violation of spl",
        "executors of spl",
    }
    share = figures["share of time in violation of spl"]
    assert share.paper == pytest.approx(100 * 230 / 235)
    assert share.ours == pytest.approx(50.0)


def test_the_step_is_read_from_the_series() -> None:
    executors = (8,) * 31 + (10,) * 14
    run = make_run("lat-node-nosw", series=_with_executors(executors))
    figures = by_name(make_comparison(run, scenario="paper-step"))
    assert figures["executors before the step, lat-node-nosw"].ours == 8
    assert figures["executors after the step, lat-node-nosw"].ours == 10
    assert figures["time of the first change after the step, lat-node-nosw"].ours == 31


def test_a_run_too_short_for_the_step_gives_no_figure() -> None:
    for executors in ((), (8,) * 10, (8,) * 45):
        run = make_run("lat-node-nosw", series=_with_executors(executors))
        names = by_name(make_comparison(run, scenario="paper-step"))
        assert "time of the first change after the step, lat-node-nosw" not in names


def test_nothing_finite_gives_no_figure() -> None:
    nan = float("nan")
    runs = [make_run("peak", mean_power_w=0.0), make_run("lat-node-h2", mean_power_w=nan)]
    assert not [name for name in by_name(make_comparison(*runs)) if "saved" in name]


def test_every_published_figure_has_a_source() -> None:
    for conditions in PUBLISHED:
        assert conditions.figures
        for figure in conditions.figures:
            assert figure.source
            assert figure.paper >= 0


def _with_executors(executors: tuple[int, ...]) -> Series:
    steps = len(executors)
    return Series(
        arrivals_per_s=(1.0,) * steps,
        expected_per_s=(None,) * steps,
        executors=executors,
        frequency_khz=(2_000_000,) * steps,
        latency_s=(None,) * steps,
        power_w=(1.0,) * steps,
    )
