"""Every way a configuration can be wrong gives exactly one line that says what is allowed."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.config import Config, ConfigError, load_config
from runtime.config.options import options

POLICIES = (
    "foresight, peak, static-N, rule-based, q-learning, value-iteration, parameter-search, "
    "edf-threshold, edf-q-learning, edf-model-based, mdp, mdp-rl, decentralised, "
    "ds2, hpa, spark-dra, spark-ratio, spl, "
    "lat-node-nosw, lat-node-h1, lat-node-h2, lat-node-h3, "
    "lat-power-nosw, lat-power-h1, lat-power-h2, lat-power-h3"
)

# What stands in foresight.toml, and the line it must give.
IN_FILE = [
    # Out of range.
    ("[cost]\nalpha = -1", "cost.alpha = -1: must be greater than 0"),
    ("[cost]\nalpha = 0.0", "cost.alpha = 0.0: must be greater than 0"),
    ("[cost]\nbeta = -0.5", "cost.beta = -0.5: must be at least 0"),
    ("[cost]\nalpha = nan", "cost.alpha = nan: must be a finite number"),
    ("[cost]\ngamma = inf", "cost.gamma = inf: must be a finite number"),
    ("[limits]\npower_cap_w = inf", "limits.power_cap_w = inf: must be a finite number"),
    ("[slo]\nquantile = 0.5", "slo.quantile = 0.5: must be greater than 0.5 and less than 1"),
    ("[slo]\nquantile = 1", "slo.quantile = 1: must be greater than 0.5 and less than 1"),
    (
        "[slo]\nlatency_ms = 0",
        "slo.latency_ms = 0: must be greater than 0 and at most 3600000",
    ),
    ("[horizon]\nsteps = 61", "horizon.steps = 61: must be between 1 and 60"),
    ("[horizon]\nstep_s = 0.5", "horizon.step_s = 0.5: must be between 1 and 60"),
    ("[executors]\nmax = 1001", "executors.max = 1001: must be between 1 and 1000"),
    (
        "[frequency]\nmin_khz = 1200",
        "frequency.min_khz = 1200: must be between 10000 and 10000000",
    ),
    ("[forecast]\nseason_steps = 1", "forecast.season_steps = 1: must be between 2 and 1000000"),
    (
        "[frequency]\nlist_khz = [1200000, 7]",
        "frequency.list_khz = [1200000, 7]: "
        "must be a list of 1 to 256 integers between 10000 and 10000000",
    ),
    (
        "[frequency]\nlist_khz = []",
        "frequency.list_khz = []: must be a list of 1 to 256 integers between 10000 and 10000000",
    ),
    ('[cost]\nresource = "cpu"', 'cost.resource = "cpu": must be one of executors, power'),
    ('policy = "oracle"', f'policy = "oracle": must be one of {POLICIES}'),
    ('policy = "static-0"', f'policy = "static-0": must be one of {POLICIES}'),
    # Wrong type.
    ('[cost]\nalpha = "2"', 'cost.alpha = "2": must be a number greater than 0'),
    ("[cost]\nbeta = true", "cost.beta = true: must be a number of at least 0"),
    ("[horizon]\nsteps = 5.0", "horizon.steps = 5.0: must be an integer between 1 and 60"),
    ("[horizon]\nsteps = true", "horizon.steps = true: must be an integer between 1 and 60"),
    (
        "[slo]\nquantile = 1979-05-27",
        "slo.quantile = 1979-05-27: must be a number greater than 0.5 and less than 1",
    ),
    ("[cost.alpha]\nx = 1", "cost.alpha = {x = 1}: must be a number greater than 0"),
    ("policy = 3", f"policy = 3: must be one of {POLICIES}"),
    ("cost = 3", "cost = 3: must be a table"),
    ("[[cost]]\nalpha = 1", "cost = [{alpha = 1}]: must be a table"),
    (
        f'[cost]\nalpha = "{"long " * 30}"',
        f'cost.alpha = "{"long " * 11}lon…: must be a number greater than 0',
    ),
    (
        '[cost]\nalpha = "two\\nlines"',
        'cost.alpha = "two\\nlines": must be a number greater than 0',
    ),
    # Unknown keys.
    ("[cost]\naplha = 1", "cost.aplha = 1: unknown key, did you mean cost.alpha?"),
    ("[frequency]\nmin = 1", "frequency.min = 1: unknown key, did you mean frequency.min_khz?"),
    ("[limits]\nalpha = 1", "limits.alpha = 1: unknown key, did you mean cost.alpha?"),
    ("[cots]\nalpha = 1", "cots = {alpha = 1}: unknown key, did you mean cost?"),
    ("latency_ms = 5", "latency_ms = 5: unknown key, did you mean slo.latency_ms?"),
    ('"cost.alpha" = 1', '"cost.alpha" = 1: unknown key, did you mean cost.alpha?'),
    (
        "[horizon]\nzzz = 1",
        "horizon.zzz = 1: unknown key, must be one of steps, step_s",
    ),
    (
        "zzz = 0x" + "f" * 5000,
        f"zzz = 0x{'f' * 57}…: unknown key, must be one of "
        "policy, mode, seed, slo, cost, horizon, executors, frequency, forecast, limits, latency, "
        "spark, agents, schedule, power, journal, web, policies",
    ),
    # Tables inside a table.
    ("[policies.ds2]\nboundary = 2", "policies.ds2.boundary = 2: must be between 0 and 1"),
    ("policies.ds2 = 3", "policies.ds2 = 3: must be a table"),
    (
        "[policies.ds2]\nboundry = 0.1",
        "policies.ds2.boundry = 0.1: unknown key, did you mean policies.ds2.boundary?",
    ),
    (
        "[policies.sparkratio]\nupper = 1",
        "policies.sparkratio = {upper = 1}: unknown key, did you mean policies.spark-ratio?",
    ),
    (
        "[policies]\nzzz = 1",
        "policies.zzz = 1: unknown key, must be one of rule-based, q-learning, "
        "value-iteration, parameter-search, edf-threshold, edf-q-learning, edf-model-based, mdp, "
        "mdp-rl, decentralised, ds2, hpa, spark-dra, spark-ratio, spl",
    ),
    (
        "[cost.zzz]\nx = 1",
        "cost.zzz = {x = 1}: unknown key, "
        "must be one of profile, alpha, beta, gamma, resource, scaling",
    ),
    # Contradictions; the option the user wrote is blamed, never a default.
    ("[executors]\nmin = 20", "executors.min = 20: must be at most executors.max = 12"),
    (
        "[frequency]\nmin_khz = 2100000\nmax_khz = 2000000",
        "frequency.min_khz = 2100000: must be at most frequency.max_khz = 2000000",
    ),
    (
        "[frequency]\nstep_khz = 1000",
        "frequency.step_khz = 1000: must give at most 256 frequencies, not 801",
    ),
    (
        "[frequency]\nlist_khz = [1600000, 1200000]",
        "frequency.list_khz = [1600000, 1200000]: must be in strictly ascending order",
    ),
    (
        "[frequency]\nlist_khz = [1200000]\nstep_khz = 100000",
        "frequency.list_khz = [1200000]: must not stand beside frequency.step_khz",
    ),
    (
        "[limits]\ndead_time_s = 5",
        "limits.dead_time_s = 5: must be less than horizon.steps * horizon.step_s = 2",
    ),
    (
        '[forecast]\nmodel = "holt"\nseason_steps = 60',
        "forecast.season_steps = 60: "
        'must be left out with forecast.model = "holt", which has no season',
    ),
    (
        '[forecast]\nrisk = "cvar"\nscenarios = 5',
        "forecast.scenarios = 5: must be at least 1 / (1 - forecast.risk_quantile) = 20",
    ),
    (
        '[forecast]\nrisk_quantile = 0.999\nrisk = "cvar"',
        "forecast.risk_quantile = 0.999: must be at most 1 - 1 / forecast.scenarios = 0.99",
    ),
    (
        'policy = "static-13"',
        'policy = "static-13": must keep at most executors.max = 12 executors',
    ),
    (
        'policy = "static-2"\n[executors]\nmin = 3',
        'policy = "static-2": must keep at least executors.min = 3 executors',
    ),
    (
        '[agents]\nurls = ["unix:/run/a.sock"]',
        'agents.urls = ["unix:/run/a.sock"]: must name the host of a UNIX socket, HOST=unix:/PATH',
    ),
    (
        '[agents]\nurls = ["https://w1:9797"]',
        'agents.urls = ["https://w1:9797"]: must stand together with '
        "agents.authority and agents.certificate and agents.key",
    ),
    (
        '[agents]\nkey = "c.key"',
        'agents.key = "c.key": must stand together with agents.authority and agents.certificate',
    ),
    (
        '[agents]\nurls = ["http://w1:1", "w1=unix:/a"]',
        'agents.urls = ["http://w1:1", "w1=unix:/a"]: must name one agent a host, w1 has several',
    ),
    (
        '[agents]\nurls = ["w1:9797"]',
        'agents.urls = ["w1:9797"]: must be a list of at most 1000 texts '
        "[HOST=]https://NAME:PORT or [HOST=]unix:PATH",
    ),
    (
        "[policies.spark-ratio]\nlower = 0.7",
        "policies.spark-ratio.lower = 0.7: must be at most policies.spark-ratio.upper = 0.6",
    ),
    (
        "[policies.parameter-search]\nmax_breaches = 1",
        "policies.parameter-search.max_breaches = 1: "
        "must be at least policies.parameter-search.min_breaches = 2",
    ),
    (
        "[policies.decentralised]\ntarget_load = 0.9",
        "policies.decentralised.target_load = 0.9: "
        "must be at most policies.decentralised.upper_load = 0.8",
    ),
    (
        "[policies.decentralised]\nlower_load = 0.75",
        "policies.decentralised.lower_load = 0.75: "
        "must be at most policies.decentralised.target_load = 0.7",
    ),
    (
        "[policies.q-learning]\nmax_latency_ms = 1000",
        "policies.q-learning.max_latency_ms = 1000: must be more than slo.latency_ms = 1000",
    ),
    (
        "[policies.value-iteration]\nlatency_granularity_ms = 2000",
        "policies.value-iteration.latency_granularity_ms = 2000: "
        "must be at most slo.latency_ms = 1000",
    ),
    # No TOML at all.
    ("[cost]\nalpha", "line 2, column 6: expected '=' after a key in a key/value pair"),
    ("[cost]\r\nalpha = ?", "line 2, column 9: invalid value"),
    ("x = [", "line 1, column 6: invalid value"),
    ("a = 1\na = 2", "line 2, column 6: cannot overwrite a value"),
    ("x = " + "9" * 5000, "must not hold an integer of thousands of digits"),
    ("x = " + "[" * 100_000, "must not be nested so deeply"),
]

# Overrides on top of a file, and the line they must give.
OVERRIDDEN = [
    ("", "cost.alpha=-1", "--set: cost.alpha = -1: must be greater than 0"),
    ("", "cost.aplha=1", "--set: cost.aplha = 1: unknown key, did you mean cost.alpha?"),
    ("", "cost=1", "--set: cost = 1: must be a table"),
    ("", "cost.alpha.x=1", "--set: cost.alpha = {x = 1}: must be a number greater than 0"),
    ("", "cost.resource=cpu", '--set: cost.resource = "cpu": must be one of executors, power'),
    ("", "cost.alpha", '--set: "cost.alpha": must be written section.key=value'),
    ("", "=1", '--set: "=1": must be written section.key=value'),
    (
        "",
        "cost.alpha=1.2.3",
        '--set: cost.alpha = "1.2.3": must be one TOML value, such as 3, 0.5, "power" or [1, 2]',
    ),
    (
        "",
        "cost.alpha=1\nbeta = 2",
        '--set: cost.alpha = "1\\nbeta = 2": '
        'must be one TOML value, such as 3, 0.5, "power" or [1, 2]',
    ),
    (
        "",
        "policies.hpa.tolerance=1",
        "--set: policies.hpa.tolerance = 1: must be at least 0 and less than 1",
    ),
    # The override made the conflict, so it is named, not the file.
    (
        "[executors]\nmin = 8",
        "executors.max=4",
        "--set: executors.max = 4: must be at least executors.min = 8",
    ),
    (
        'policy = "static-8"',
        "executors.max=4",
        '--set: executors.max = 4: must be at least 8 with policy = "static-8"',
    ),
    (
        "[limits]\ndead_time_s = 4",
        "horizon.steps=2",
        "--set: horizon.steps = 2: must reach beyond limits.dead_time_s = 4 at horizon.step_s = 1",
    ),
    (
        "[frequency]\nlist_khz = [1200000]",
        "frequency.min_khz=1200000",
        "foresight.toml: frequency.list_khz = [1200000]: must not stand beside frequency.min_khz",
    ),
]


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("text", "line"), IN_FILE)
def test_a_wrong_file_gives_one_exact_line(in_folder: Path, text: str, line: str) -> None:
    (in_folder / "foresight.toml").write_bytes(text.encode())
    with pytest.raises(ConfigError) as caught:
        load_config(Path("foresight.toml"))
    assert str(caught.value) == f"foresight.toml: {line}"


@pytest.mark.parametrize(("text", "override", "line"), OVERRIDDEN)
def test_a_wrong_override_is_named_as_such(
    in_folder: Path, text: str, override: str, line: str
) -> None:
    (in_folder / "foresight.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(Path("foresight.toml"), [override])
    assert str(caught.value) == line


def test_the_first_mistake_of_the_file_is_reported(in_folder: Path) -> None:
    (in_folder / "foresight.toml").write_text("[slo]\nquantile = 2\n[cost]\nalpha = -1")
    with pytest.raises(ConfigError, match=r"slo\.quantile"):
        load_config(Path("foresight.toml"))


def test_a_missing_file_is_one_line() -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(Path("no/such.toml"))
    assert str(caught.value) == "no/such.toml: no such file"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path)
    assert str(caught.value) == f"{tmp_path}: cannot be read: Is a directory"


def test_a_file_that_is_not_utf8_names_the_line(in_folder: Path) -> None:
    (in_folder / "foresight.toml").write_bytes(b"[cost]\n# \xff\n")
    with pytest.raises(ConfigError) as caught:
        load_config(Path("foresight.toml"))
    assert str(caught.value) == "foresight.toml: line 2: must be UTF-8 text"


def accepts(override: str) -> bool:
    """Whether an override is taken; a refusal must be one line."""
    try:
        config = load_config(None, [override])
    except ConfigError as error:
        assert str(error).startswith("--set: ")
        assert len(str(error).splitlines()) == 1
        return False
    assert isinstance(config, Config)
    return True


@given(
    key=st.sampled_from([".".join(key) for key in options(Config)]),
    text=st.one_of(
        st.integers().map(str),
        st.floats().map(str),
        st.lists(st.integers(0, 3_000_000)).map(str),
        st.sampled_from(["true", "power", "holt", '"', "[", "1979-05-27", "{a = 1}", ""]),
        st.text(st.characters(codec="utf-8", exclude_categories=["Zl", "Zp", "Cc"])),
    ),
)
def test_any_value_gives_a_configuration_or_one_line(key: str, text: str) -> None:
    accepts(f"{key}={text}")


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_alpha_is_taken_exactly_when_positive(number: float) -> None:
    assert accepts(f"cost.alpha={number!r}") == (number > 0)


@given(low=st.integers(-5, 1005), high=st.integers(-5, 1005))
def test_executor_bounds_are_taken_exactly_when_they_are_a_range(low: int, high: int) -> None:
    table = f"executors={{min = {low}, max = {high}}}"
    assert accepts(table) == (1 <= low <= high <= 1000)
