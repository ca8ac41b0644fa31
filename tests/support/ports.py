"""Ports of loopback for servers that must be told theirs."""

import socket


def free_port() -> int:
    """Nobody has it now; somebody else may take it before it is used, which no test has met yet."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
