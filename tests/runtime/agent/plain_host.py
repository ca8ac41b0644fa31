"""A worker host in a plain folder: enough of /sys for the unmodified daemon to work on."""

from pathlib import Path

TOP_KHZ = 2_000_000
CPUFREQ = "sys/devices/system/cpu/cpufreq"


def make_plain_host(root: Path, policies: int = 2) -> Path:
    for number in range(policies):
        folder = root / CPUFREQ / f"policy{number}"
        folder.mkdir(parents=True)
        for name, value in {
            "affected_cpus": number,
            "related_cpus": number,
            "cpuinfo_min_freq": 1_200_000,
            "cpuinfo_max_freq": TOP_KHZ,
            "scaling_min_freq": 1_200_000,
            "scaling_max_freq": TOP_KHZ,
            "scaling_cur_freq": TOP_KHZ,
            "scaling_driver": "intel_cpufreq",
            "scaling_governor": "schedutil",
            "scaling_available_governors": "performance schedutil",
            "scaling_setspeed": "<unsupported>",
        }.items():
            (folder / name).write_text(f"{value}\n")
    return root


def limits_khz(root: Path) -> list[int]:
    """The upper limit of every policy; 0 for one that is just being written."""
    paths = sorted((root / CPUFREQ).glob("policy*/scaling_max_freq"))
    # A plain file, unlike one of the kernel, is empty for a moment while it is written.
    return [int(path.read_text() or 0) for path in paths]
