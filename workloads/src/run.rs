//! Runs a script or command of the workload's.
//!
//! The child gets exactly the environment that the caller gives, plus `KUBECONFIG`, `NAMESPACE` and the
//! operation's own `env`; it runs in the test's folder (or `workDir` beneath), in a process group of its own.
//! When it ends, when it takes too long, or when the caller drops the future, the whole group is killed: what a
//! script starts in the background does not outlive it. (chainsaw lets it live.)
//!
//! The timeout is real time: a program waits by its own clock. Whoever holds a [`Programs`] sees whether it waits.

use std::{path::PathBuf, process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, Command},
};

use crate::{
    act::keep_outputs,
    client::Client,
    expression::Bindings,
    operation::{Operation, OperationKind, Run},
    programs::{Listed, Programs},
};

/// What a program needs to run.
#[derive(Debug, Clone)]
pub struct RunContext {
    /// The kubeconfig with which it reaches the cluster as the user.
    pub kubeconfig: PathBuf,
    /// Its environment, `PATH` included; nothing else is inherited.
    pub env: Vec<(String, String)>,
    /// The session whose outputs it sees and adds to.
    pub client: Client,
    /// Real time that it may take; `None`: the operation's timeout, taken as real time.
    pub timeout: Option<Duration>,
    /// Where it is listed while it runs.
    pub programs: Programs,
}

/// What a program did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunOutcome {
    /// Exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// What it wrote, up to [`OUTPUT_BYTES_MAX`]; bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// The same of its errors.
    pub stderr: String,
}

/// A program that did not do what it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RunError {
    /// Why, in words.
    pub message: String,
    /// What it did before.
    pub outcome: RunOutcome,
}

/// Bytes of each of stdout and stderr that are kept; what comes after is read and dropped.
pub const OUTPUT_BYTES_MAX: usize = 4 << 20;

/// Runs an [`OperationKind::Run`] to its end.
///
/// Without a `check`, an exit code other than 0 is an error; with one, the check decides alone, on `$stdout`,
/// `$stderr` and `$error` (null, or Go's words: `exit status 1`).
pub async fn run(operation: &Operation, context: &RunContext) -> Result<RunOutcome, RunError> {
    let fail = |message: String| RunError { message, outcome: RunOutcome::default() };
    let OperationKind::Run(run) = &operation.kind else {
        return Err(fail(format!("{} runs no program", operation.title)));
    };
    let bindings = operation.scope.bindings(&context.client.outputs());
    let bindings = bindings.map_err(|error| fail(error.to_string()))?;
    let env = environment(operation, run, context, &bindings).map_err(fail)?;
    let child = spawn(run, context, &env).map_err(|error| {
        fail(format!("can't start {} in {}: {error}", run.program, run.dir.display()))
    })?;
    let timeout = context.timeout.unwrap_or(operation.timeout);
    let (outcome, ended) = finish(child, timeout, &context.programs).await;
    let error = match (ended, outcome.code) {
        (Ended::Late, _) => Some(format!("killed: it took longer than {timeout:?}")),
        (Ended::Itself, Some(0)) => None,
        (Ended::Itself, Some(code)) => Some(format!("exit status {code}")),
        (Ended::Itself, None) => Some("signal: killed".to_owned()),
    };
    judge(operation, run, context, bindings, outcome, error)
}

/// Variables of the operation: its own, and NAMESPACE.
fn environment(
    operation: &Operation,
    run: &Run,
    context: &RunContext,
    bindings: &Bindings,
) -> Result<Vec<(String, String)>, String> {
    let mut own = vec![("NAMESPACE".to_owned(), operation.scope.namespace.clone())];
    for (name, template) in &run.env {
        let value = template.evaluate(&Value::Null, bindings).map_err(|error| error.to_string())?;
        let Value::String(text) = value else {
            return Err(format!("variable {name} must be a string, and is {value}"));
        };
        own.push((name.clone(), text));
    }
    let kubeconfig = context.kubeconfig.display().to_string();
    own.push(("KUBECONFIG".to_owned(), kubeconfig));
    Ok(own)
}

fn spawn(run: &Run, context: &RunContext, own: &[(String, String)]) -> std::io::Result<Child> {
    let args = run.args.iter().map(|arg| match run.expand {
        true => expanded(arg, own, &context.env),
        false => arg.clone(),
    });
    let dir = std::path::absolute(&run.dir)?;
    Command::new(&run.program)
        .args(args)
        .env_clear()
        .envs(context.env.iter().map(|(key, value)| (key, value)))
        .envs(own.iter().map(|(key, value)| (key, value)))
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

/// How a program ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Itself,
    Late,
}

/// Kills the group when dropped, so that no path leaves a process behind.
struct Group {
    leader: Option<Pid>,
    _listed: Listed,
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.leader {
            // An error means that nobody is left.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

async fn finish(mut child: Child, timeout: Duration, programs: &Programs) -> (RunOutcome, Ended) {
    let leader = child.id().and_then(|id| Pid::from_raw(id as i32));
    let group = Group { leader, _listed: programs.list(child.id()) };
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let wait = async {
        let status = tokio::time::timeout(timeout, child.wait()).await;
        // Whoever of the group still holds the pipes would keep the readers waiting.
        drop(group);
        match status {
            Ok(status) => (status.ok().and_then(|status| status.code()), Ended::Itself),
            Err(_) => {
                let _ = child.wait().await;
                (None, Ended::Late)
            }
        }
    };
    let ((code, ended), stdout, stderr) = tokio::join!(wait, text(stdout), text(stderr));
    (RunOutcome { code, stdout, stderr }, ended)
}

/// Reads to the end, keeping the beginning.
async fn text(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut pipe) = pipe else { return String::new() };
    let (mut kept, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
        let room = OUTPUT_BYTES_MAX - kept.len();
        kept.extend_from_slice(&buffer[..length.min(room)]);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

fn judge(
    operation: &Operation,
    run: &Run,
    context: &RunContext,
    mut bindings: Bindings,
    outcome: RunOutcome,
    error: Option<String>,
) -> Result<RunOutcome, RunError> {
    bindings.insert("stdout".to_owned(), outcome.stdout.as_str().into());
    bindings.insert("stderr".to_owned(), outcome.stderr.as_str().into());
    bindings.insert("error".to_owned(), error.as_deref().map_or(Value::Null, Value::from));
    let failure = match &run.check {
        None => error.map(|error| format!("{error}{}", said(&[&outcome.stderr, &outcome.stdout]))),
        Some(check) => match check.mismatches(&Value::Null, &bindings) {
            Err(error) => Some(error.to_string()),
            Ok(mismatches) if mismatches.is_empty() => None,
            Ok(mismatches) => {
                let lines: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
                Some(format!("not as expected: {}{}", lines.join("; "), said(&[&outcome.stderr])))
            }
        },
    };
    if let Some(message) = failure {
        return Err(RunError { message, outcome });
    }
    let kept = keep_outputs(operation, &run.outputs, &Value::Null, bindings, &context.client);
    match kept {
        Ok(()) => Ok(outcome),
        Err(error) => Err(RunError { message: error.to_string(), outcome }),
    }
}

/// The first of these outputs that says anything, as the end of a sentence: most programs say on stderr why they failed.
fn said(outputs: &[&str]) -> String {
    let said = outputs.iter().map(|text| text.trim()).find(|text| !text.is_empty());
    said.map(|text| format!(": {}", last_lines(text))).unwrap_or_default()
}

fn last_lines(text: &str) -> String {
    const LINES_MAX: usize = 10;
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES_MAX)..].join("\n")
}

/// `$NAME` and `${NAME}` by the operation's variables, then the environment's; unknown ones are empty; `$$` is `$`.
fn expanded(text: &str, own: &[(String, String)], env: &[(String, String)]) -> String {
    let value = |name: &str| {
        let found = own.iter().rev().chain(env.iter().rev()).find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some((name, after)) =
            after.strip_prefix('{').and_then(|after| after.split_once('}'))
        {
            out.push_str(value(name));
            rest = after;
        } else {
            let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let (name, after) = after.split_at(end.unwrap_or(after.len()));
            out.push_str(if name.is_empty() { "$" } else { value(name) });
            rest = after;
        }
    }
    out + rest
}
