#!/bin/sh
# Builds the real descheduler if needed; the last line of stdout is the program.
#
# It is kept in $TROMMEL_JUDGE_CACHE/descheduler-<hash> (default ~/.cache/trommel/judge), where the hash covers all that
# decides what it is, and the Go release. Beside the judge, so that neither is built anew for the other. About two minutes
# of CPU the first time.
set -eu
cd "$(dirname "$0")"

command -v go >/dev/null || {
  echo "descheduler: go is not installed; see https://go.dev/dl (1.26 or later)" >&2
  exit 2
}

cache=${TROMMEL_JUDGE_CACHE:-${HOME:?}/.cache/trommel/judge}
hash=$({ go env GOVERSION GOOS GOARCH; cat go.mod go.sum main.go build.sh; } | sha256sum | cut -c1-16)
program=$cache/descheduler-$hash

if [ ! -x "$program" ]; then
  mkdir -p "$cache"
  partial=$(mktemp "$cache/partial.XXXXXX")
  trap 'rm -f "$partial"' EXIT
  echo "descheduler: building $(go list -m -f '{{.Version}}' sigs.k8s.io/descheduler)" >&2
  CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w" -o "$partial" .
  mv "$partial" "$program"
fi
echo "$program"
