"""How every command line of README and docs is held: run here, run by another test, or not run.

`RUN` are run by `test_documented_commands.py`, shortened by options of their own where they take
long. `TESTED` names the test that runs a line already, `NOT_RUN` the reason why nothing runs it
here, and `NAMES` are commands that a sentence names without all that they need.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Run:
    options: str = ""
    """Added at the end, where an option counts instead of the same one before it."""
    words: Mapping[str, str] = field(default_factory=dict)
    """What stands for the placeholders of the line."""
    lines: tuple[str, ...] = ()
    """What a synopsis with brackets stands for; they begin with the same command."""
    writes: tuple[str, ...] = ()
    """Files that exist then: JSON, TOML and HTML whole."""
    prints: str = ""
    """Part of the standard output."""
    codes: tuple[int, ...] = (0,)
    also: tuple[str, ...] = ()
    """Lines that differ in options alone, and have no run of their own."""


_SHORT = "--repeat 1 --processes 1"
_CURVE = f"{_SHORT} --curve 1 --policies foresight,peak"
_DAY = "--step-s 60"
"""A trading day is 234 s long, here four steps."""
_TUNE = (
    "--bin 10 --block 60 --candidates 4 --processes 1 --set executors.max=4 "
    "--set frequency.list_khz=[1200000,2000000] --set forecast.scenarios=10 "
    "--set horizon.step_s=10"
)
_PEERS = "--max-steps 30 --repeat 1 --processes 1"

RUN = {
    # The scenarios of the MPC paper.
    "foresight bench paper-random-walk --repeat 10": Run(
        _SHORT, prints="oracle", also=("foresight bench paper-random-walk",)
    ),
    "foresight bench paper-random-walk --policies lat-node-nosw,peak --repeat 25": Run(
        _SHORT, prints="lat-node-nosw"
    ),
    "foresight bench paper-random-walk --policies foresight --set cost.alpha=0.3 --json -": Run(
        _SHORT, prints='"policy": "foresight"'
    ),
    "foresight bench paper-random-walk --repeat 10 --curve 10 --picture FILE": Run(
        _CURVE, words={"FILE": "walk.svg"}, writes=("walk.svg",)
    ),
    "foresight bench paper-random-walk --repeat 10 --curve 10 --report random-walk.html": Run(
        _CURVE, writes=("random-walk.html",)
    ),
    "foresight bench equity-day --day 20131008 --history 20131007 --policies foresight "
    "--repeat 10": Run(f"{_SHORT} {_DAY}", prints="foresight"),
    "foresight bench equity-day --day 20131007 --repeat 10": Run(
        f"{_SHORT} {_DAY} --policies peak,foresight", prints="foresight"
    ),
    "foresight bench equity-day --day 20131007 --repeat 10 --curve 10 --report day-1.html": Run(
        f"{_CURVE} {_DAY}",
        writes=("day-1.html",),
        also=(
            "foresight bench equity-day --day 20131008 --repeat 10 --curve 10 --report day-2.html",
        ),
    ),
    "foresight bench replay --rates rates.csv --rate-column rate --latency-ms 1.5 "
    "--policies peak,rule-based,lat-power-h2,foresight,oracle --report out.html": Run(
        f"{_SHORT} --max-steps 5", writes=("out.html",), prints="oracle"
    ),
    # The trading demo, simulated.
    "foresight bench hft --simulate --policies foresight,peak --repeat 5": Run(
        "--repeat 2 --duration 20 --warm-up 160 --json -",
        prints='"backend": "simulation"',
        also=(
            "foresight bench hft --simulate --policies foresight,peak --repeat 5 --arrivals batch",
        ),
    ),
    # The other papers and the peers.
    "foresight bench thesis": Run("--runs 1", prints="queue-aware"),
    "foresight bench thesis --experiments executor-strategy,overall --json rows.json": Run(
        "--runs 1", writes=("rows.json",)
    ),
    "foresight bench edf --seed 1": Run(
        "--hours 1 --json edf.json", writes=("edf.json",), also=("foresight bench edf",)
    ),
    "foresight bench mdp --sla-ms 650": Run(
        "--days 1 --operators 3 --memory-mb 16 --processes 1",
        prints="centralised",
        also=("foresight bench mdp",),
    ),
    "foresight bench decentralised --traces --json decentralised.json": Run(
        "--repeat 1 --schedules 20", writes=("decentralised.json",), prints="VIOLATION"
    ),
    "foresight bench peers --rates FILE --repeat 3": Run(
        f"{_PEERS} --policies ds2,hpa,spark-ratio", words={"FILE": "rates.csv"}, prints="ds2"
    ),
    "foresight bench peers --rates FILE --repeat 3 --policies foresight "
    "--set cost.profile=latency": Run(_PEERS, words={"FILE": "rates.csv"}, prints="foresight"),
    "foresight bench peers --rates rates.csv.gz --report out.html": Run(
        _PEERS, writes=("out.html",), prints="foresight-executors"
    ),
    # The parts alone.
    "foresight bench decision": Run("--steps 20", prints="1,000"),
    "foresight bench forecast --rates rates.csv": Run(prints="mixture"),
    "foresight bench forecast --rates FILE --shares": Run(
        words={"FILE": "rates.csv"}, prints="memory"
    ),
    "foresight bench forecast --rates FILE --told-every 12": Run(
        words={"FILE": "long.csv"}, prints="mixture"
    ),
    "foresight bench forecast --rates random_walk_rates.txt": Run(
        "--horizon 1", words={"random_walk_rates.txt": "rates.csv"}, prints="mixture"
    ),
    "foresight bench power --sweep sweep.csv": Run(prints="prior"),
    "foresight bench power-online --sweep sweep.csv": Run("--orders 2", prints="best_mape"),
    "foresight bench optimizer": Run("--seconds 0", prints="energy-budget"),
    "foresight bench latency-model": Run(
        "--rho 0.5 --cv 0.2 --trigger 2 --batches 100 --seeds 1", prints="error_late_share"
    ),
    "foresight bench dvfs": Run("--rounds 1", prints="cgroup"),
    "foresight bench resume": Run("--steps 60 --policies ds2,mdp-rl", prints="mdp-rl"),
    "foresight bench agent --seconds 30": Run("--seconds 2 --policies 2", prints="policies"),
    "foresight calibrate --emulate": Run(
        "--seconds 1 --settle 1.5 --points 5 --executors 1", prints="per_executor_ghz3_w"
    ),
    # What reads a journal, or tunes from one.
    "foresight top": Run("--once", prints="arrivals"),
    "foresight top [JOURNAL]": Run(
        lines=("foresight top foresight-journal/wordcount --once",), prints="arrivals"
    ),
    "foresight explain JOURNAL": Run(
        words={"JOURNAL": "foresight-journal/my-app"}, prints="Measured"
    ),
    "foresight explain JOURNAL [--step N | --at TIME] [--json FILE]": Run(
        lines=(
            "foresight explain foresight-journal/my-app --step 3 --json why.json",
            "foresight explain foresight-journal/my-app --at 1010",
        ),
        writes=("why.json",),
        prints="Measured",
    ),
    "foresight explain foresight-journal/wordcount": Run(prints="Measured"),
    "foresight replay JOURNAL": Run(words={"JOURNAL": "foresight-journal/wordcount"}),
    "foresight replay JOURNAL [--config FILE] [--set SECTION.KEY=VALUE] [--policy NAME] "
    "[--json FILE]": Run(
        lines=(
            "foresight replay foresight-journal/my-app --set cost.alpha=3 --json replay.json",
            "foresight replay foresight-journal/my-app --config foresight-journal/my-app/"
            "config.toml --policy peak",
        ),
        writes=("replay.json",),
        prints="fixed configuration",
    ),
    "foresight report JOURNAL [OTHER] -o report.html": Run(
        lines=(
            "foresight report foresight-journal/my-app -o one.html",
            "foresight report foresight-journal/my-app foresight-journal/wordcount -o report.html",
        ),
        writes=("one.html", "report.html"),
    ),
    'foresight pause foresight-journal/my-app --reason "database migration"': Run(
        prints="paused", writes=("foresight-journal/my-app/paused",)
    ),
    "foresight resume foresight-journal/my-app": Run(prints="was not paused"),
    "foresight tune --rates FILE --target-latency 5s --check": Run(
        f"{_TUNE} -o tuned.toml --json tuned.json",
        words={"FILE": "rates.csv"},
        writes=("tuned.json",),
        also=("foresight tune --rates rates.csv --target-latency 5s -o tuned.toml",),
    ),
    "foresight tune --from foresight-journal/my-app --target-latency 800ms --max-violations 1%": (
        Run(
            "--block 60 --candidates 4 --processes 1 --set executors.max=4 "
            "--set forecast.scenarios=10 --set horizon.step_s=10",
            prints="present",
        )
    ),
    # Configurations, hosts, Kubernetes.
    "foresight config > foresight.toml": Run(writes=("foresight.toml",)),
    "foresight check foresight.toml": Run(prints="valid"),
    "foresight check examples/wordcount/foresight.toml": Run(prints="valid"),
    # 1: a virtual machine has no frequency to cap.
    "foresight doctor": Run(prints="usable", codes=(0, 1)),
    "foresight agent install --dry-run": Run(prints="nothing was written"),
    "foresight agent certs ./pki --agent worker1,10.0.0.11 --controller controller": Run(
        writes=("pki/ca.pem", "pki/controller.key")
    ),
    "foresight agent certs ./pki --agent worker1,10.0.0.11 --agent worker2,10.0.0.12 "
    "--controller controller": Run(writes=("pki/ca.pem", "pki/worker2.pem")),
    "foresight kubernetes values > values.toml": Run(writes=("values.toml",)),
    "foresight kubernetes agent --values values.toml > agent.yaml": Run(writes=("agent.yaml",)),
    "foresight kubernetes driver --values values.toml > driver.yaml": Run(writes=("driver.yaml",)),
}

HERE = "tests/end_to_end/test_documented_commands.py"
_DAEMON = "tests/runtime/agent/service/test_daemon.py"
_EXAMPLES = "tests/end_to_end/spark/test_examples.py"
_THIRD_PARTY = "tests/runtime/test_third_party.py"
_AGENT = (
    "foresight agent run --set emulation.enabled=true "
    "--set listen.socket=/tmp/foresight-agent/agent.sock --set files.state=/tmp/foresight-agent "
    "--set files.audit=/tmp/foresight-agent/audit.jsonl"
)

TESTED = {
    "make paper": f"{HERE}::test_make_paper",
    _AGENT: f"{HERE}::test_the_agent_that_is_shown_serves",
    f"{_AGENT} &": f"{HERE}::test_the_agent_that_is_shown_serves",
    "foresight agent status --socket /tmp/foresight-agent/agent.sock": (
        f"{HERE}::test_the_agent_that_is_shown_serves"
    ),
    "foresight calibrate --agent /run/foresight/agent.sock --hosts 4 --executor-cores 2 "
    "-o power.toml": f"{HERE}::test_the_agent_that_is_shown_serves",
    "openssl rand -hex 24 > web.token && chmod 600 web.token": f"{HERE}::test_a_token_is_made",
    "foresight agent status": f"{_DAEMON}::test_status_and_release_over_the_socket",
    "foresight agent release": f"{_DAEMON}::test_status_and_release_over_the_socket",
    "foresight agent restore": (
        f"{_DAEMON}::test_the_restore_command_restores_what_a_killed_agent_left"
    ),
    "sudo foresight agent install": (
        "tests/runtime/agent/service/test_install.py::test_install_writes_every_file_once"
    ),
    "systemd-analyze security --offline=true": (
        "tests/runtime/agent/service/test_units.py::test_exposure_is_low"
    ),
    "foresight dashboard JOURNAL [--listen 127.0.0.1:4050]": (
        "tests/runtime/web/test_terminal.py::test_dashboard_serves_until_it_is_interrupted"
    ),
    "FORESIGHT_TRACEBACK=1 foresight …": (
        "tests/runtime/test_cli.py::test_a_traceback_is_there_for_who_asks"
    ),
    "_FORESIGHT_COMPLETE=source_bash foresight": (
        "tests/runtime/test_completion.py::test_bash_completes_with_the_script"
    ),
    "foresight --show-completion": f"{HERE}::test_completion_is_shown",
    "foresight submit --local 2x2 --emulate --config examples/wordcount/foresight.toml "
    "examples/wordcount/app.py": f"{_EXAMPLES}::test_on_emulated_hosts_of_its_own",
    "foresight submit --local 2x2 --config examples/stateful/foresight.toml "
    "examples/stateful/app.py": f"{_EXAMPLES}::test_on_a_cluster",
    "foresight submit --local 2x2 --config examples/trading/foresight.toml "
    "examples/trading/app.py": f"{_EXAMPLES}::test_on_a_cluster",
    "foresight submit --config foresight.toml --master spark://HOST:7077 app.py": (
        "tests/end_to_end/spark/test_submit.py::test_an_unmodified_application_runs_under_control"
    ),
    "foresight submit --config foresight.toml --master spark://... app.py [args]": (
        "tests/end_to_end/spark/test_submit.py::test_an_unmodified_application_runs_under_control"
    ),
    "pip install .": f"{_THIRD_PARTY}::test_the_example_keeps_the_contract",
    "foresight bench peers --rates FILE --policies foresight,hpa,square-root": (
        f"{_THIRD_PARTY}::test_the_example_is_configured_and_compared"
    ),
    "foresight bench peers --rates FILE --max-steps 500 --policies square-root": (
        f"{_THIRD_PARTY}::test_the_example_is_configured_and_compared"
    ),
    "pytest tests/runtime/insight/test_estimate.py": "tests/runtime/insight/test_estimate.py",
    "python -m tests.end_to_end.agent.crashes --lives 100 --seed 1": (
        "tests/end_to_end/agent/test_crashes.py::test_whatever_happened_the_host_is_as_it_was"
    ),
    "python -m tests.end_to_end.agent.fuzz --requests 100000 --seed 1": (
        "tests/end_to_end/agent/test_fuzz.py"
        "::test_nothing_bad_is_accepted_and_every_answer_has_a_code"
    ),
    "make docs": "tests/runtime/test_generated.py",
    "scripts/package.sh VENV DIST": "tests/runtime/test_package.py",
}

_MINUTES = "minutes on a Spark cluster that has the machine to itself"
_ENVIRONMENT = "makes the environment that the tests run in"
_SERVICE = "needs an installed service under a running systemd"
_KUBECTL = "needs a Kubernetes cluster"

NOT_RUN = {
    "make install": _ENVIRONMENT,
    "make install && . .venv/bin/activate": _ENVIRONMENT,
    ". .venv/bin/activate": _ENVIRONMENT,
    "scripts/install.sh VENV": _ENVIRONMENT,
    "git clone … foresight && cd foresight": "the address is the reader's",
    "make test": "is this run",
    "make test-spark": "is the other half of the run of all tests",
    "make test-platforms": "runs in CI, on clusters of its own",
    "make test-kafka": "runs in CI, on a broker of its own",
    "make check": "runs beside the tests, over the same files",
    "make format": "rewrites the files of the checkout",
    "make lock": "needs a package index, and rewrites the pins",
    "make demo": f"seven {_MINUTES} for each of three policies",
    "foresight bench hft": f"seven {_MINUTES} for each of three policies",
    "foresight bench hft --policies foresight --repeat 5 --peak 60100 --trough 4300": (
        f"seven {_MINUTES} for each of five rounds"
    ),
    "foresight bench calibrate-plant": f"twelve {_MINUTES}",
    "foresight bench overhead": f"eight {_MINUTES}",
    "foresight bench pipeline": f"four {_MINUTES}",
    "foresight bench quotes": f"two {_MINUTES}",
    "foresight --install-completion": "changes the start-up files of the user's shell",
    "sudo systemctl enable --now foresight-agent": _SERVICE,
    "systemctl restart foresight-agent": _SERVICE,
    "kubectl apply -f": _KUBECTL,
    "kubectl port-forward deployment/wordcount 4050": _KUBECTL,
    "python -m venv /opt/foresight": "needs root and a package index",
    "/opt/foresight/bin/pip install --constraint constraints.txt "
    "foresight_autoscaler-0.1.0-py3-none-any.whl": "needs root and a package index",
    "spark-submit --deploy-mode cluster": "is named as what does not work",
}

NAMES = {
    "foresight agent certs --days",
    "foresight bench",
    "foresight bench peers",
    "foresight calibrate",
    "foresight check",
    "foresight config",
    "foresight explain",
    "foresight pause",
    "foresight replay",
    "foresight report",
    "foresight resume",
    "foresight submit",
    "foresight tune",
    "foresight tune --from",
}
