"""The reader of rate files."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from runtime.rates import read_rates


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("5\n7\n9\n", None),
        ("rate\n5\n7\n9\n", None),
        ("timestamp|value\n1|5\n2|7\n3|9\n", None),
        (
            "time,value\n2014-07-01 00:00:00,5\n2014-07-01 00:30:00,7\n2014-07-01 01:00:00,9\n",
            None,
        ),
        ("second;rate\n1;5\n2;7\n3;9\n", "rate"),
        ("3\n0 5\n1 7\n2 9\n", None),
        ("# made by hand\n0\t5\n\n1\t7\n2\t9\n", None),
        ('"time","a","b"\n0,1,5\n1,1,7\n2,1,9\n', "b"),
        ("0,1,5\n1,1,7\n2,1,9\n", "2"),
        ("0,1,5\n1,1,7\n2,1,9\n", 2),
        ("t,a,b\n0,1,\n1,1,5\n2,1,7\n3,1,9\n4,1,\n", "b"),
    ],
)
def test_rate_files_of_many_kinds(tmp_path: Path, text: str, column: str | int | None) -> None:
    plain, zipped = tmp_path / "rates.csv", tmp_path / "rates.csv.gz"
    plain.write_text(text)
    zipped.write_bytes(gzip.compress(text.encode()))
    np.testing.assert_array_equal(read_rates(plain, column), [5.0, 7.0, 9.0])
    np.testing.assert_array_equal(read_rates(str(zipped), column), [5.0, 7.0, 9.0])


def test_an_empty_field_between_rates_is_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "rates.csv"
    path.write_text("t,rate\n0,5\n1,\n2,9\n")
    np.testing.assert_array_equal(read_rates(path), [5.0, np.nan, 9.0])


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", None, "is empty"),
        ("t,rate\n", None, "no rates below the header"),
        ("t,rate\n0,\n1,\n", None, "column 1 holds no rates"),
        ("t,a,b\n0,1,2\n", None, "has columns: t, a, b; say which one holds the rates"),
        ("0,1,2\n0,1,2\n", None, "has 3 columns; say which one"),
        ("t,a,b\n0,1,2\n", "c", "has no column 'c'; it has columns: t, a, b"),
        ("0,1\n", "7", "has no column 7; it has 2 columns, counted from 0"),
        ("t,rate\n0,1\n1,fast\n", None, ":3: 'fast' is not a rate"),
        ("t,rate\n0,1\n1,-4\n", None, ":3: '-4' is not a rate"),
        ("t,rate\n0,1\n1,inf\n", None, ":3: 'inf' is not a rate"),
        ("t,rate\n0,1\n1\n2,3\n", None, ":3: has 1 fields"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(
    tmp_path: Path, text: str, column: str | None, message: str
) -> None:
    path = tmp_path / "rates.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_rates(path, column)


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "not.gz").write_text("5\n7\n")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(ValueError, match="no such file"):
        read_rates(tmp_path / "absent.csv")
    with pytest.raises(ValueError, match="is a directory"):
        read_rates(tmp_path)
    with pytest.raises(ValueError, match="is not gzipped"):
        read_rates(tmp_path / "not.gz")
    with pytest.raises(ValueError, match="is not a text file"):
        read_rates(tmp_path / "binary.csv")


@pytest.mark.parametrize(
    ("name", "column", "count", "first"),
    [
        ("paper/random_walk_rates.txt", None, 180, 300_000.0),
        ("rates/demeter_ads_18h.csv.gz", None, 64_800, 7_796.0),
        ("rates/daedalus_ads_6h_550K.csv.gz", None, 21_601, 0.0),
        ("rates/nab_twitter_volume.csv.gz", "AAPL", 15_902, 104.0),
        ("rates/worldcup98_per_min.csv.gz", None, 125_300, 2.0),
    ],
)
def test_the_shared_files_are_read(
    shared_data: Path, name: str, column: str | None, count: int, first: float
) -> None:
    rates = read_rates(shared_data / name, column)
    assert len(rates) == count
    assert rates[0] == first
    assert np.isfinite(rates).all()
