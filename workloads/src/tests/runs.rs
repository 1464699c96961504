//! Programs.

use std::time::Duration;

use super::*;

async fn outcome_of(text: &str, timeout: Option<Duration>) -> String {
    let (workload, folder) = load(&test_of(text), &[("here.txt", "")]).unwrap();
    let (client, _) = toy();
    let env = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
    let (kubeconfig, programs) = (PathBuf::from("/k/config"), Programs::default());
    let context = RunContext { kubeconfig, env, client, timeout, programs };
    let mut lines = Vec::new();
    for operation in &workload.operations {
        lines.push(match run(operation, &context).await {
            Ok(outcome) => {
                format!("{} {:?} {:?}", outcome.code.unwrap_or(-1), outcome.stdout, outcome.stderr)
            }
            Err(error) => format!("failed: {error}"),
        });
    }
    lines.join("\n").replace(&folder.path().display().to_string(), "FOLDER")
}

#[tokio::test]
async fn programs_are_judged() {
    let rows = [
        "- script: {content: 'echo out; echo err >&2'}",
        "- script: {content: 'echo why >&2; exit 3'}",
        "- script: {content: 'echo why; exit 3'}",
        "- script: {content: 'echo why >&2; exit 3', check: {($error): null}}",
        "- script: {content: 'exit 3', check: {($error): exit status 3}}",
        "- script: {content: 'echo hi', check: {\"(trim_space($stdout))\": hi}}",
        "- script: {content: 'echo hi', check: {\"(trim_space($stdout))\": ho}}",
        "- script: {content: 'echo $NAMESPACE $KUBECONFIG $MINE; ls', env: [{name: MINE, value: ($namespace)}]}",
        "- script: {content: 'echo \"${HOME-unset}\"'}",
        "- command: {entrypoint: echo, args: [$NAMESPACE, '${MINE}x', $$, 'a b'], env: [{name: MINE, value: m}]}",
        "- command: {entrypoint: no-such-program}",
        "- script: {content: 'kill -9 $$'}",
        "- script:\n    content: printf '{\"a\":7}'\n    outputs: [{name: a, value: (json_parse($stdout).a)}]\n- script: {content: 'echo $A', env: [{name: A, value: (to_string($a))}]}",
    ];
    let mut lines = Vec::new();
    for row in rows {
        lines.push(outcome_of(row, None).await);
    }
    insta::assert_snapshot!(lines.join("\n"));
}

/// The group is killed with all that it started: the read end of the pipe sees its end, or this test hangs.
#[tokio::test]
async fn what_takes_too_long_is_killed_with_its_children() {
    let text = "- script: {content: 'sleep 1000 & sleep 1000'}";
    let line = outcome_of(text, Some(Duration::from_millis(200))).await;
    assert_eq!(line, "failed: killed: it took longer than 200ms");
}

/// A child in the background does not outlive the script, nor keep it waiting.
#[tokio::test]
async fn nothing_is_left_behind() {
    let text = "- script: {content: 'sleep 1000 & echo started'}";
    assert_eq!(outcome_of(text, None).await, "0 \"started\\n\" \"\"");
}
