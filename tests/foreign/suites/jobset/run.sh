#!/bin/sh
# JobSet's own integration tests: its webhooks, and its controller without the Job controller.
set -eu
. "$(dirname "$0")/../suites.sh"
module sigs.k8s.io/jobset@v0.10.1
assets
tests ./test/integration/webhook ./test/integration/controller
