#!/bin/sh
# Builds the images of kind.yaml with this machine's Docker.
set -eu
cd "$(dirname "$0")"
command -v go >/dev/null || { echo "go-operator: go is not installed; see https://go.dev/dl" >&2; exit 2; }
command -v docker >/dev/null || { echo "go-operator: docker is not installed; see https://docs.docker.com/engine/install" >&2; exit 2; }
mkdir -p ../bin/images
CGO_ENABLED=0 go build -C ../operator -o ../bin/images/operator .
CGO_ENABLED=0 go build -C stand-in -o ../../bin/images/stand-in .
cp Dockerfile ../bin/images/
build() { docker build --quiet --target "$1" --tag "$2" ../bin/images; }
build operator go-operator:dev
build db example.invalid/db:1
build fill example.invalid/fill:1
