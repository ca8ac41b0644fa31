"""A `java` that does what the scripts of Spark expect of one, without a JVM.

As the launcher it prints the command it was asked for; as Master or Worker it says what the real
one logs and waits.
"""

import os
import sys
import time
from pathlib import Path

FAILS = "FAKE_JAVA_FAILS"
"""Set to a part of a main class: that daemon ends at once."""


def install(folder: Path) -> Path:
    """A JAVA_HOME with this in it."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f'#!/bin/sh\nexec {sys.executable} {__file__} "$0" "$@"\n')
    java.chmod(0o755)
    return folder


def main(java: str, *arguments: str) -> None:
    if "-version" in arguments:
        sys.stderr.write('fake version "17.0.0"\n')
        return
    if "org.apache.spark.launcher.Main" in arguments:
        command = arguments[arguments.index("org.apache.spark.launcher.Main") + 1 :]
        os.write(1, b"\0\n" + b"".join(os.fsencode(each) + b"\0" for each in (java, *command)))
        return
    main_class = arguments[0]
    failing = os.environ.get(FAILS)
    if failing is not None and failing in main_class:
        sys.exit(f"{main_class} cannot start")
    if main_class.endswith("Master"):
        print("12:00:00 INFO Master: Starting Spark master at spark://127.0.0.1:4711", flush=True)
    else:
        print("12:00:00 INFO Worker: Successfully registered with master", arguments, flush=True)
    time.sleep(600)


if __name__ == "__main__":
    main(*sys.argv[1:])
