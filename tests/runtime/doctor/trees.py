"""Small sysfs trees in a folder."""

from pathlib import Path

ACPI = {
    "affected_cpus": "{cpu}",
    "related_cpus": "{cpu}",
    "freqdomain_cpus": "{cpu}",
    "cpuinfo_min_freq": "1200000",
    "cpuinfo_max_freq": "2000000",
    "scaling_min_freq": "1200000",
    "scaling_max_freq": "2000000",
    "scaling_cur_freq": "1200000",
    "scaling_driver": "acpi-cpufreq",
    "scaling_governor": "schedutil",
    "scaling_available_governors": "userspace performance schedutil ",
    "scaling_available_frequencies": "2000000 1600000 1200000 ",
    "boost": "1",
}


def write(root: Path, path: str, text: str) -> None:
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text}\n")


def add_policies(root: Path, count: int = 2, **changed: str) -> None:
    for cpu in range(count):
        folder = f"/sys/devices/system/cpu/cpufreq/policy{cpu}"
        for name, text in {**ACPI, **changed}.items():
            write(root, f"{folder}/{name}", text.format(cpu=cpu))


def add_package(root: Path, number: int = 0, energy_uj: str = "1000") -> None:
    folder = f"/sys/class/powercap/intel-rapl:{number}"
    write(root, f"{folder}/name", f"package-{number}")
    write(root, f"{folder}/energy_uj", energy_uj)
    write(root, f"{folder}/max_energy_range_uj", "262143328850")
