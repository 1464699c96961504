#!/bin/sh
# Builds the operator and renders its manifests.
set -eu
. ../kubebuilder.sh
go build -o bin/operator sigs.k8s.io/jobset
render jobset "$(go list -m -f '{{.Dir}}' sigs.k8s.io/jobset)/config/components" certs/k8s-webhook-server/serving-certs
