#!/bin/sh
# Runs the judge by hand: etcd, kube-apiserver and, if asked, kube-controller-manager and kube-scheduler.
#
#   tests/reference/serve.sh DIR [--controllers[=NAME,…]] [--scheduler] [--service-accounts] [--client-ca=FILE]
#
# DIR (made if missing) holds everything: data, certificates, logs and `kubeconfig`, which appears
# when the API server is ready. Ends, with all that it started, on Ctrl-C or TERM. The test suite
# starts the same binaries itself; this is for people who want to look.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 64; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
controllers= scheduler= clients=
without=--disable-admission-plugins=ServiceAccount
shift
for option; do
  case $option in
    --controllers) controllers='*' ;;
    --controllers=*) controllers=${option#*=} ;;
    --scheduler) scheduler=yes ;;
    --service-accounts) without= ;;
    --client-ca=*) clients=--client-ca-file=${option#*=} ;;
    *) echo "unknown option $option" >&2; exit 64 ;;
  esac
done
judge=$("$here/build.sh")

# Three ports that are free now. Somebody else may take one before we do; then start again.
set -- $(python3 -c '
import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
print(*[s.getsockname()[1] for s in held])')
client=$1 peer=$2 secure=$3

rm -rf "$dir/etcd" "$dir/certs" "$dir/kubeconfig"
[ -f "$dir/sa.key" ] || openssl genrsa -out "$dir/sa.key" 2048 2>/dev/null
[ -f "$dir/authority.key" ] || openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=judge \
  -keyout "$dir/authority.key" -out "$dir/authority.crt" 2>/dev/null
echo 'judge-token,judge,judge,"system:masters"' >"$dir/tokens.csv"

# Killed, not asked: an API server that lost its etcd takes minutes to give up, and nothing here is kept.
pids=
trap 'kill -9 $pids 2>/dev/null' EXIT
trap 'exit 143' INT TERM

"$judge/etcd" --unsafe-no-fsync --data-dir "$dir/etcd" \
  --listen-client-urls "http://127.0.0.1:$client" --advertise-client-urls "http://127.0.0.1:$client" \
  --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
  --initial-cluster "default=http://127.0.0.1:$peer" >"$dir/etcd.log" 2>&1 &
pids=$!

# ServiceAccount admission is off unless asked for: without a controller manager no ServiceAccount exists by itself.
"$judge/kube-apiserver" --etcd-servers="http://127.0.0.1:$client" --cert-dir="$dir/certs" \
  --secure-port="$secure" --bind-address=127.0.0.1 --service-account-issuer=https://judge.invalid \
  --service-account-key-file="$dir/sa.key" --service-account-signing-key-file="$dir/sa.key" \
  --authorization-mode=RBAC --token-auth-file="$dir/tokens.csv" \
  --service-cluster-ip-range=10.0.0.0/24 $without ${clients:+"$clients"} \
  --allow-privileged=true >"$dir/kube-apiserver.log" 2>&1 &
apiserver=$!
pids="$pids $apiserver"

until [ "$(curl -sk -H 'Authorization: Bearer judge-token' "https://127.0.0.1:$secure/readyz")" = ok ]; do
  kill -0 "$apiserver" 2>/dev/null || { tail -5 "$dir/kube-apiserver.log" >&2; exit 1; }
  sleep 0.2
done

cat >"$dir/kubeconfig.partial" <<EOF
apiVersion: v1
kind: Config
clusters: [{name: judge, cluster: {server: "https://127.0.0.1:$secure", certificate-authority: $dir/certs/apiserver.crt}}]
users: [{name: judge, user: {token: judge-token}}]
contexts: [{name: judge, context: {cluster: judge, user: judge}}]
current-context: judge
EOF
mv "$dir/kubeconfig.partial" "$dir/kubeconfig"

if [ -n "$controllers" ]; then
  "$judge/kube-controller-manager" --controllers="$controllers" --kubeconfig="$dir/kubeconfig" --leader-elect=false \
    --service-account-private-key-file="$dir/sa.key" --use-service-account-credentials=false \
    --cluster-signing-cert-file="$dir/authority.crt" --cluster-signing-key-file="$dir/authority.key" \
    --kube-api-qps=1000 --kube-api-burst=1000 --concurrent-namespace-syncs=50 --node-monitor-grace-period=87600h \
    --bind-address=127.0.0.1 --secure-port=0 >"$dir/kube-controller-manager.log" 2>&1 &
  pids="$pids $!"
fi
if [ -n "$scheduler" ]; then
  # The default profile; only its clients and its patience are not the defaults.
  cat >"$dir/scheduler.yaml" <<EOF
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: $dir/kubeconfig, qps: 1000, burst: 1000}
leaderElection: {leaderElect: false}
podMaxBackoffSeconds: 1
EOF
  "$judge/kube-scheduler" --config="$dir/scheduler.yaml" --bind-address=127.0.0.1 --secure-port=0 \
    >"$dir/kube-scheduler.log" 2>&1 &
  pids="$pids $!"
fi
echo "export KUBECONFIG=$dir/kubeconfig"
wait
