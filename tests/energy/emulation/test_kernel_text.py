import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.emulation.kernel_text import (
    KernelRefusal,
    boolean,
    cpu_list,
    flag,
    frequency_request,
    parse_cpu_list,
    scanned_flag,
    scanned_unsigned,
    scanned_word,
    unsigned_long,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2000000", 2_000_000),
        ("2000000\n", 2_000_000),
        ("+2000000", 2_000_000),
        ("0x1e8480", 2_000_000),
        ("0X1E8480\n", 2_000_000),
        ("07502200", 2_000_000),
        ("0", 0),
        ("18446744073709551615", (1 << 64) - 1),
    ],
)
def test_numbers_are_decimal_hexadecimal_or_octal(text: str, value: int) -> None:
    assert unsigned_long(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "\n", " 1", "1 ", "1\n\n", "-1", "+-1", "08", "0x", "0xg", "1k", "1.5", "1e6", "\u0661"],
)
def test_junk_is_no_number(text: str) -> None:
    with pytest.raises(KernelRefusal) as caught:
        unsigned_long(text)
    assert caught.value.number == errno.EINVAL


def test_more_than_64_bits_are_out_of_range() -> None:
    with pytest.raises(KernelRefusal) as caught:
        unsigned_long("18446744073709551616")
    assert caught.value.number == errno.ERANGE


def test_a_request_is_cut_to_32_bits_and_signed() -> None:
    assert frequency_request("4294967297") == 1
    assert frequency_request("2147483647") == 2_147_483_647
    assert frequency_request("4294967295") is None
    with pytest.raises(KernelRefusal):
        frequency_request("2147483648")


@given(st.integers(0, (1 << 31) - 1), st.sampled_from(["{}", "{:#x}", "0{:o}"]), st.booleans())
def test_any_base_gives_the_same_request(khz: int, base: str, line_end: bool) -> None:
    assert frequency_request(base.format(khz) + "\n" * line_end) == khz


@pytest.mark.parametrize(
    ("text", "value"), [("12 junk", 12), ("\t 7", 7), ("0x10", 0), ("4294967298", 2)]
)
def test_scanned_numbers_ignore_what_follows(text: str, value: int) -> None:
    assert scanned_unsigned(text) == value


@pytest.mark.parametrize("text", ["", "x1", "-1", "+1"])
def test_scanned_numbers_begin_with_a_digit(text: str) -> None:
    with pytest.raises(KernelRefusal):
        scanned_unsigned(text)


def test_words_are_cut() -> None:
    assert scanned_word("  schedutil and more") == "schedutil"
    assert scanned_word("a" * 30) == "a" * 15
    assert scanned_word("balance_performance\n", longest=20) == "balance_performance"
    with pytest.raises(KernelRefusal):
        scanned_word(" \n")


def test_switches() -> None:
    assert scanned_flag("1 junk") is True
    assert flag("0\n") is False
    assert boolean("yes") is True
    assert boolean("off") is False
    for parse, bad in ((scanned_flag, "2"), (scanned_flag, "-1"), (flag, "1 junk"), (flag, "-1")):
        with pytest.raises(KernelRefusal):
            parse(bad)
    with pytest.raises(KernelRefusal):
        boolean("2")


@given(st.sets(st.integers(0, 300)))
def test_cpu_lists_read_as_written(cpus: set[int]) -> None:
    ordered = tuple(sorted(cpus))
    assert parse_cpu_list(cpu_list(ordered)) == ordered
    assert parse_cpu_list(" ".join(str(cpu) for cpu in ordered)) == ordered


def test_cpu_lists_look_like_the_kernels() -> None:
    assert cpu_list((0, 1, 2, 5, 7, 8)) == "0-2,5,7-8"
    assert cpu_list(()) == ""
