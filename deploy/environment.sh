# Sourced by quickstart and test: finds Python, makes .venv, installs what is pinned.
# A second run with unchanged inputs installs nothing.
# shellcheck shell=bash

say() { printf '[%4d s] %s\n' "$SECONDS" "$*"; }
fail() { printf 'failed: %s\n' "$*" >&2; exit 1; }

CONSTRAINTS=deploy/constraints.txt
CPU_TORCH_INDEX=${TPSWEEP_CPU_TORCH_INDEX:-https://download.pytorch.org/whl/cpu}

find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3 python3.13 python3.12 python3.11; do
    [ -n "$candidate" ] || continue
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  fail "no Python 3.11 or newer found; install one, or name it: PYTHON=/path/to/python3"
}

torch_flavour() {
  if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q GPU; then
    echo gpu
  elif [ "$(uname -sm)" = "Linux x86_64" ]; then
    echo cpu
  else
    echo default
  fi
}

apt_install() { # package; false where it cannot be had
  local apt=(apt-get -qq -o Acquire::Retries=5)
  command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || return
  say "installing Debian's $1"
  { "${apt[@]}" update && DEBIAN_FRONTEND=noninteractive "${apt[@]}" install -y --no-install-recommends "$1"; } >/dev/null
}

make_venv() {
  local python=$1
  [ -x .venv/bin/python ] && .venv/bin/python -c 'import pip' 2>/dev/null && return
  say "making .venv with $("$python" --version)"
  "$python" -c 'import ensurepip, venv' 2>/dev/null || apt_install python3-venv ||
    fail "$python has no venv module; on Debian as root: apt-get install python3-venv"
  rm -rf .venv
  "$python" -m venv .venv || fail "$python -m venv .venv did not work"
}

try_pip_install() {
  .venv/bin/python -m pip install --disable-pip-version-check --no-input "$@" >>.venv/install.log 2>&1
}

pip_install() {
  try_pip_install "$@" || {
    tail -n 25 .venv/install.log >&2
    fail "pip install $* (.venv/install.log has all of it)"
  }
}

install_torch() {
  local version
  version=$(sed -n 's/^torch==//p' $CONSTRAINTS)
  if [ "$1" = cpu ]; then
    # The CPU build is a tenth of the size. It may be in the configured indexes, else in PyTorch's own.
    try_pip_install -c $CONSTRAINTS "torch==$version+cpu" && return
    try_pip_install -c $CONSTRAINTS --extra-index-url "$CPU_TORCH_INDEX" "torch==$version+cpu" && return
    say "no CPU build of torch to be had, taking the usual one"
  fi
  pip_install -c $CONSTRAINTS "torch==$version"
}

ensure_chromium() { # the pages are tested in a real browser
  command -v chromium chromium-browser google-chrome >/dev/null && return
  apt_install chromium ||
    fail "the tests of the pages need Chromium; on Debian as root: apt-get install chromium"
}

inputs_of() { # what the environment is made from; another answer means: install again
  { echo "$1 $2 $PWD"; .venv/bin/python --version; cat pyproject.toml $CONSTRAINTS deploy/environment.sh; } |
    cksum | cut -d' ' -f1
}

ensure_environment() { # runtime | test
  local purpose=$1 flavour python
  python=$(find_python) || exit 1 # it has said why
  flavour=$(torch_flavour)
  make_venv "$python"
  local stamp=.venv/.installed-$purpose
  if [ "$(cat "$stamp" 2>/dev/null)" = "$(inputs_of "$purpose" "$flavour")" ]; then
    say "the environment is as it should be, nothing to install"
    return
  fi
  rm -f .venv/.installed-* .venv/install.log
  say "upgrading pip"
  pip_install --upgrade 'pip>=25.1'
  say "installing torch ($flavour build)"
  install_torch "$flavour"
  say "installing tpsweep and what it needs, as pinned in $CONSTRAINTS"
  pip_install -c $CONSTRAINTS -e '.[workers]'
  if [ "$purpose" = test ]; then
    say "installing what the tests need"
    pip_install -c $CONSTRAINTS --group test
    inputs_of test "$flavour" >.venv/.installed-test
  fi
  inputs_of runtime "$flavour" >.venv/.installed-runtime
  say "installed"
}

ensure_network_tools() { # ip and tc, for what needs network namespaces; false where they cannot be had
  command -v ip >/dev/null && command -v tc >/dev/null || apt_install iproute2
}

ensure_compiler() { # a test preloads a library of its own; false where there is no compiler to be had
  command -v cc >/dev/null || { apt_install gcc && apt_install libc6-dev; }
}
