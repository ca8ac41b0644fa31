"""The section `[web]`: the page, the JSON and the metrics that the controller serves.

It follows the conventions of `schema.py`, which puts it into the whole configuration.
"""

from ipaddress import ip_address
from typing import Annotated

from msgspec import Meta, Struct

_ADDRESS = r"^[A-Za-z0-9._:-]+$"


class Web(Struct, frozen=True, forbid_unknown_fields=True):
    """The live page, its JSON and the metrics for Prometheus."""

    enabled: Annotated[
        bool, Meta(description="Whether the page is served while the application runs.")
    ] = True
    address: Annotated[
        str,
        Meta(
            pattern=_ADDRESS,
            max_length=255,
            description="Address to listen on; any but a loopback address needs web.token_file.",
            extra={"kind": "an IP address or a host name"},
        ),
    ] = "127.0.0.1"
    port: Annotated[
        int,
        Meta(
            ge=0,
            le=65535,
            description="Port to listen on, or the next free one if it is taken; 0 for any.",
        ),
    ] = 4050
    token_file: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=1024,
                description="File with the token that opens the page: at least 16 characters, "
                "readable by its owner alone.",
                extra={
                    "kind": "a path",
                    "absent": "nobody is asked, so only loopback may be listened on",
                    "example": "/etc/foresight/web.token",
                },
            ),
        ]
        | None
    ) = None

    @property
    def on_loopback(self) -> bool:
        return is_loopback(self.address)


def is_loopback(address: str) -> bool:
    """A name other than localhost may resolve to anything, now or later."""
    if address == "localhost":
        return True
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
