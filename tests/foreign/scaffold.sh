#!/bin/sh
# From kubebuilder's scaffold to a judged campaign, without an edit, as somebody does it who has only the tutorial.
#
#   tests/foreign/scaffold.sh TROMMEL DIR
#
# DIR is made anew. kubebuilder and controller-gen are pinned Go modules. Ends with 0 if the campaign was judged.
set -eu
trommel=$1
rm -rf "$2"
mkdir -p "$2/tools"
cd "$2"
export GOBIN="$PWD/tools" PATH="$PWD/tools:$PATH"
go install sigs.k8s.io/kubebuilder/v4@v4.16.0
mkdir operator
cd operator
git init --quiet
kubebuilder init --plugins go/v4 --domain example.com --repo example.com/operator --skip-go-version-check
kubebuilder create api --group shop --version v1 --kind Order --resource --controller --make=false
version=$(sed -n 's/^CONTROLLER_TOOLS_VERSION ?= //p' Makefile)
go install "sigs.k8s.io/controller-tools/cmd/controller-gen@$version"
# The Makefile looks for it here, and would install it by itself.
mkdir -p bin
cp "$GOBIN/controller-gen" "bin/controller-gen-$version"
ln -s "controller-gen-$version" bin/controller-gen
make build
"$trommel" init --command bin/manager --crds config/crd --dir test/trommel
# The controllers of a fresh project do nothing, so nothing is proved: exit code 4.
status=0
"$trommel" run test/trommel/campaign.yaml || status=$?
[ "$status" = 4 ]
