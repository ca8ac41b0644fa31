"""The section `[web]`: the page, the JSON and the metrics that the controller serves.

It follows the conventions of `schema.py`, which puts it into the whole configuration.
"""

from ipaddress import ip_address

from mpc.options import AnyPath, Options, Port, option

_ADDRESS = r"^[A-Za-z0-9._:-]+$"


class Web(Options):
    """The live page, its JSON and the metrics for Prometheus."""

    enabled: bool = option(True, "Whether the page is served while the application runs.")
    address: str = option(
        "127.0.0.1",
        "Address to listen on; any but a loopback address needs web.token_file.",
        max_length=255,
        pattern=_ADDRESS,
        kind="an IP address or a host name",
    )
    port: Port = option(4050, "Port to listen on, or the next free one if it is taken; 0 for any.")
    token_file: AnyPath | None = option(
        None,
        "File with the token that opens the page: at least 16 characters, readable by its owner "
        "alone.",
        absent="nobody is asked, so only loopback may be listened on",
        example="/etc/foresight/web.token",
    )

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
