# Sourced by the other scripts, which have set `root`. `set_up GROUP` sees to it that .venv holds the project and
# the pinned packages of GROUP (runtime, test, lint or bench); it prints nothing on stdout and, unless it has work
# to do, takes a few hundredths of a second.

fits() {
  "$1" -I -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
  if [ -n "${BLACKBOARD_PYTHON:-}" ]; then
    fits "$BLACKBOARD_PYTHON" && command -v "$BLACKBOARD_PYTHON" && return
    echo "BLACKBOARD_PYTHON names '$BLACKBOARD_PYTHON', which is no Python 3.11 or newer with its venv and" \
      "ensurepip modules." >&2
    return 1
  fi
  for name in python3 python3.13 python3.12 python3.11 python; do
    if fits "$name"; then
      command -v "$name"
      return
    fi
  done
  echo "blackboard needs Python 3.11 or newer with its venv and ensurepip modules, and found none." >&2
  echo "Install one (Debian and Ubuntu: apt install python3 python3-venv) or name one in BLACKBOARD_PYTHON." >&2
  return 1
}

set_up() {
  if [ -x "$root/.venv/bin/python" ] && "$root/.venv/bin/python" -I -S "$root/scripts/_setup.py" --check "$1"; then
    return
  fi
  python=$(find_python) || exit 2
  "$python" -I "$root/scripts/_setup.py" "$1" >&2 </dev/null || exit
}
