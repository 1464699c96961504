#!/bin/sh
# The tests of the Python client that need a cluster: those of its dynamic client, which its source distribution has.
# The other ones stand in its repository alone: PYTHON_CLIENT names a checkout, if they are to run as well.
set -eu
. "$(dirname "$0")/../suites.sh"
version=36.0.3 # 36.0.0 sends no tokens
cd "$OUT"
python3 -m venv venv
venv/bin/pip download --quiet --no-deps --no-binary :all: "kubernetes==$version"
venv/bin/pip install --quiet pytest PyYAML "kubernetes==$version"
tar xzf "kubernetes-$version.tar.gz"
serve --controllers --scheduler
cd "kubernetes-$version"
tests=kubernetes/dynamic
if [ -n "${PYTHON_CLIENT:-}" ]; then
  cp -R "$PYTHON_CLIENT/kubernetes/e2e_test" kubernetes/e2e_test
  tests="$tests kubernetes/e2e_test"
else
  mkdir kubernetes/e2e_test
  touch kubernetes/e2e_test/__init__.py
  cp "$SUITE/base.py" kubernetes/e2e_test/base.py
fi
"$OUT/venv/bin/python" -m pytest -p no:cacheprovider $tests --junit-xml="$OUT/python.junit.xml" || true
