#!/bin/sh
# Makes .venv with what requirements.txt names; does nothing if that is there already.
set -eu
cd "$(dirname "$0")"
# Suites that run side by side may ask at once: the second waits for the first.
exec 9<build.sh
flock 9
command -v python3 >/dev/null || { echo "python-bar-foo: python3 is not installed" >&2; exit 2; }
if ! cmp -s requirements.txt .venv/installed; then
  python3 -m venv --clear .venv
  .venv/bin/pip install --quiet --disable-pip-version-check -r requirements.txt
  cp requirements.txt .venv/installed
fi
