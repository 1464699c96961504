#!/bin/sh
# Builds the operator and renders its manifests.
set -eu
. ../kubebuilder.sh
go build -o bin/operator sigs.k8s.io/lws/cmd
render lws "$(go list -m -f '{{.Dir}}' sigs.k8s.io/lws)/config" certs
