#!/bin/sh
# The tests of the rules in Gateway API's CRDs, of both channels. They would download a server for envtest, so they get
# one that is served, as their TestMain allows, and the CRDs that they would install there.
set -eu
. "$(dirname "$0")/../suites.sh"
module sigs.k8s.io/gateway-api@v1.4.1
serve
mkdir trommel-crds
cp "$SUITE/install.go" trommel-crds/main.go
for channel in standard experimental; do
  go run ./trommel-crds "config/crd/$channel"
  go test -count=1 -json "-tags=$channel" ./pkg/test/cel >"$OUT/$channel.gotest.json" || true
done
