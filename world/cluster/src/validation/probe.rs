//! Probes of containers (`validateProbe`).

use serde_json::Value;

use super::check::{Check, list, text};

/// The probes of a container at a path.
pub(super) fn probes(check: &mut Check<'_>, container: &Value, at: &str) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let probe = &container[name];
        if probe.is_object() {
            one(check, probe, name == "readinessProbe", &format!("{at}.{name}"));
        }
    }
}

fn one(check: &mut Check<'_>, probe: &Value, readiness: bool, at: &str) {
    handler(check, probe, at);
    for count in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        check.not_negative(&format!("{at}.{count}"), &probe[count]);
    }
    let field = format!("{at}.terminationGracePeriodSeconds");
    let seconds = &probe["terminationGracePeriodSeconds"];
    if seconds.as_i64().is_some_and(|seconds| seconds <= 0) {
        check.invalid(&field, seconds, "must be greater than 0");
    }
    if readiness && !seconds.is_null() {
        check.invalid(&field, seconds, "must not be set for readinessProbes");
    }
    if !readiness && probe["successThreshold"].as_i64().is_some_and(|times| times != 1) {
        check.invalid(&format!("{at}.successThreshold"), &probe["successThreshold"], "must be 1");
    }
}

/// What a probe does: one thing (`validateHandler`).
fn handler(check: &mut Check<'_>, probe: &Value, at: &str) {
    let kinds = ["exec", "httpGet", "tcpSocket", "grpc"];
    let mut given = kinds.into_iter().filter(|kind| probe[kind].is_object());
    let Some(first) = given.next() else {
        return check.required(at, "must specify a handler type");
    };
    let (action, field) = (&probe[first], format!("{at}.{first}"));
    match first {
        "exec" if list(action, "command").is_empty() => {
            check.required(&format!("{field}.command"), "");
        }
        "exec" => {}
        "httpGet" => {
            if text(action, "path").is_empty() {
                check.required(&format!("{field}.path"), "");
            }
            check.port_or_name(&format!("{field}.port"), &action["port"]);
        }
        _ => check.port_or_name(&format!("{field}.port"), &action["port"]),
    }
    for other in given {
        check.forbidden(&format!("{at}.{other}"), "may not specify more than 1 handler type");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_probe_does_one_thing_at_a_port() {
        let told = |container: Value| -> Vec<String> {
            let mut errors = Vec::new();
            probes(&mut Check::new(&mut errors), &container, "c");
            errors.iter().map(|error| format!("{}: {}", error.field, error.body())).collect()
        };
        let good = json!({"httpGet": {"path": "/", "port": "http"}, "successThreshold": 1});
        assert_eq!(told(json!({"livenessProbe": good})), Vec::<String>::new());
        assert_eq!(
            told(json!({"startupProbe": {"successThreshold": 2}})),
            [
                "c.startupProbe: Required value: must specify a handler type",
                "c.startupProbe.successThreshold: Invalid value: 2: must be 1",
            ]
        );
        let both = json!({"exec": {"command": []}, "tcpSocket": {"port": 0}, "periodSeconds": -1});
        assert_eq!(
            told(json!({"readinessProbe": both})),
            [
                "c.readinessProbe.exec.command: Required value",
                "c.readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
                "c.readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
            ]
        );
        let grace = json!({"tcpSocket": {"port": "-A"}, "terminationGracePeriodSeconds": 1});
        assert_eq!(
            told(json!({"readinessProbe": grace})),
            [
                "c.readinessProbe.tcpSocket.port: Invalid value: \"-A\": must contain only alpha-numeric characters \
                 (a-z, 0-9), and hyphens (-)",
                "c.readinessProbe.tcpSocket.port: Invalid value: \"-A\": must contain at least one letter (a-z)",
                "c.readinessProbe.tcpSocket.port: Invalid value: \"-A\": must not begin or end with a hyphen",
                "c.readinessProbe.terminationGracePeriodSeconds: Invalid value: 1: must not be set for readinessProbes",
            ]
        );
    }
}
