#!/bin/sh
# Builds the operators into bin/: with client-go 0.31, and (bin/current) with 0.36.
set -eu
cd "$(dirname "$0")"
# Suites that run side by side may ask at once: the second waits for the first.
exec 9<build.sh
flock 9
command -v go >/dev/null || { echo "corpus: go is not installed; see https://go.dev/dl" >&2; exit 2; }
CGO_ENABLED=0 go build -o bin/operators .
CGO_ENABLED=0 go build -modfile=current.mod -o bin/current .
