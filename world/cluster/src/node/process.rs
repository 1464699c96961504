//! What an exec or an attach comes to, and how its end is told (`metav1.Status` on the error stream).

use serde_json::{Value, json};

/// How it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Well.
    Success,
    /// The command exited otherwise.
    Exit {
        /// With this.
        code: u8,
        /// As the runtime words it.
        why: String,
    },
    /// The API server, which has switched already, could not have it begun.
    Failed(String),
}

/// What it comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) ending: Ending,
}

impl Output {
    /// One that never ran.
    pub(crate) fn failed(why: String) -> Output {
        Output { stdout: String::new(), stderr: String::new(), ending: Ending::Failed(why) }
    }
}

impl Ending {
    /// As it is written from version 4 of the protocol on.
    pub(crate) fn status(&self) -> Value {
        let mut status = json!({"metadata": {}, "status": "Failure"});
        match self {
            Ending::Success => status["status"] = json!("Success"),
            Ending::Exit { code, .. } => {
                status["reason"] = json!("NonZeroExitCode");
                let cause = json!({"reason": "ExitCode", "message": code.to_string()});
                status["details"] = json!({"causes": [cause]});
            }
            Ending::Failed(why) => {
                status["reason"] = json!("InternalError");
                status["details"] = json!({"causes": [{"message": why}]});
                status["code"] = json!(500);
            }
        }
        if let Some(message) = self.message() {
            status["message"] = json!(message);
        }
        status
    }

    /// As it is written before version 4; none if it ended well.
    pub(crate) fn message(&self) -> Option<String> {
        match self {
            Ending::Success => None,
            Ending::Exit { why, .. } => {
                Some(format!("command terminated with non-zero exit code: {why}"))
            }
            Ending::Failed(why) => Some(format!("Internal error occurred: {why}")),
        }
    }

    /// As one tells it who has heard it from a runtime over SPDY (version 5 over WebSockets).
    pub(crate) fn translated(self) -> Ending {
        match self {
            Ending::Exit { code, .. } => {
                Ending::Exit { code, why: format!("command terminated with exit code {code}") }
            }
            other => other,
        }
    }
}

/// Which streams a client asks for (`remotecommand.Options`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Streams {
    pub(crate) stdin: bool,
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
    pub(crate) tty: bool,
}

impl Streams {
    /// A terminal has one stream for all output.
    pub(crate) fn new(asked: impl Fn(&str) -> bool) -> Streams {
        let tty = asked("tty");
        Streams {
            stdin: asked("stdin"),
            stdout: asked("stdout"),
            stderr: asked("stderr") && !tty,
            tty,
        }
    }

    /// Whether there is none, which is refused.
    pub(crate) fn is_empty(&self) -> bool {
        !(self.stdin || self.stdout || self.stderr)
    }

    /// What goes to the output streams that are asked for: standard output, standard error.
    pub(crate) fn written(&self, output: &Output) -> (String, String) {
        let (mut out, mut err) = (output.stdout.clone(), output.stderr.clone());
        if self.tty {
            out.push_str(&std::mem::take(&mut err));
        }
        (
            if self.stdout { out } else { String::new() },
            if self.stderr { err } else { String::new() },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_is_a_cause() {
        let status = Ending::Exit { code: 3, why: "w".to_owned() }.status();
        let expect = json!({
            "metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
            "message": "command terminated with non-zero exit code: w",
            "details": {"causes": [{"reason": "ExitCode", "message": "3"}]},
        });
        assert_eq!(status, expect);
        assert_eq!(Ending::Success.status(), json!({"metadata": {}, "status": "Success"}));
        let expect = json!({
            "metadata": {}, "status": "Failure", "reason": "InternalError", "code": 500,
            "message": "Internal error occurred: no", "details": {"causes": [{"message": "no"}]},
        });
        assert_eq!(Output::failed("no".to_owned()).ending.status(), expect);
        let told = Ending::Exit { code: 3, why: "w".to_owned() }.translated().message();
        let expect =
            "command terminated with non-zero exit code: command terminated with exit code 3";
        assert_eq!(told.as_deref(), Some(expect));
    }

    #[test]
    fn a_terminal_shows_both_streams_as_one() {
        let output =
            Output { stdout: "o".to_owned(), stderr: "e".to_owned(), ending: Ending::Success };
        let check = |asked: &[&str], expect: Option<(&str, &str)>| {
            let streams = Streams::new(|name| asked.contains(&name));
            let written = (!streams.is_empty()).then(|| streams.written(&output));
            let expect = expect.map(|(out, err)| (out.to_owned(), err.to_owned()));
            assert_eq!(written, expect, "{asked:?}");
        };
        check(&["stdout", "stderr"], Some(("o", "e")));
        check(&["stdout", "stderr", "tty", "stdin"], Some(("oe", "")));
        check(&["stderr"], Some(("", "e")));
        check(&["stdin"], Some(("", "")));
        check(&["tty"], None);
    }
}
