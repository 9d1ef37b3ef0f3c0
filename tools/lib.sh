# shellcheck shell=bash
# What tools/demo, tools/test and .ci/run share. Sourced, not run; callers have set -euo pipefail.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

say() { printf '\n== %s\n' "$*"; }

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# install_packages [MORE PACKAGES]: installs those of tools/packages.txt, and more, that dpkg does not know as installed.
# Says nothing when all are there.
install_packages() {
  local missing=() package log
  if ! command -v dpkg-query > /dev/null; then
    echo "This is not a Debian system: install the counterparts of tools/packages.txt by hand." >&2
    return
  fi
  while read -r package; do
    dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2> /dev/null | grep -q '^ii' || missing+=("$package")
  done < <(grep -v '^#' "$root/tools/packages.txt"; (($# == 0)) || printf '%s\n' "$@")
  ((${#missing[@]} == 0)) && return

  local as_root=()
  if [[ $(id -u) != 0 ]]; then
    command -v sudo > /dev/null ||
      die "missing packages: ${missing[*]}
install them as root: apt-get install --no-install-recommends ${missing[*]}"
    as_root=(sudo)
  fi
  say "Installing ${missing[*]}"
  log="$(mktemp)"
  if ! { "${as_root[@]}" apt-get update -q &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"; } \
    < /dev/null > "$log" 2>&1; then
    tail -n 15 "$log" >&2
    die "apt-get could not install ${missing[*]} (its whole output: $log).
LLVM 22 is in Debian 12's security suite: see that /etc/apt/sources.list* names bookworm-security."
  fi
  rm -f "$log"
}

# Compilers compile nearly the same files again and again across presets and clones: ccache, where it is installed.
# Paths inside the project are made relative, so that one clone profits from another.
use_ccache() {
  command -v ccache > /dev/null || return 0
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1
}

# configure PRESET [CMAKE ARGUMENTS]: quiet unless it fails.
configure() {
  local preset="$1" log
  shift
  log="$(mktemp)"
  if ! (cd "$root" && cmake --preset "$preset" "$@") > "$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    die "configuring failed"
  fi
  rm -f "$log"
}

# build PRESET [TARGETS]: ninja's own progress line on a terminal; elsewhere a line at every tenth of the way.
build() {
  local preset="$1"
  shift
  local command=(cmake --build "$root/build/$preset")
  (($#)) && command+=(--target "$@")
  if [[ -t 1 ]]; then
    NINJA_STATUS='[%f/%t, %es] ' "${command[@]}"
  else
    NINJA_STATUS='[%p] [%f/%t, %es] ' "${command[@]}" 2>&1 | awk '
      /^\[ *[0-9]+%\] / {
        match($0, /[0-9]+/)
        percent = substr($0, RSTART, RLENGTH) + 0
        sub(/^\[ *[0-9]+%\] /, "")
        if (int(percent / 10) > shown) { shown = int(percent / 10); print; fflush() }
        next
      }
      { print; fflush() }'
  fi
}
