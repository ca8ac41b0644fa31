"""The sections of the configuration that only a live cluster reads; simulations ignore them.

They follow the conventions of `schema.py`, which puts them into the whole configuration.
"""

import re
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta

from mpc.options import AnyPath, Options, SecondsInAnHour, Share, option

_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)"
_PORT = r"(?::(?:[0-9]{1,4}|[1-6][0-9]{4}))?"
AGENT_PATTERN = rf"^(?:([A-Za-z0-9._:-]+)=)?(https?://{_HOST}{_PORT}/?|unix:/[^\x00]+)$"


class Spark(Options):
    """How executors are added to and taken from the Spark application."""

    grace_s: SecondsInAnHour = option(
        20.0, "Time for which an executor may finish its tasks before it is killed."
    )
    class_archive: bool = option(
        True,
        "Whether `foresight submit` creates a class-data archive once per installation, so that "
        "executors start faster.",
    )


class Agents(Options):
    """The agents of the worker hosts; without any, frequencies stay as they are."""

    urls: tuple[Annotated[str, Meta(pattern=AGENT_PATTERN, max_length=1024)], ...] = option(
        (),
        "Addresses of the agents, one for each worker host. HOST is the host's name in Spark "
        "where the URL has another: HOST=https://10.0.0.11:9797 or "
        "HOST=unix:/run/foresight/agent.sock. Plain http is for agents on loopback.",
        max_length=1000,
        kind="a list of at most 1000 texts [HOST=]https://NAME:PORT or [HOST=]unix:PATH",
    )
    authority: AnyPath | None = option(
        None,
        "Certificate of the private authority that signed those of the agents.",
        absent="no TLS",
        example="/etc/foresight/ca.pem",
    )
    certificate: AnyPath | None = option(
        None,
        "Certificate with which the controller identifies itself to agents.",
        absent="no TLS",
        example="/etc/foresight/controller.pem",
    )
    key: AnyPath | None = option(
        None,
        "Private key of the certificate, readable by its owner alone.",
        absent="no TLS",
        example="/etc/foresight/controller.key",
    )


def _term(example: float, unit: str, description: str) -> float | None:
    return option(None, description, unit, ge=0, le=1e9, absent="no model", example=example)


class Power(Options):
    """What is known of the hosts' power before anything is measured: one figure, or a model."""

    full_power_w: float | None = option(
        None,
        "Power of all worker hosts with executors.max executors busy at the highest frequency.",
        "W",
        gt=0,
        le=1e9,
        absent="power counts in shares of it, and cannot be limited",
        example=240.0,
    )
    idle_share: Share = option(
        0.3,
        "What an executor that is held without work costs, as a share of one at work: its memory, "
        "its JVM and a slot that nobody else gets. 0: only work counts; 1: all executors count "
        "alike.",
    )
    base_w: float | None = _term(
        20.0, "W", "Power model of `foresight calibrate`: constant power of all hosts."
    )
    per_ghz_w: float | None = _term(
        20.0, "W/GHz", "Power model: power added by each GHz of the hosts' frequency."
    )
    per_executor_ghz_w: float | None = _term(
        5.8, "W/GHz", "Power model: power added by each busy executor and GHz."
    )
    per_executor_ghz3_w: float | None = _term(
        0.4, "W/GHz^3", "Power model: power added by each busy executor and cubed GHz."
    )

    @property
    def coefficients(self) -> tuple[float, float, float, float] | None:
        """Of P = a + b f + c n f + d n f^3, f in GHz; None without a model."""
        base_w, per_ghz_w = self.base_w, self.per_ghz_w
        per_executor_ghz_w, per_executor_ghz3_w = self.per_executor_ghz_w, self.per_executor_ghz3_w
        if base_w is None or per_ghz_w is None:
            return None
        if per_executor_ghz_w is None or per_executor_ghz3_w is None:
            return None
        return base_w, per_ghz_w, per_executor_ghz_w, per_executor_ghz3_w

    @property
    def in_watts(self) -> bool:
        """Whether watts are known, or only shares of an unknown power."""
        return self.full_power_w is not None or self.coefficients is not None


class JournalOptions(Options):
    """The record of every step, from which a restarted application continues."""

    folder: AnyPath = option(
        "foresight-journal",
        "Folder of the journals; each application has a subfolder of its own name.",
    )
    max_mb: int = option(
        64,
        "Size at which a new journal file begins; only the one before is kept.",
        "MB",
        ge=1,
        le=100_000,
    )
    resume_steps: int = option(
        600,
        "Largest number of journaled steps that a restarted application learns from; after a "
        "snapshot of the policy only the later ones. 0: it starts without memory and saves no "
        "snapshot.",
        "steps",
        ge=0,
        le=100_000,
    )


def agent_address(url: str) -> tuple[str, str]:
    """One of `agents.urls`: the host as Spark names it, empty if nothing does; and its address."""
    found = re.match(AGENT_PATTERN, url)
    if found is None:
        raise ValueError(f"not an agent's URL: {url!r}")
    name, address = found.groups()
    return name or urlsplit(address).hostname or "", address
