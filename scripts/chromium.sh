#!/bin/sh
# Finds Chromium, or installs it with the package manager of the system when that is allowed. Only
# the tests of the web page need it, so a machine without it gets one sentence and goes on.
#
# usage: scripts/chromium.sh MARKER    (MARKER is a file that remembers a failed installation)
set -eu
marker=$1
. "$(dirname "$0")/system.sh"

find_chromium() {
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        if command -v "$name"; then
            return 0
        fi
    done
    return 1
}

package_for() {
    case $1 in
    apt-get | dnf | yum | zypper | apk | pacman) echo chromium ;;
    *) return 1 ;;
    esac
}

install_chromium() {
    manager=$(package_manager) && may_install "$manager" || return 1
    package=$(package_for "$manager") || return 1
    echo "Chromium is missing; installing it with $manager."
    install_package "$manager" "$package" && find_chromium >/dev/null
}

if find_chromium >/dev/null; then
    exit 0
fi
if [ ! -e "$marker" ] && install_chromium; then
    echo "Chromium: $(find_chromium)"
    exit 0
fi
mkdir -p "$(dirname "$marker")"
: >"$marker"
echo "warning: the tests of the web page need Chromium, which was not found and could not be" \
    "installed; they are skipped." >&2
