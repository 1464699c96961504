//! What a kubelet knows of a container, from the status that it has written itself.

use serde_json::Value;
use trace::Time;

/// Of a container that has a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Started {
    /// When it started.
    pub(crate) at: Option<Time>,
    /// Whether more may come.
    pub(crate) runs: bool,
}

/// The container's last start, or the one before. Errors: why it has no log
/// (`validateContainerLogStatus` in `pkg/kubelet/kubelet_pods.go`; containers have no ids here).
pub(crate) fn started(pod: &Value, container: &str, previous: bool) -> Result<Started, String> {
    let name = pod["metadata"]["name"].as_str().unwrap_or("");
    let that = format!("container {container:?} in pod {name:?}");
    let Some(status) = status(pod, container) else {
        return Err(format!("{that} is not available"));
    };
    let (state, last) = (&status["state"], &status["lastState"]["terminated"]);
    let of = |state: &Value, runs: bool| {
        let at = state["startedAt"].as_str().and_then(Time::parse_rfc3339);
        Ok(Started { at, runs })
    };
    if previous {
        return match last.is_object() {
            true => of(last, false),
            false => Err(format!("previous terminated {that} not found")),
        };
    }
    if state["running"].is_object() {
        return of(&state["running"], true);
    }
    if let Some(ended) = [&state["terminated"], last].into_iter().find(|it| it.is_object()) {
        return of(ended, false);
    }
    let why = match state["waiting"]["reason"].as_str() {
        _ if !state["waiting"].is_object() => " - no logs yet".to_owned(),
        Some("ErrImagePull") => ": image can't be pulled".to_owned(),
        Some("ImagePullBackOff") => ": trying and failing to pull image".to_owned(),
        reason => format!(": {}", reason.unwrap_or("")),
    };
    Err(format!("{that} is waiting to start{why}"))
}

/// Whether it runs.
pub(crate) fn runs(pod: &Value, container: &str) -> bool {
    status(pod, container).is_some_and(|status| status["state"]["running"].is_object())
}

/// Whether any container of the pod runs.
pub(crate) fn any_runs(pod: &Value) -> bool {
    statuses(pod).any(|status| status["state"]["running"].is_object())
}

/// Whether it has a terminal, by its spec.
pub(crate) fn has_terminal(pod: &Value, container: &str) -> bool {
    let lists = ["containers", "initContainers", "ephemeralContainers"];
    let all = lists.into_iter().filter_map(|list| pod["spec"][list].as_array()).flatten();
    all.filter(|one| one["name"] == container).any(|one| one["tty"] == true)
}

fn status<'a>(pod: &'a Value, container: &str) -> Option<&'a Value> {
    statuses(pod).find(|status| status["name"] == container)
}

fn statuses(pod: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];
    lists.into_iter().filter_map(move |list| pod["status"][list].as_array()).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn which_container_has_a_log() {
        let check = |state: Value, last: Value, previous: bool, expect: Result<bool, &str>| {
            let pod = json!({"metadata": {"name": "p"}, "status": {"containerStatuses": [
                {"name": "c", "state": state, "lastState": last},
            ]}});
            let found = started(&pod, "c", previous).map(|started| started.runs);
            assert_eq!(found.as_ref().map_err(String::as_str), expect.as_ref().map_err(|e| *e));
        };
        let (none, over) = (json!({}), json!({"terminated": {"exitCode": 1}}));
        let waiting = |reason: &str| json!({"waiting": {"reason": reason}});
        check(json!({"running": {}}), none.clone(), false, Ok(true));
        check(over.clone(), none.clone(), false, Ok(false));
        check(waiting("CrashLoopBackOff"), over.clone(), false, Ok(false));
        check(json!({"running": {}}), over, true, Ok(false));
        let gone = r#"previous terminated container "c" in pod "p" not found"#;
        check(json!({"running": {}}), none.clone(), true, Err(gone));
        let waits = r#"container "c" in pod "p" is waiting to start"#;
        check(
            waiting("ContainerCreating"),
            none.clone(),
            false,
            Err(&format!("{waits}: ContainerCreating")),
        );
        let pull = format!("{waits}: image can't be pulled");
        check(waiting("ErrImagePull"), none.clone(), false, Err(&pull));
        let back_off = format!("{waits}: trying and failing to pull image");
        check(waiting("ImagePullBackOff"), none.clone(), false, Err(&back_off));
        check(none.clone(), none, false, Err(&format!("{waits} - no logs yet")));
        let unknown = started(&json!({"metadata": {"name": "p"}}), "c", false);
        assert_eq!(unknown.unwrap_err(), r#"container "c" in pod "p" is not available"#);
    }
}
