#!/bin/sh
# Finds Java 17 or newer, or installs it with the package manager of the system when that is
# allowed. Only the parts on Spark need it, so a machine without it gets one sentence and goes on.
#
# usage: scripts/java.sh MARKER    (MARKER is a file that remembers a failed installation)
set -eu
marker=$1
. "$(dirname "$0")/system.sh"

# Succeeds if the program is a Java of version 17 or newer: 'version "17.0.15"', but "1.8.0_392".
is_recent() {
    major=$("$1" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
    [ -n "$major" ] && [ "$major" -ge 17 ]
}

find_java() {
    for java in \
        ${JAVA_HOME:+"$JAVA_HOME/bin/java"} \
        "$(command -v java || true)" \
        /usr/lib/jvm/*/bin/java \
        /opt/homebrew/opt/openjdk*/bin/java \
        /usr/local/opt/openjdk*/bin/java \
        /Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java; do
        if [ -x "$java" ] && is_recent "$java"; then
            echo "$java"
            return 0
        fi
    done
    return 1
}

# The newest long-term version first; distributions carry one or the other.
packages_for() {
    case $1 in
    apt-get) echo openjdk-21-jre-headless openjdk-17-jre-headless ;;
    dnf | yum | zypper) echo java-21-openjdk-headless java-17-openjdk-headless ;;
    apk) echo openjdk21-jre-headless openjdk17-jre-headless ;;
    pacman) echo jre21-openjdk-headless jre17-openjdk-headless ;;
    brew) echo openjdk@21 openjdk@17 ;;
    esac
}

install_java() {
    manager=$(package_manager) && may_install "$manager" || return 1
    echo "Java 17 or newer is missing; installing it with $manager."
    for package in $(packages_for "$manager"); do
        if install_package "$manager" "$package" && find_java >/dev/null; then
            return 0
        fi
    done
    return 1
}

if find_java >/dev/null; then
    exit 0
fi
if [ ! -e "$marker" ] && install_java; then
    echo "Java: $(find_java)"
    exit 0
fi
mkdir -p "$(dirname "$marker")"
: >"$marker"
echo "warning: running on Spark needs Java 17 or newer, which was not found and could not be" \
    "installed: install a Java 17 runtime (for example openjdk-17-jre-headless) or set JAVA_HOME." >&2
