from pathlib import Path

import pytest

from benchmarks.parts.power import PowerRow, SweepError, power_rows, read_sweep
from energy.power import CalibratedPower

HEADER = "#Workers\tFrequency\tTime\tWatts\tBandwidth\n"


def sweep_text(host: CalibratedPower) -> str:
    lines = [
        f"{n}\t{khz}\t1.0\t{float(host.power_w(n, khz))}\t2.0"
        for n in range(1, 9)
        for khz in range(1_000_000, 2_000_001, 200_000)
    ]
    return HEADER + "\n".join(lines) + "\n"


def by_model(rows: list[PowerRow]) -> dict[tuple[str, int], float]:
    return {(row.model, row.calibration_points): row.mape for row in rows}


@pytest.mark.parametrize("application", ["blackscholes", "pbzip2", "simple_mandelbrot"])
def test_seven_points_predict_a_measured_sweep_within_five_percent(
    shared_data: Path, application: str
) -> None:
    error = by_model(power_rows(shared_data / "power" / f"{application}_REPARA_results.csv"))
    assert error["calibrated", 7] <= 0.05
    # Two to four times better than the paper's model, from the same points.
    assert error["calibrated", 7] <= error["proportional", 7] / 2
    assert error["prior", 1] <= error["proportional", 1] / 2


def test_an_exact_host_leaves_no_error_for_the_calibrated_model(tmp_path: Path) -> None:
    sweep = tmp_path / "sweep.csv"
    sweep.write_text(sweep_text(CalibratedPower(8.0, 7.0, 2.0, 0.6)))
    rows = power_rows(sweep)
    assert {(row.model, row.calibration_points) for row in rows} == {
        ("proportional", 1),
        ("prior", 1),
        *((model, count) for model in ("proportional", "calibrated") for count in (7, 12, 48)),
    }
    for row in rows:
        assert (row.mape < 1e-6) == (row.model == "calibrated")


def test_turbo_rows_are_left_out(tmp_path: Path) -> None:
    sweep = tmp_path / "sweep.csv"
    text = sweep_text(CalibratedPower(8.0, 7.0, 2.0, 0.6))
    sweep.write_text(text)
    without = read_sweep(sweep)
    sweep.write_text(text + "1\t2001000\t1.0\t99.0\t2.0\n8\t2001000\t1.0\t199.0\t2.0\n")
    assert read_sweep(sweep) == without


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1 1200000 3.0 20.0\n", r"sweep\.csv:2: 4 columns, expected 5: Workers"),
        ("1 1200000 3.0 watts 2.0\n", r"sweep\.csv:2: could not convert"),
        ("1 1200000 3.0 -5 2.0\n", r"sweep\.csv:2: power_w must be positive"),
        ("1 1200000 3.0 20 2.0\n1 1200000 3.0 21 2.0\n", r"sweep\.csv:3: .* there twice"),
        ("1 1200000 3.0 20 2.0\n2 1200000 3.0 21 2.0\n", "two worker counts and two frequencies"),
        ("", "has 0 points"),
    ],
)
def test_a_bad_sweep_says_where_and_what(tmp_path: Path, text: str, complaint: str) -> None:
    sweep = tmp_path / "sweep.csv"
    sweep.write_text(HEADER + text)
    with pytest.raises(SweepError, match=complaint):
        read_sweep(sweep)


def test_a_missing_sweep_is_named(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match=r"nothing\.csv: cannot be read"):
        read_sweep(tmp_path / "nothing.csv")
