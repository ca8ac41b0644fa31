"""The sections of the configuration that only a live cluster reads; simulations ignore them.

They follow the conventions of `schema.py`, which puts them into the whole configuration.
"""

import re
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta, Struct

_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)"
_PORT = r"(?::(?:[0-9]{1,4}|[1-6][0-9]{4}))?"
AGENT_PATTERN = rf"^(?:([A-Za-z0-9._:-]+)=)?(https?://{_HOST}{_PORT}/?|unix:/[^\x00]+)$"


class Spark(Struct, frozen=True, forbid_unknown_fields=True):
    """How executors are added to and taken from the Spark application."""

    grace_s: Annotated[
        float,
        Meta(
            ge=0,
            le=3600,
            description="Time an executor may drain before it is killed.",
            extra={"unit": "s"},
        ),
    ] = 20.0
    class_archive: Annotated[
        bool,
        Meta(
            description="`foresight submit` makes a class-data archive once per installation, so "
            "that executors start faster."
        ),
    ] = True


class Agents(Struct, frozen=True, forbid_unknown_fields=True):
    """The agents of the worker hosts; without any, frequencies stay as they are."""

    urls: Annotated[
        tuple[Annotated[str, Meta(pattern=AGENT_PATTERN, max_length=1024)], ...],
        Meta(
            max_length=1000,
            description="One agent a worker host. HOST is the host's name in Spark, if the URL "
            "has another: HOST=https://10.0.0.11:9797 or HOST=unix:/run/foresight/agent.sock. "
            "Plain http is for agents on loopback.",
            extra={
                "kind": "a list of at most 1000 texts [HOST=]https://NAME:PORT or [HOST=]unix:PATH"
            },
        ),
    ] = ()
    authority: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=1024,
                description="Certificate of the private authority that signed the agents.",
                extra={"kind": "a path", "absent": "no TLS", "example": "/etc/foresight/ca.pem"},
            ),
        ]
        | None
    ) = None
    certificate: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=1024,
                description="Certificate of this controller.",
                extra={
                    "kind": "a path",
                    "absent": "no TLS",
                    "example": "/etc/foresight/controller.pem",
                },
            ),
        ]
        | None
    ) = None
    key: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=1024,
                description="Key of this controller, readable by its owner alone.",
                extra={
                    "kind": "a path",
                    "absent": "no TLS",
                    "example": "/etc/foresight/controller.key",
                },
            ),
        ]
        | None
    ) = None


class Power(Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of the hosts' power before anything is measured: one figure, or a model."""

    full_power_w: (
        Annotated[
            float,
            Meta(
                gt=0,
                le=1e9,
                description="Power of all worker hosts with executors.max executors busy at the "
                "highest frequency.",
                extra={
                    "unit": "W",
                    "absent": "power counts in shares of it, and cannot be limited",
                    "example": 240.0,
                },
            ),
        ]
        | None
    ) = None
    base_w: (
        Annotated[
            float,
            Meta(
                ge=0,
                le=1e9,
                description="Model, as `foresight calibrate` writes it: what all hosts draw "
                "whatever runs.",
                extra={"unit": "W", "absent": "no model", "example": 20.0},
            ),
        ]
        | None
    ) = None
    per_ghz_w: (
        Annotated[
            float,
            Meta(
                ge=0,
                le=1e9,
                description="Model: added by each GHz of the hosts' frequency.",
                extra={"unit": "W/GHz", "absent": "no model", "example": 20.0},
            ),
        ]
        | None
    ) = None
    per_executor_ghz_w: (
        Annotated[
            float,
            Meta(
                ge=0,
                le=1e9,
                description="Model: added by each busy executor and GHz.",
                extra={"unit": "W/GHz", "absent": "no model", "example": 5.8},
            ),
        ]
        | None
    ) = None
    per_executor_ghz3_w: (
        Annotated[
            float,
            Meta(
                ge=0,
                le=1e9,
                description="Model: added by each busy executor and cubed GHz.",
                extra={"unit": "W/GHz^3", "absent": "no model", "example": 0.4},
            ),
        ]
        | None
    ) = None

    @property
    def coefficients(self) -> tuple[float, float, float, float] | None:
        """Of P = a + b f + c n f + d n f^3, f in GHz; None without a model."""
        given = tuple(
            value
            for value in (
                self.base_w,
                self.per_ghz_w,
                self.per_executor_ghz_w,
                self.per_executor_ghz3_w,
            )
            if value is not None
        )
        if len(given) < 4:
            return None
        base_w, per_ghz_w, per_executor_ghz_w, per_executor_ghz3_w = given
        return base_w, per_ghz_w, per_executor_ghz_w, per_executor_ghz3_w

    @property
    def in_watts(self) -> bool:
        """Whether watts are known, or only shares of an unknown power."""
        return self.full_power_w is not None or self.coefficients is not None


class JournalOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The record of every step, from which a restarted application continues."""

    folder: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=1024,
            description="Folder of the journals; each application has its own in it, by its name.",
            extra={"kind": "a path"},
        ),
    ] = "foresight-journal"
    max_mb: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000,
            description="Size at which a file is closed; the one before it is kept, older go.",
            extra={"unit": "MB"},
        ),
    ] = 64
    resume_steps: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000,
            description="Journaled steps that a restarted application learns from, unless its "
            "policy was saved: then only those after that. 0: it begins anew, and saves nothing.",
            extra={"unit": "steps"},
        ),
    ] = 600


def agent_address(url: str) -> tuple[str, str]:
    """One of `agents.urls`: the host as Spark names it, empty if nothing does; and its address."""
    found = re.match(AGENT_PATTERN, url)
    if found is None:
        raise ValueError(f"not an agent's URL: {url!r}")
    name, address = found.groups()
    return name or urlsplit(address).hostname or "", address
