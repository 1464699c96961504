//! Pods: the status column is told from the containers, as upstream's printer does.

use serde_json::Value;
use trace::Time;

use super::{
    builtin::{computed, number, or_none, wide},
    columns::{Column, age, name},
    duration,
};

pub(super) fn columns() -> Vec<Column> {
    vec![
        name(),
        computed("Ready", "string", |pod, _| {
            let ready =
                statuses(pod, "containerStatuses").filter(|status| is_ready(status)).count();
            let all = pod.pointer("/spec/containers").and_then(Value::as_array).map_or(0, Vec::len);
            Value::from(format!("{ready}/{all}"))
        }),
        computed("Status", "string", |pod, _| Value::from(reason(pod))),
        computed("Restarts", "string", |pod, now| Value::from(restarts(pod, now))),
        age(),
        wide(computed("IP", "string", |pod, _| or_none(of(pod, "/status/podIPs/0/ip")))),
        wide(computed("Node", "string", |pod, _| or_none(of(pod, "/spec/nodeName")))),
        wide(computed("Nominated Node", "string", |pod, _| {
            or_none(of(pod, "/status/nominatedNodeName"))
        })),
        wide(computed("Readiness Gates", "string", |pod, _| or_none(&gates(pod)))),
    ]
}

fn of<'a>(pod: &'a Value, at: &str) -> &'a str {
    text(pod, at).unwrap_or("")
}

/// How often containers were started again, and when one was last.
fn restarts(pod: &Value, now: Time) -> String {
    let all = || statuses(pod, "containerStatuses");
    let count: i64 = all().map(|status| number(status, "/restartCount")).sum();
    let last = all().filter_map(|status| text(status, "/lastState/terminated/finishedAt")).max();
    match last.filter(|_| count != 0) {
        Some(last) => format!("{count} ({} ago)", duration::age(last, now)),
        None => count.to_string(),
    }
}

/// How many of the readiness gates are open.
fn gates(pod: &Value) -> String {
    let list = |at: &str| pod.pointer(at).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let gates = list("/spec/readinessGates");
    let open = |gate: &&Value| {
        let mut conditions = list("/status/conditions").iter();
        let own = conditions.find(|condition| condition["type"] == gate["conditionType"]);
        own.is_some_and(|condition| condition["status"] == "True")
    };
    match gates.len() {
        0 => String::new(),
        all => format!("{}/{all}", gates.iter().filter(open).count()),
    }
}

fn statuses<'a>(pod: &'a Value, list: &str) -> impl DoubleEndedIterator<Item = &'a Value> {
    let list = pod.get("status").and_then(|status| status.get(list)).and_then(Value::as_array);
    list.map_or(&[][..], Vec::as_slice).iter()
}

fn is_ready(status: &Value) -> bool {
    status.get("ready") == Some(&Value::Bool(true))
}

fn text<'a>(value: &'a Value, at: &str) -> Option<&'a str> {
    value.pointer(at).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Why a container is not running.
fn container_reason(status: &Value) -> Option<String> {
    if let Some(reason) = text(status, "/state/waiting/reason") {
        return Some(reason.to_owned());
    }
    let terminated = status.pointer("/state/terminated")?;
    if let Some(reason) = text(terminated, "/reason") {
        return Some(reason.to_owned());
    }
    Some(match number(terminated, "/signal") {
        0 => format!("ExitCode:{}", number(terminated, "/exitCode")),
        signal => format!("Signal:{signal}"),
    })
}

fn reason(pod: &Value) -> String {
    let phase = text(pod, "/status/phase").unwrap_or("");
    let mut reason = text(pod, "/status/reason").unwrap_or(phase).to_owned();
    match initializing(pod) {
        Some(initializing) => reason = initializing,
        None => {
            // The first container with something to say wins: they are walked backwards.
            for status in statuses(pod, "containerStatuses").rev() {
                reason = container_reason(status).unwrap_or(reason);
            }
            let running = |status: &Value| status.pointer("/state/running").is_some();
            let any_runs = statuses(pod, "containerStatuses")
                .any(|status| is_ready(status) && running(status));
            if reason == "Completed" && any_runs {
                reason = "Running".to_owned();
            }
        }
    }
    let done = matches!(phase, "Succeeded" | "Failed");
    if pod.pointer("/metadata/deletionTimestamp").is_some() && !done {
        reason = "Terminating".to_owned();
    }
    reason
}

/// `Init:1/2`, `Init:Error` while an init container holds the pod up.
fn initializing(pod: &Value) -> Option<String> {
    let all = pod.pointer("/spec/initContainers").and_then(Value::as_array).map_or(0, Vec::len);
    for (index, status) in statuses(pod, "initContainerStatuses").enumerate() {
        let done = status.pointer("/state/terminated").is_some()
            && number(status, "/state/terminated/exitCode") == 0;
        let sidecar = status.get("started") == Some(&Value::Bool(true))
            && status.pointer("/state/running").is_some();
        if done || sidecar {
            continue;
        }
        let waiting = text(status, "/state/waiting/reason") == Some("PodInitializing");
        return Some(match container_reason(status).filter(|_| !waiting) {
            Some(reason) => format!("Init:{reason}"),
            None => format!("Init:{index}/{all}"),
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn statuses_are_told_from_containers() {
        let check = |pod: Value, expect: &str| assert_eq!(reason(&pod), expect);
        check(json!({"status": {"phase": "Pending"}}), "Pending");
        check(json!({"status": {"phase": "Failed", "reason": "Evicted"}}), "Evicted");
        check(
            json!({"metadata": {"deletionTimestamp": "x"}, "status": {"phase": "Running"}}),
            "Terminating",
        );
        check(
            json!({"status": {"phase": "Failed", "containerStatuses": [
                {"state": {"terminated": {"exitCode": 3}}}]}}),
            "ExitCode:3",
        );
        check(
            json!({"spec": {"initContainers": [{}, {}]}, "status": {"phase": "Pending",
                "initContainerStatuses": [{"state": {"terminated": {"exitCode": 0}}},
                    {"state": {"running": {}}}]}}),
            "Init:1/2",
        );
    }
}
