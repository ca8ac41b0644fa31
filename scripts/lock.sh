#!/bin/sh
# Writes constraints.txt: the newest versions that pyproject.toml allows, every package pinned.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$(dirname "$0")/install.sh" "$work/venv" --without-pins
{
    echo "# Every package, exactly: two installations with this file are the same."
    echo "# Written by \`make lock\`; do not edit."
    "$work/venv/bin/python" -m pip freeze --all --exclude-editable
} >"$work/constraints.txt"
mv "$work/constraints.txt" constraints.txt
