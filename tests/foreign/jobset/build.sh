#!/bin/sh
# Builds the operator, and renders its manifests as its kustomization does: names with `jobset-`, in `jobset-system`.
set -eu
go build -o bin/operator sigs.k8s.io/jobset
components=$(go list -m -f '{{.Dir}}' sigs.k8s.io/jobset)/config/components
rm -rf rendered && mkdir rendered
cp "$components"/crd/bases/*.yaml rendered/
# Its webhook serves a certificate that is made once here: in a cluster cert-manager would.
if [ ! -e certs/k8s-webhook-server/serving-certs/tls.crt ]; then
  mkdir -p certs/k8s-webhook-server/serving-certs
  openssl req -x509 -newkey rsa:2048 -nodes -days 36500 -subj /CN=jobset-webhook-service.jobset-system.svc \
    -addext subjectAltName=DNS:jobset-webhook-service.jobset-system.svc \
    -keyout certs/k8s-webhook-server/serving-certs/tls.key -out certs/k8s-webhook-server/serving-certs/tls.crt 2>/dev/null
fi
ca=$(base64 -w0 certs/k8s-webhook-server/serving-certs/tls.crt)
sed -e 's/namespace: system/namespace: jobset-system/' -e 's/name: webhook-service/name: jobset-webhook-service/' \
  -e 's/name: \(mutating\|validating\)-webhook-configuration/name: jobset-\1-webhook-configuration/' \
  -e "s/^  clientConfig:/  clientConfig:\n    caBundle: $ca/" "$components/webhook/manifests.yaml" > rendered/webhooks.yaml
sed -e 's/namespace: system/namespace: jobset-system/' -e 's/name: webhook-service$/name: jobset-webhook-service/' \
  "$components/webhook/service.yaml" > rendered/service.yaml
