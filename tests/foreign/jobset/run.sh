#!/bin/sh
# The operator looks for its webhook's certificate below the folder for temporary files.
here=$(dirname "$0")
TMPDIR=$here/certs exec "$here/bin/operator" --config="$here/config.yaml"
