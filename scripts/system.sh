# Installs packages of the operating system, when this user may. Sourced by the other scripts.

# Succeeds if this user may install packages without being asked: as root, with a sudo that wants
# no password, or with a package manager that needs neither.
may_install() {
    [ "$1" = brew ] || [ "$(id -u)" -eq 0 ] ||
        { command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; }
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

# Prints the name of the package manager, or fails where there is none.
package_manager() {
    for manager in apt-get dnf yum zypper apk pacman brew; do
        if command -v "$manager" >/dev/null 2>&1; then
            echo "$manager"
            return 0
        fi
    done
    return 1
}

# Installs one package with the given package manager; says nothing when that fails.
install_package() {
    may_install "$1" || return 1
    case $1 in
    apt-get) install_with_apt "$2" ;;
    dnf | yum) as_root "$1" -q -y install "$2" ;;
    zypper) as_root zypper --quiet --non-interactive install "$2" ;;
    apk) as_root apk add --quiet "$2" ;;
    pacman) as_root pacman -S --noconfirm --needed --quiet "$2" ;;
    brew) brew install --quiet "$2" ;;
    esac >/dev/null 2>&1
}

# Old package lists name files that are gone, hence the update; the time-outs are short so that a
# machine without a network goes on.
install_with_apt() {
    apt="env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::http::Timeout=20"
    # shellcheck disable=SC2086 # the words of $apt are meant to be split
    as_root $apt update && as_root $apt -y install --no-install-recommends "$1"
}
