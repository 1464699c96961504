#!/bin/sh
# Builds the program into bin/.
set -eu
cd "$(dirname "$0")"
# Suites that run side by side may ask at once: the second waits for the first.
exec 9<build.sh
flock 9
command -v go >/dev/null || { echo "go-exec: go is not installed; see https://go.dev/dl" >&2; exit 2; }
CGO_ENABLED=0 go build -o bin/go-exec .
