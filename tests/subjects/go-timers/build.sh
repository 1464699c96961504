#!/bin/sh
# Builds the program twice into bin/: with the current libraries, and with those of two years before.
set -eu
cd "$(dirname "$0")"
command -v go >/dev/null || { echo "go-timers: go is not installed; see https://go.dev/dl" >&2; exit 2; }
CGO_ENABLED=0 go build -o bin/current .
CGO_ENABLED=0 go build -modfile=old.mod -o bin/old .
