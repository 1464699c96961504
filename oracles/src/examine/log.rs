//! Errors that the controller logged, alike ones together.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trace::{Event, History, ProcessHappening};

/// Kinds of error lines that are told.
const KINDS_MAX: usize = 20;
/// Characters of a line that are told.
const LENGTH_MAX: usize = 300;

/// Alike lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoggedError {
    /// The first one.
    pub line: String,
    /// How many there are.
    pub count: u32,
}

impl LoggedError {
    /// Whether both say the same, but for numbers.
    pub fn is_like(&self, other: &LoggedError) -> bool {
        kind(&self.line) == kind(&other.line)
    }
}

impl fmt::Display for LoggedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = if self.count == 1 { String::new() } else { format!(" {} times", self.count) };
        write!(f, "the controller logged an error{times}: {}", self.line)
    }
}

/// All lines that a run's controller wrote.
pub(super) fn lines(history: &History) -> Vec<&str> {
    fn line(event: &Event) -> Option<&str> {
        let Event::Process(process) = event else { return None };
        match &process.what {
            ProcessHappening::Line { text } if process.actor.is_subject() => Some(text),
            _ => None,
        }
    }
    history.records.iter().filter_map(|record| line(&record.event)).collect()
}

/// Error lines by what they say without numbers and times, the first of each.
pub fn errors<'l>(lines: impl IntoIterator<Item = &'l str>) -> Vec<LoggedError> {
    let mut all: Vec<(String, LoggedError)> = vec![];
    for line in lines.into_iter().filter(|line| is_error(line)) {
        let line = &*said(line);
        let kind = kind(line);
        match all.iter().position(|(other, _)| *other == kind) {
            Some(known) => all[known].1.count += 1,
            None if all.len() < KINDS_MAX => {
                all.push((kind, LoggedError { line: shortened(line), count: 1 }));
            }
            None => {}
        }
    }
    all.into_iter().map(|(_, error)| error).collect()
}

/// Whether a line says by its form that it is about an error: JSON, klog, logfmt, and what Python, Java, Rust and Go's
/// runtimes write.
fn is_error(line: &str) -> bool {
    let bare = line.trim_start();
    if bare.starts_with('{')
        && let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(bare)
    {
        let level = ["level", "severity", "lvl", "log.level"]
            .iter()
            .find_map(|name| fields.get(*name)?.as_str());
        return level.is_some_and(is_level);
    }
    // klog: `E1125 05:24:38.000000       1 leaderelection.go:330] …`
    let klog = bare.as_bytes();
    if klog.len() > 6
        && matches!(klog[0], b'E' | b'F')
        && klog[1..5].iter().all(u8::is_ascii_digit)
        && klog[5] == b' '
    {
        return true;
    }
    if ["panic: ", "fatal error: ", "Traceback (most recent call last)", "Exception in thread"]
        .iter()
        .any(|start| bare.starts_with(start))
    {
        return true;
    }
    // `level=error`, and a word among the first ones that is a level: `2026-11-25T05:24:38Z ERROR main …`.
    let mut words = bare.split_whitespace().take(5);
    words.any(|word| {
        let (name, level) = word.split_once('=').unwrap_or(("", word));
        let level = level.trim_matches(|letter: char| !letter.is_alphanumeric());
        let written = match name {
            "" => level.chars().all(|letter| letter.is_uppercase()),
            name => matches!(name, "level" | "lvl" | "severity"),
        };
        written && is_level(level)
    })
}

fn is_level(level: &str) -> bool {
    let level = level.to_ascii_lowercase();
    matches!(
        &*level,
        "error" | "err" | "erro" | "fatal" | "panic" | "dpanic" | "critical" | "severe"
    )
}

/// What a structured line says: its message and error.
fn said(line: &str) -> Cow<'_, str> {
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(line.trim_start()) else {
        return Cow::Borrowed(line);
    };
    let field = |names: &[&str]| names.iter().find_map(|name| fields.get(*name)?.as_str());
    match (field(&["msg", "message"]), field(&["error", "err"])) {
        (Some(message), Some(error)) => Cow::Owned(format!("{message}: {error}")),
        (Some(message), None) => Cow::Owned(message.to_owned()),
        _ => Cow::Borrowed(line),
    }
}

/// The line without what differs each time: numbers, and words that hold digits.
fn kind(line: &str) -> String {
    let word = |word: &str| match word.bytes().any(|byte| byte.is_ascii_digit()) {
        true => "#".to_owned(),
        false => word.to_owned(),
    };
    let words =
        line.split(|letter: char| letter.is_whitespace() || ",:;\"'()[]{}=/".contains(letter));
    words.map(word).collect::<Vec<_>>().join(" ")
}

/// Without its middle, if it is long: what is wrong stands at the beginning, or at the end (`"error": …` of zap).
fn shortened(line: &str) -> String {
    let length = line.chars().count();
    if length <= LENGTH_MAX {
        return line.to_owned();
    }
    let begin: String = line.chars().take(LENGTH_MAX / 2).collect();
    let end: String = line.chars().skip(length - LENGTH_MAX / 2).collect();
    format!("{begin} … {end}")
}

/// Host names that could not be resolved, as Go, Java, Python and Node say it.
pub fn unresolved<'l>(lines: impl IntoIterator<Item = &'l str>) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for line in lines {
        let found = [
            between(line, "dial tcp: lookup ", "no such host"),
            between(line, "lookup ", "no such host"),
            between(line, "lookup ", "connection refused"),
            between(line, "lookup ", "network is unreachable"),
            between(line, "lookup ", "i/o timeout"),
            between(line, "lookup ", "server misbehaving"),
            after(line, "UnknownHostException: "),
            after(line, "getaddrinfo ENOTFOUND "),
            after(line, "Cannot connect to host "),
        ];
        let Some(name) = found.into_iter().flatten().next() else { continue };
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// The word after `start`, if `end` comes later.
fn between<'l>(line: &'l str, start: &str, end: &str) -> Option<&'l str> {
    let (_, rest) = line.split_once(start)?;
    rest.contains(end).then(|| word(rest)).flatten()
}

fn after<'l>(line: &'l str, start: &str) -> Option<&'l str> {
    word(line.split_once(start)?.1)
}

fn word(text: &str) -> Option<&str> {
    let end = text
        .find(|letter: char| !(letter.is_ascii_alphanumeric() || ".-_".contains(letter)))
        .unwrap_or(text.len());
    let word = text[..end].trim_end_matches('.');
    (!word.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_say_error() {
        let yes = [
            r#"{"level":"error","ts":"2026-11-25T05:24:38Z","msg":"Reconciler error"}"#,
            r#"{"severity": "ERROR", "message": "x"}"#,
            "E1125 05:24:38.123456       1 controller.go:12] x",
            "2026-11-25T05:24:38Z\tERROR\tsetup\tunable to start",
            "[2026-11-25 05:24:38,123] kopf.objects [ERROR   ] [default/a] Handler failed",
            "time=2026-11-25T05:24:38Z level=error msg=x",
            "panic: runtime error: index out of range",
            "Traceback (most recent call last):",
            "05:24:38 SEVERE [io.x] failed",
        ];
        let no = [
            r#"{"level":"info","msg":"no error"}"#,
            "I1125 05:24:38.123456       1 controller.go:12] error count 0",
            "2026-11-25T05:24:38Z INFO setup error handling is on",
            "E11 bridges",
            "",
        ];
        assert_eq!(yes.map(is_error), [true; 9]);
        assert_eq!(no.map(is_error), [false; 5]);
    }

    #[test]
    fn alike_lines_are_one() {
        let lines = [
            "E1125 05:24:38.1 1 a.go:12] pod web-x1 is gone",
            "E1125 05:24:39.1 1 a.go:12] pod web-x2 is gone",
            "E1125 05:24:39.1 1 a.go:12] no pod",
        ];
        let found = errors(lines);
        let of = |line: &str, count| LoggedError { line: line.to_owned(), count };
        assert_eq!(found, [of(lines[0], 2), of(lines[2], 1)]);
    }

    #[test]
    fn of_json_the_message_and_the_error_are_told() {
        let line = |id: &str| {
            format!(r#"{{"level":"error","msg":"Reconciler error","error":"no pod","id":"{id}"}}"#)
        };
        let lines = [line("a"), line("b")];
        let found = errors(lines.iter().map(String::as_str));
        assert_eq!(found, [LoggedError { line: "Reconciler error: no pod".to_owned(), count: 2 }]);
    }

    #[test]
    fn names_that_nobody_resolved() {
        let lines = [
            "Get \"http://db.default.svc:80/\": dial tcp: lookup db.default.svc on 10.0.0.1:53: no such host",
            "java.net.UnknownHostException: kafka.default.svc.cluster.local",
            "Error: getaddrinfo ENOTFOUND redis",
            "lookup zk.default.svc on 10.0.0.1:53: dial udp 10.0.0.1:53: connect: network is unreachable",
            "lookup db.default.svc: no such host",
            "lookup of a key",
        ];
        assert_eq!(
            unresolved(lines),
            ["db.default.svc", "kafka.default.svc.cluster.local", "redis", "zk.default.svc"]
        );
    }
}
