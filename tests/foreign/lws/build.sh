#!/bin/sh
# Builds the operator, and renders its manifests as its kustomization does: names with `lws-`, in `lws-system`.
set -eu
go build -o bin/operator sigs.k8s.io/lws/cmd
config=$(go list -m -f '{{.Dir}}' sigs.k8s.io/lws)/config
rm -rf rendered && mkdir rendered
cp "$config"/crd/bases/*.yaml rendered/
# Its webhook serves a certificate that is made once here: in a cluster cert-manager would.
if [ ! -e certs/tls.crt ]; then
  mkdir -p certs
  openssl req -x509 -newkey rsa:2048 -nodes -days 36500 -subj /CN=lws-webhook-service.lws-system.svc \
    -addext subjectAltName=DNS:lws-webhook-service.lws-system.svc \
    -keyout certs/tls.key -out certs/tls.crt 2>/dev/null
fi
ca=$(base64 -w0 certs/tls.crt)
sed -e 's/namespace: system/namespace: lws-system/' -e 's/name: webhook-service/name: lws-webhook-service/' \
  -e 's/name: \(mutating\|validating\)-webhook-configuration/name: lws-\1-webhook-configuration/' \
  -e "s/^  clientConfig:/  clientConfig:\n    caBundle: $ca/" "$config/webhook/manifests.yaml" > rendered/webhooks.yaml
sed -e 's/namespace: system/namespace: lws-system/' -e 's/name: webhook-service$/name: lws-webhook-service/' \
  "$config/webhook/service.yaml" > rendered/service.yaml
