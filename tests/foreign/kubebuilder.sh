# Sourced by the build.sh of operators that come with the layout of kubebuilder.

# render NAME CONFIG CERTS: the manifests below CONFIG as the operator's kustomization renders them, into rendered/: its
# types, and its webhooks with names that begin with NAME-, in NAME-system. Its webhook serves a certificate that is made
# once, in CERTS: in a cluster cert-manager would.
render() {
  rm -rf rendered && mkdir rendered
  cp "$2"/crd/bases/*.yaml rendered/
  if [ ! -e "$3/tls.crt" ]; then
    mkdir -p "$3"
    openssl req -x509 -newkey rsa:2048 -nodes -days 36500 -subj "/CN=$1-webhook-service.$1-system.svc" \
      -addext "subjectAltName=DNS:$1-webhook-service.$1-system.svc" -keyout "$3/tls.key" -out "$3/tls.crt" 2>/dev/null
  fi
  sed -e "s/namespace: system/namespace: $1-system/" -e "s/name: webhook-service/name: $1-webhook-service/" \
    -e "s/name: \(mutating\|validating\)-webhook-configuration/name: $1-\1-webhook-configuration/" \
    -e "s/^  clientConfig:/  clientConfig:\n    caBundle: $(base64 -w0 "$3/tls.crt")/" \
    "$2/webhook/manifests.yaml" > rendered/webhooks.yaml
  sed -e "s/namespace: system/namespace: $1-system/" -e "s/name: webhook-service$/name: $1-webhook-service/" \
    "$2/webhook/service.yaml" > rendered/service.yaml
}
