#!/bin/sh
# Makes the virtual environment and installs the project with exactly the versions that
# constraints.txt pins, the build tool included, so that two installations are the same.
#
# usage: scripts/install.sh VENV [--without-pins]    (PYTHON names the interpreter to use)
set -eu
venv=$1
constraints="--constraint constraints.txt"
[ "${2:-}" = "--without-pins" ] && constraints=""
. "$(dirname "$0")/system.sh"

is_recent() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
    for python in ${PYTHON:+"$PYTHON"} python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v "$python" >/dev/null 2>&1 && is_recent "$python"; then
            echo "$python"
            return 0
        fi
    done
    return 1
}

# Debian and Ubuntu ship Python without the module that puts pip into an environment.
require_ensurepip() {
    "$1" -c 'import ensurepip' 2>/dev/null && return 0
    package=$("$1" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    if [ "$(package_manager)" = apt-get ] && may_install apt-get; then
        echo "$package is missing; installing it with apt-get."
        install_package apt-get "$package" && "$1" -c 'import ensurepip' 2>/dev/null && return 0
    fi
    echo "error: this Python cannot make virtual environments: install $package." >&2
    exit 1
}

# An environment that was moved, or whose Python is gone, runs programs of another place.
if [ -e "$venv/.installed" ] && [ "$(cat "$venv/.installed")" != "$PWD" ]; then
    rm -rf "$venv"
fi
if ! is_recent "$venv/bin/python"; then
    if ! python=$(find_python); then
        echo "error: Python 3.11 or newer was not found: install it, or name it in PYTHON." >&2
        exit 1
    fi
    require_ensurepip "$python"
    echo "Making $venv with $("$python" --version)."
    "$python" -m venv --clear "$venv"
fi
echo "Installing the packages into $venv (the first time takes a minute or two)."
install="$venv/bin/python -m pip install -qq --disable-pip-version-check"
# shellcheck disable=SC2086 # the words of $install and $constraints are meant to be split
$install $constraints --upgrade pip setuptools
# shellcheck disable=SC2086
$install $constraints --no-build-isolation --editable '.[dev]'
echo "Compiling the optimiser, so that no first start waits for it."
"$venv/bin/python" -m runtime.compile
