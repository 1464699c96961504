#!/bin/sh
# Builds the program into bin/.
set -eu
cd "$(dirname "$0")"
command -v go >/dev/null || { echo "go-exec: go is not installed; see https://go.dev/dl" >&2; exit 2; }
CGO_ENABLED=0 go build -o bin/go-exec .
