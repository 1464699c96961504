#!/bin/sh
# All tests of controller-runtime; those that need a cluster start one by envtest. Some would download Kubernetes 1.28,
# unless it is where setup-envtest keeps it: there is the same server as for all others.
set -eu
. "$(dirname "$0")/../suites.sh"
module sigs.k8s.io/controller-runtime@v0.24.1
assets
export XDG_DATA_HOME="$OUT/data"
old=$XDG_DATA_HOME/kubebuilder-envtest/k8s/1.28.0-linux-$(go env GOARCH)
mkdir -p "$old"
ln -s "$KUBEBUILDER_ASSETS/etcd" "$KUBEBUILDER_ASSETS/kube-apiserver" "$old/"
ln -s "$KUBEBUILDER_ASSETS/etcd" "$old/kubectl" # is looked for, not started
tests $(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' ./pkg/... | sed "s,^$PWD/,./,")
