#!/bin/sh
# Builds the judge (kube-apiserver, kube-controller-manager, kube-scheduler, etcd) and prints the folder that holds it.
#
#   tests/reference/build.sh           build if needed; the last line of stdout is the folder
#   tests/reference/build.sh --where   print the folder, build nothing (exit 1 if it isn't built)
#
# The folder is $TROMMEL_JUDGE_CACHE/<hash> (default ~/.cache/trommel/judge/<hash>). The hash covers
# everything that decides what the binaries are: both go.mod and go.sum, the mains, this script, and
# the Go release. A folder appears under its name only when it is complete, so a build that was cut
# short leaves nothing that looks finished, and two builds at the same time don't disturb each other.
# Costs about 10 minutes of CPU and 4 GB of Go's build cache the first time, nothing later.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here"

command -v go >/dev/null || {
  echo "judge: go is not installed; see https://go.dev/dl (1.26 or later)" >&2
  exit 2
}

cache=${TROMMEL_JUDGE_CACHE:-${HOME:?}/.cache/trommel/judge}
parts="go.mod go.sum apiserver/main.go controller-manager/main.go scheduler/main.go etcd/go.mod etcd/go.sum etcd/main.go build.sh"
hash=$({ go env GOVERSION GOOS GOARCH; cat $parts; } | sha256sum | cut -c1-16)
judge=$cache/$hash

if [ "${1:-}" = --where ]; then
  echo "$judge"
  [ -d "$judge" ]
  exit
fi
if [ -d "$judge" ]; then
  echo "$judge"
  exit 0
fi

mkdir -p "$cache"
partial=$(mktemp -d "$cache/partial.XXXXXX")
trap 'rm -rf "$partial"' EXIT

# What `kubectl version` and /version answer; the release process sets the same variables.
release=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
version=k8s.io/component-base/version
stamp="-s -w -X $version.gitVersion=$release -X $version.gitMajor=1 -X $version.gitMinor=$(echo "$release" | cut -d. -f2)"

export CGO_ENABLED=0
echo "judge: building etcd" >&2
(cd etcd && go build -trimpath -buildvcs=false -ldflags "-s -w" -o "$partial/etcd" .)
echo "judge: building kube-apiserver $release" >&2
go build -trimpath -buildvcs=false -ldflags "$stamp" -o "$partial/kube-apiserver" ./apiserver
echo "judge: building kube-controller-manager $release" >&2
go build -trimpath -buildvcs=false -ldflags "$stamp" -o "$partial/kube-controller-manager" ./controller-manager
echo "judge: building kube-scheduler $release" >&2
go build -trimpath -buildvcs=false -ldflags "$stamp" -o "$partial/kube-scheduler" ./scheduler

# If somebody else finished first, theirs is as good.
mv -T "$partial" "$judge" 2>/dev/null || [ -d "$judge" ]
echo "$judge"
