#!/bin/sh
# Builds the sdist and, from that sdist alone, the wheel; installs the wheel with the pins into an
# environment of its own and runs it there. Nothing of the checkout is used but what is packaged.
#
# usage: scripts/package.sh VENV [DIST]    (VENV has the build tool; DIST is dist without it)
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")/bin/python
mkdir -p "${2:-dist}"
dist=$(cd "${2:-dist}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# In a copy: the build tool leaves folders behind where it works.
mkdir "$work/tree"
(cd "$root" && tar -cf - --exclude=__pycache__ --exclude='*.egg-info' \
    pyproject.toml README.md CHANGELOG.md constraints.txt foresight.py foresight.toml \
    forecasting energy mpc runtime benchmarks) | tar -xf - -C "$work/tree"
cd "$work/tree"
sdist=$("$python" -c 'import sys, setuptools.build_meta as build
sys.stdout = sys.stderr
name = build.build_sdist(sys.argv[1])
print(name, file=sys.__stdout__)' "$dist" 2>"$work/log") || { cat "$work/log" >&2; exit 1; }

mkdir "$work/sdist"
tar -xzf "$dist/$sdist" -C "$work/sdist" --strip-components=1
cd "$work/sdist"
wheel=$("$python" -c 'import sys, setuptools.build_meta as build
sys.stdout = sys.stderr
name = build.build_wheel(sys.argv[1])
print(name, file=sys.__stdout__)' "$dist" 2>"$work/log") || { cat "$work/log" >&2; exit 1; }
echo "$dist/$sdist"
echo "$dist/$wheel"

echo "Installing $wheel into an environment of its own."
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install -qq --disable-pip-version-check \
    --constraint "$root/constraints.txt" "$dist/$wheel"
cd "$work"
foresight=$work/venv/bin/foresight
"$foresight" --version
"$foresight" config >"$work/foresight.toml"
"$foresight" check "$work/foresight.toml" >/dev/null
"$foresight" agent install --dry-run --prefix "$work/host" >/dev/null
"$foresight" bench optimizer >/dev/null
"$work/venv/bin/python" -c 'import foresight; foresight.load_config(None)'
echo "The wheel is complete: it starts, checks, shows its units and decides."
