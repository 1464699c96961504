//! What a namespace's labels ask for (`pod-security-admission/api/helpers.go`).

use std::fmt;

use serde_json::Value;

use crate::schema::{FieldError, FieldErrorKind};

/// How much is asked of pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Privileged,
    Baseline,
    Restricted,
}

/// A level as a release of Kubernetes has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bar {
    pub(super) level: Level,
    /// The `n` of `v1.n`; none for the latest.
    pub(super) minor: Option<u32>,
}

/// What is asked in a namespace, whatever its labels are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Policy {
    pub(super) enforce: Bar,
    pub(super) warn: Bar,
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        };
        match self.minor {
            Some(minor) => write!(f, "{level}:v1.{minor}"),
            None => write!(f, "{level}:latest"),
        }
    }
}

impl Bar {
    const NONE: Bar = Bar { level: Level::Privileged, minor: None };

    /// Whether it may be higher than one that pods have passed.
    pub(super) fn is_news_after(self, before: Bar) -> bool {
        let relaxed = self.minor == before.minor && self.level <= before.level;
        self != before && self.level != Level::Privileged && !relaxed
    }
}

fn level(text: &str) -> Result<Level, &'static str> {
    match text {
        "privileged" => Ok(Level::Privileged),
        "baseline" => Ok(Level::Baseline),
        "restricted" => Ok(Level::Restricted),
        _ => Err("must be one of privileged, baseline, restricted"),
    }
}

fn minor(text: &str) -> Result<Option<u32>, &'static str> {
    const WRONG: &str = "must be \"latest\" or \"v1.x\"";
    if text == "latest" {
        return Ok(None);
    }
    let digits = text.strip_prefix("v1.").ok_or(WRONG)?;
    let canonical = digits == "0" || !digits.starts_with('0');
    match digits.bytes().all(|digit| digit.is_ascii_digit()) && canonical {
        true => digits.parse().map(Some).map_err(|_| WRONG),
        false => Err(WRONG),
    }
}

/// The policy of a namespace, and what is wrong with its labels: what can't be read counts as the strictest where it is
/// enforced, and as nothing elsewhere (`PolicyToEvaluate`).
pub(super) fn policy(namespace: &Value) -> (Policy, Vec<FieldError>) {
    let labels = &namespace["metadata"]["labels"];
    let mut errors = Vec::new();
    let mut mode = |mode: &str, unread: Level| {
        let read = |label: String| -> Option<(String, String)> {
            Some((labels[&label].as_str()?.to_owned(), label))
        };
        let mut wrong = |label: &str, value: &str, why: &str| {
            errors.push(FieldError {
                field: format!("metadata.labels[{label}]"),
                kind: FieldErrorKind::Invalid,
                value: Some(Value::from(value).to_string()),
                detail: why.to_owned(),
            });
        };
        let level = read(format!("pod-security.kubernetes.io/{mode}")).map(|(text, label)| {
            level(&text).inspect_err(|why| wrong(&label, &text, why)).map_err(|_| unread)
        });
        let minor =
            read(format!("pod-security.kubernetes.io/{mode}-version")).map(|(text, label)| {
                minor(&text).inspect_err(|why| wrong(&label, &text, why)).unwrap_or(None)
            });
        (level, minor)
    };
    let (enforced, enforced_minor) = mode("enforce", Level::Restricted);
    mode("audit", Level::Privileged);
    let (warned, warned_minor) = mode("warn", Level::Privileged);
    let bar = |level: Option<Result<Level, Level>>, minor: Option<Option<u32>>| Bar {
        level: level.map_or(Bar::NONE.level, |level| level.unwrap_or_else(|unread| unread)),
        minor: minor.unwrap_or(None),
    };
    let enforce = bar(enforced, enforced_minor);
    let mut warn = bar(warned, warned_minor);
    // Who enforces warns as well, of what makes pods.
    if warned.is_none() && matches!(enforced, Some(Ok(_))) && enforce.level > warn.level {
        warn.level = enforce.level;
        if warned_minor.is_none() {
            warn.minor = enforce.minor;
        }
    }
    (Policy { enforce, warn }, errors)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(labels: &[(&str, &str)]) -> (String, usize) {
        let labels: serde_json::Map<String, Value> = labels
            .iter()
            .map(|(name, value)| (format!("pod-security.kubernetes.io/{name}"), json!(value)))
            .collect();
        let (policy, errors) = policy(&json!({"metadata": {"labels": labels}}));
        (format!("{} {}", policy.enforce, policy.warn), errors.len())
    }

    #[test]
    fn labels_are_read_as_upstream_reads_them() {
        let check = |labels: &[(&str, &str)], expect: &str, errors: usize| {
            assert_eq!(read(labels), (expect.to_owned(), errors), "{labels:?}");
        };
        check(&[], "privileged:latest privileged:latest", 0);
        check(&[("enforce", "baseline")], "baseline:latest baseline:latest", 0);
        check(
            &[("enforce", "baseline"), ("enforce-version", "v1.20"), ("warn", "restricted")],
            "baseline:v1.20 restricted:latest",
            0,
        );
        check(&[("enforce", "nonsense")], "restricted:latest privileged:latest", 1);
        check(
            &[("enforce-version", "v1.01"), ("warn", "x"), ("audit", "y")],
            "privileged:latest privileged:latest",
            3,
        );
    }

    #[test]
    fn only_tighter_bars_are_news() {
        let bar = |level, minor| Bar { level, minor };
        let low = bar(Level::Baseline, None);
        assert!(low.is_news_after(Bar::NONE));
        assert!(!low.is_news_after(bar(Level::Restricted, None)));
        assert!(low.is_news_after(bar(Level::Restricted, Some(20))));
        assert!(!Bar::NONE.is_news_after(low) && !low.is_news_after(low));
    }
}
