#!/bin/sh
# Compiles into target/classes and puts the libraries beside it; does nothing if that is there already.
set -eu
cd "$(dirname "$0")"
# Suites that run side by side may ask at once: the second waits for the first.
exec 9<build.sh
flock 9
command -v mvn >/dev/null || { echo "java-timers: mvn is not installed" >&2; exit 2; }
if [ -e target/built ] && [ -z "$(find pom.xml src -newer target/built)" ]; then exit 0; fi
mvn -q -B compile dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=target/libraries
touch target/built
