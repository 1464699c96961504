//! The kubelet's part of exec and attach, before anybody speaks: what it comes to, or why it does not begin
//! (`getExec` and `getAttach` in `pkg/kubelet/server`, `GetExec` and `GetAttach` in `pkg/kubelet/kubelet_pods.go`).

use serde_json::Value;

use super::{
    Plain,
    answers::Answers,
    container, full_name,
    process::{Output, Streams},
};
use crate::server::request::Request;

/// Runs the command that the query names. Errors: what is said instead of an upgrade.
pub(crate) fn exec(
    request: &Request,
    answers: &Answers,
    pod: &Value,
    container: &str,
) -> (Streams, Result<Output, Plain>) {
    let streams = Streams::new(|name| request.flag(name));
    let begun = check(streams).and_then(|()| {
        let command: Vec<&str> = request.all("command").collect();
        let runs = container::runs(pod, container);
        let output = if runs { answers.exec(pod, container, &command) } else { None };
        output.ok_or_else(|| Plain::new(500, format!("container not found ({container:?})")))
    });
    (streams, begun)
}

/// Attaches to a container, which has a terminal or has none, whatever is asked for. Errors: as for [`exec`].
pub(crate) fn attach(
    request: &Request,
    answers: &Answers,
    pod: &Value,
    container: &str,
) -> (Streams, Result<Output, Plain>) {
    let asked = Streams::new(|name| request.flag(name));
    let tty = container::has_terminal(pod, container);
    let streams = Streams { stderr: asked.stderr && !tty, tty, ..asked };
    let begun = check(asked).and_then(|()| {
        let runs = container::runs(pod, container);
        let output = if runs { answers.attach(pod, container) } else { None };
        let unknown = || format!("container {container} not found in pod {}", full_name(pod));
        let output = output.ok_or_else(|| Plain::new(500, unknown()))?;
        match tty && asked.stderr {
            false => Ok(output),
            // The runtime's (`validateAttachRequest` in `k8s.io/cri-streaming`).
            true => {
                let why = "tty and stderr cannot both be true";
                Err(Plain::new(500, format!("rpc error: code = InvalidArgument desc = {why}")))
            }
        }
    });
    (streams, begun)
}

/// Errors: `NewOptions`'.
fn check(streams: Streams) -> Result<(), Plain> {
    match streams.is_empty() {
        true => Err(Plain::new(400, "you must specify at least 1 of stdin, stdout, stderr")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::node::upgrade::tests::request;

    /// How an exec or an attach to `c`, which runs with a terminal or without, begins.
    fn begun(attaches: bool, tty: bool, query: &str) -> Result<(Streams, String), String> {
        let answer = json!([{"command": ["a"], "attach": true, "stdout": "said"}]);
        let answer: Vec<super::super::answers::Answer> =
            serde_json::from_value(answer).expect("an answer");
        let answers = Answers::new(answer).expect("a right one");
        let pod = json!({
            "metadata": {"name": "p", "namespace": "d"},
            "spec": {"containers": [{"name": "c", "tty": tty}, {"name": "d"}]},
            "status": {"containerStatuses": [{"name": "c", "state": {"running": {}}}]},
        });
        let mut request = request(&[]);
        request.set_query(query);
        let container = if query.contains("container=d") { "d" } else { "c" };
        let begin = if attaches { attach } else { exec };
        let (streams, begun) = begin(&request, &answers, &pod, container);
        begun.map(|output| (streams, output.stdout)).map_err(|plain| plain.text)
    }

    #[test]
    fn what_is_asked_for_is_begun_or_refused() {
        let check = |attaches: bool, query: &str, expect: Result<&str, &str>| {
            let found = begun(attaches, false, query).map(|(_, stdout)| stdout);
            let found = found.as_ref().map(String::as_str).map_err(String::as_str);
            assert_eq!(found, expect, "{query}");
        };
        check(false, "command=a&stdout=1", Ok("said"));
        check(false, "command=b&stdout=1", Err("container not found (\"c\")"));
        check(false, "command=a&stdout=1&container=d", Err("container not found (\"d\")"));
        let none = "you must specify at least 1 of stdin, stdout, stderr";
        check(false, "command=a&tty=1", Err(none));
        check(true, "", Err(none));
        check(true, "stdin=1", Ok("said"));
        check(true, "stdout=1&container=d", Err("container d not found in pod p_d"));
    }

    #[test]
    fn a_terminal_is_the_containers_own() {
        let tty = |attaches: bool, tty: bool, query: &str| {
            begun(attaches, tty, query).map(|(streams, _)| (streams.tty, streams.stderr))
        };
        assert_eq!(tty(false, false, "command=a&stderr=1&stdout=1&tty=1"), Ok((true, false)));
        assert_eq!(tty(false, true, "command=a&stderr=1&stdout=1"), Ok((false, true)));
        assert_eq!(tty(true, false, "stderr=1&stdout=1"), Ok((false, true)));
        assert_eq!(tty(true, false, "stderr=1&stdout=1&tty=1"), Ok((false, false)));
        assert_eq!(tty(true, true, "stdout=1"), Ok((true, false)));
        let why = "rpc error: code = InvalidArgument desc = tty and stderr cannot both be true";
        assert_eq!(tty(true, true, "stderr=1&stdout=1"), Err(why.to_owned()));
    }
}
