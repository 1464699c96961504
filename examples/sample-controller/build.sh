#!/bin/sh
# Builds upstream's sample-controller as it is, and takes its CRD from the same module, into bin/.
set -eu
cd "$(dirname "$0")"
# Suites that run side by side may ask at once: the second waits for the first.
exec 9<build.sh
flock 9
command -v go >/dev/null || { echo "sample-controller: go is not installed; see https://go.dev/dl" >&2; exit 2; }
go build -o bin/sample-controller k8s.io/sample-controller
module=$(go list -m -f '{{.Dir}}' k8s.io/sample-controller)
install -m 644 "$module/artifacts/examples/crd-status-subresource.yaml" bin/crd.yaml
