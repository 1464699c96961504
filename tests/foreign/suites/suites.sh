# Sourced by the run.sh of every suite. `cargo ci suites` says what is where:
#   TROMMEL       the binary
#   SUITE         this suite's folder
#   OUT           an empty folder; the run.sh leaves its reports there
#   ARM           `trommel`, or `real` for the real kube-apiserver (tests/reference)
suites=$(cd "$SUITE/.." && pwd)
started=
trap '[ -z "$started" ] || { kill $started && wait; }' EXIT

# module MODULE@VERSION: enters a copy of the module that can be written to. go.sum's database says that it is whole.
module() {
  source=$(go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  [ -n "$source" ] || { echo "$1 cannot be had" >&2; exit 1; }
  mkdir "$OUT/module"
  cp -R "$source/." "$OUT/module"
  # A module's archive says of no file that it is a program.
  chmod -R u+w "$OUT/module" && find "$OUT/module" -name '*.sh' -exec chmod +x {} +
  cd "$OUT/module"
}

# assets: what envtest starts.
assets() {
  case $ARM in
    real) KUBEBUILDER_ASSETS=$("$suites/../../reference/build.sh") ;;
    *) KUBEBUILDER_ASSETS=$OUT/assets && "$TROMMEL" envtest "$KUBEBUILDER_ASSETS" >/dev/null ;;
  esac
  export KUBEBUILDER_ASSETS
}

# serve [OPTION...]: a server with all controllers; the options are for the real one, which has none by itself.
serve() {
  mkdir "$OUT/server"
  case $ARM in
    real) "$suites/../../reference/serve.sh" "$OUT/server" "$@" >"$OUT/server/says" 2>&1 & ;;
    *) "$TROMMEL" serve --nodes 1 --kubeconfig "$OUT/server/kubeconfig" >"$OUT/server/says" 2>&1 & ;;
  esac
  started=$!
  until grep -q '^export KUBECONFIG=' "$OUT/server/says"; do
    kill -0 "$started" || { cat "$OUT/server/says" >&2; exit 1; }
    sleep 0.2 # decides nothing: only how often it is looked at
  done
  export KUBECONFIG=$OUT/server/kubeconfig
}

# tests PACKAGE...: each by itself, so that one that breaks leaves the reports of the others. Specs of Ginkgo have a report
# of their own.
tests() {
  for package; do
    report=$OUT/$(printf %s "${package#./}" | tr / -)
    set --
    if grep -q 'RunSpecs(' "$package"/*_test.go; then set -- -args "-ginkgo.json-report=$report.ginkgo.json"; fi
    echo "$package"
    go test -json -count=1 -timeout 20m "$package" "$@" >"$report.gotest.json" || true
  done
}
