#!/bin/sh
# Puts the operator together in target/quarkus-app and its CRD into crds; does nothing if that is there already.
set -eu
cd "$(dirname "$0")"
java="${JAVA_HOME:+$JAVA_HOME/bin/}java"
version=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
if [ "${version:-0}" -lt 21 ]; then
  echo "debezium: this operator needs Java 21 or newer, in JAVA_HOME or in PATH (found: ${version:-none})" >&2
  exit 2
fi
command -v mvn >/dev/null || { echo "debezium: mvn is not installed" >&2; exit 2; }
mkdir -p target
ln -sfn "$(dirname "$(dirname "$(readlink -f "$(command -v "$java")")")")" target/java
if [ -e target/built ] && [ -z "$(find pom.xml src build.sh -newer target/built)" ]; then exit 0; fi
mvn -q -B package
rm -rf crds
mkdir crds
unzip -qjo target/quarkus-app/lib/main/io.debezium.debezium-operator-api-*.jar META-INF/fabric8/debeziumservers.debezium.io-v1.yml -d crds
touch target/built
