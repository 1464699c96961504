//! kube-apiserver's flags (1.36), and what becomes of each: obeyed, of no effect, fine as long as it asks for what is so
//! anyway, or refused.
//!
//! What has no effect is named at the start, with the reason. What would matter and is not there is an error: a suite
//! that goes on without what it asked for would fail later, and say less.

use crate::commands::envtest::flags::Given;

/// Flags that are obeyed.
const OBEYED: &[&str] = &[
    "authorization-mode",
    "bind-address",
    "cert-dir",
    "client-ca-file",
    "disable-admission-plugins",
    "enable-admission-plugins",
    "help",
    "secure-port",
    "service-cluster-ip-range",
    "tls-cert-file",
    "tls-private-key-file",
    "version",
];

/// Flags that change nothing that a client could see here, by reason.
const NO_EFFECT: &[(&str, &[&str])] = &[
    (
        "everything is kept in this process",
        &[
            "delete-collection-workers",
            "encryption-provider-config",
            "encryption-provider-config-automatic-reload",
            "etcd-cafile",
            "etcd-certfile",
            "etcd-compaction-interval",
            "etcd-count-metric-poll-period",
            "etcd-db-metric-poll-interval",
            "etcd-healthcheck-timeout",
            "etcd-keyfile",
            "etcd-prefix",
            "etcd-readycheck-timeout",
            "etcd-servers",
            "etcd-servers-overrides",
            "lease-reuse-duration-seconds",
            "storage-backend",
            "storage-initialization-timeout",
            "storage-media-type",
            "watch-cache",
            "watch-cache-sizes",
        ],
    ),
    (
        "there is one server, on loopback",
        &[
            "advertise-address",
            "cors-allowed-origins",
            "coordinated-leadership-lease-duration",
            "coordinated-leadership-renew-deadline",
            "coordinated-leadership-retry-period",
            "endpoint-reconciler-type",
            "external-hostname",
            "kubernetes-service-node-port",
            "peer-advertise-ip",
            "peer-advertise-port",
            "peer-ca-file",
            "permit-address-sharing",
            "permit-port-sharing",
            "strict-transport-security-directives",
            "tls-cipher-suites",
            "tls-curve-preferences",
            "tls-min-version",
        ],
    ),
    (
        "nothing is limited, and no request takes long",
        &[
            "disable-http2-serving",
            "enable-priority-and-fairness",
            "goaway-chance",
            "http2-max-streams-per-connection",
            "livez-grace-period",
            "max-connection-bytes-per-sec",
            "max-mutating-requests-inflight",
            "max-requests-inflight",
            "request-timeout",
            "shutdown-delay-duration",
            "shutdown-send-retry-after",
            "shutdown-watch-termination-grace-period",
        ],
    ),
    (
        "no audit, no metrics, no traces are kept",
        &[
            "allow-metric-labels",
            "allow-metric-labels-manifest",
            "contention-profiling",
            "debug-socket-path",
            "disabled-metrics",
            "enable-logs-handler",
            "log-flush-frequency",
            "log-text-info-buffer-size",
            "log-text-split-stream",
            "logging-format",
            "profiling",
            "show-hidden-metrics-for-version",
            "tracing-config-file",
            "v",
            "vmodule",
        ],
    ),
    (
        "there are no kubelets and no controllers",
        &[
            "enable-garbage-collector",
            "event-ttl",
            "kubelet-certificate-authority",
            "kubelet-client-certificate",
            "kubelet-client-key",
            "kubelet-preferred-address-types",
            "kubelet-timeout",
        ],
    ),
    (
        "tokens are this server's own, by https://kubernetes.default.svc.cluster.local",
        &[
            "api-audiences",
            "service-account-extend-token-expiration",
            "service-account-issuer",
            "service-account-jwks-uri",
            "service-account-key-file",
            "service-account-max-token-expiration",
            "service-account-signing-key-file",
        ],
    ),
    ("features are on and off as they are by default in 1.36", &["feature-gates"]),
];

/// Flags of which a whole family has no effect.
const NO_EFFECT_PREFIX: (&str, &str) = ("audit-", "no audit, no metrics, no traces are kept");

/// Flags that may only ask for what is so anyway.
const FIXED: &[(&str, &str)] = &[
    ("allow-privileged", "true"),
    ("anonymous-auth", "true"),
    ("default-not-ready-toleration-seconds", "300"),
    ("default-unreachable-toleration-seconds", "300"),
    ("enable-aggregator-routing", "false"),
    ("enable-bootstrap-token-auth", "false"),
    ("insecure-port", "0"),
    ("min-request-timeout", "1800"),
    ("runtime-config", "api/ga=true"),
    ("service-account-lookup", "true"),
    ("service-node-port-range", "30000-32767"),
];

/// Flags of features that are not there, by family.
const ABSENT: &[(&str, &str)] = &[
    ("admission-control-config-file", "admission has no configuration"),
    ("aggregator-", "no API is served for other servers"),
    ("authentication-config", "there is no OpenID Connect"),
    ("authentication-token-webhook-", "no webhook is asked for who somebody is"),
    ("authorization-config", "there is no other authorizer than RBAC"),
    ("authorization-policy-file", "there is no ABAC"),
    ("authorization-webhook-", "no webhook is asked for who may do something"),
    ("egress-selector-config-file", "connections are made directly"),
    ("emulat", "no other version is emulated"),
    ("min-compatibility-version", "no other version is emulated"),
    ("oidc-", "there is no OpenID Connect"),
    ("proxy-client-", "no API is served for other servers"),
    ("requestheader-", "there is no proxy in front that says who somebody is"),
    ("runtime-config-emulation-", "no other version is emulated"),
    ("service-account-signing-endpoint", "tokens are signed in this process"),
    ("tls-sni-cert-key", "there is one certificate"),
    ("token-auth-file", "there are no static tokens"),
];

/// Flags behind which no value comes.
pub fn is_switch(name: &str) -> bool {
    const SWITCHES: &[&str] = &[
        "aggregator-reject-forwarding-redirect",
        "allow-privileged",
        "anonymous-auth",
        "audit-log-batch-throttle-enable",
        "audit-log-compress",
        "audit-log-truncate-enabled",
        "audit-webhook-batch-throttle-enable",
        "audit-webhook-truncate-enabled",
        "contention-profiling",
        "disable-http2-serving",
        "emulation-forward-compatible",
        "enable-aggregator-routing",
        "enable-bootstrap-token-auth",
        "enable-garbage-collector",
        "enable-logs-handler",
        "enable-priority-and-fairness",
        "encryption-provider-config-automatic-reload",
        "help",
        "log-text-split-stream",
        "permit-address-sharing",
        "permit-port-sharing",
        "profiling",
        "runtime-config-emulation-forward-compatible",
        "service-account-extend-token-expiration",
        "service-account-lookup",
        "shutdown-send-retry-after",
        "version",
        "watch-cache",
    ];
    SWITCHES.contains(&name)
}

/// What is said at the start of flags that have no effect: a line for each reason. Errors: the first flag that asks for
/// what is not there.
pub fn check(given: &Given) -> Result<Vec<String>, String> {
    for name in given.names() {
        check_one(given, name)?;
    }
    let mut told = Vec::new();
    for (reason, names) in NO_EFFECT {
        let mut flags: Vec<String> = Vec::new();
        let by_prefix =
            |name: &str| name.starts_with(NO_EFFECT_PREFIX.0) && *reason == NO_EFFECT_PREFIX.1;
        for name in given.names().filter(|name| names.contains(name) || by_prefix(name)) {
            flags.push(format!("--{name}"));
        }
        if !flags.is_empty() {
            told.push(format!("of no effect, because {reason}: {}", flags.join(" ")));
        }
    }
    Ok(told)
}

fn check_one(given: &Given, name: &str) -> Result<(), String> {
    let no_effect = NO_EFFECT.iter().any(|(_, names)| names.contains(&name));
    if OBEYED.contains(&name) || no_effect || name.starts_with(NO_EFFECT_PREFIX.0) {
        return Ok(());
    }
    if let Some((_, expect)) = FIXED.iter().find(|(fixed, _)| *fixed == name) {
        return match given.all(name).iter().find(|value| !value.is_empty() && value != expect) {
            Some(value) => Err(format!("--{name}={value}: only {expect} is known here")),
            None => Ok(()),
        };
    }
    match ABSENT.iter().find(|(family, _)| name.starts_with(family)) {
        Some((_, why)) => Err(format!("--{name}: {why}; this is a stand-in")),
        // pflag's words.
        None => Err(format!("unknown flag: --{name}")),
    }
}

/// The flags, for `--help`: each on a line of its own, because envtest looks for some at the beginning of one.
pub fn help() -> String {
    let mut text = "\nFlags that are obeyed:\n".to_owned();
    let mut line = |name: &str, more: &str| {
        text.push_str(format!("      --{name:<30} {more}").trim_end());
        text.push('\n');
    };
    OBEYED.iter().for_each(|name| line(name, ""));
    // `--insecure-port` is left out: envtest gives it to who names it.
    let fixed = FIXED.iter().filter(|(name, _)| *name != "insecure-port");
    fixed.for_each(|(name, value)| line(name, &format!("only {value}")));
    text.push_str("\nFlags that are accepted and have no effect:\n");
    for (reason, names) in NO_EFFECT {
        for name in *names {
            text.push_str(&format!("      --{name:<30} {reason}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Result<Vec<String>, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        check(&Given::read(&words, is_switch)?)
    }

    #[test]
    fn what_envtest_gives_is_taken() {
        let envtest = "--allow-privileged=true --authorization-mode=RBAC --bind-address=127.0.0.1 \
            --cert-dir=/tmp/c --client-ca-file=/tmp/c/client-cert-auth-ca.crt \
            --disable-admission-plugins=ServiceAccount --etcd-servers=http://127.0.0.1:1 --secure-port=2 \
            --service-account-issuer=https://127.0.0.1:2/ --service-account-key-file=/tmp/c/sa-signer.crt \
            --service-account-signing-key-file=/tmp/c/sa-signer.key --service-cluster-ip-range=10.0.0.0/24";
        let told = said(envtest).expect("it is taken");
        let line = "of no effect, because everything is kept in this process: --etcd-servers";
        assert!(told.iter().any(|told| told == line), "{told:?}");
        assert_eq!(said("--audit-log-path=-").expect("it is taken").len(), 1);
    }

    #[test]
    fn what_would_matter_is_refused() {
        let check = |line, expect: &str| {
            let error = said(line).expect_err(line);
            assert!(error.contains(expect), "{line}: {error}");
        };
        check("--oidc-issuer-url=https://a", "--oidc-issuer-url: there is no OpenID Connect");
        check("--anonymous-auth=false", "--anonymous-auth=false: only true is known here");
        check("--insecure-port=8080", "--insecure-port=8080: only 0 is known here");
        check("--runtime-config=api/all=true", "only api/ga=true");
        check("--no-such-flag=1", "unknown flag: --no-such-flag");
    }

    #[test]
    fn the_help_names_what_envtest_looks_for_and_not_what_it_must_not_find() {
        let help = help();
        let begins = |flag: &str| help.lines().any(|line| line.trim_start().starts_with(flag));
        assert!(begins("--client-ca-file") && !begins("--insecure-port"));
    }
}
