//! The format `duration` (`ParseDuration` of `k8s.io/kube-openapi/pkg/validation/strfmt/duration.go`): Go's durations, and
//! any text in which a number stands before the name of a unit.

use std::sync::LazyLock;

use regex::Regex;

static PART: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"([0-9]+)[\t\n\x0C\r ]*([A-Za-zµ]+)").ok());

/// Units by all their names; of each, the last is also the beginning of longer ones.
const UNITS: [&[&str]; 8] = [
    &["ns", "nano"],
    &["us", "µs", "micro"],
    &["ms", "milli"],
    &["s", "sec"],
    &["m", "min"],
    &["h", "hr", "hour"],
    &["d", "day"],
    &["w", "wk", "week"],
];

/// Whether a text is a duration.
pub(super) fn is_duration(text: &str) -> bool {
    is_go_duration(text) || is_other_duration(text)
}

/// `time.ParseDuration`: a sign, and decimals each with its unit; or zero.
fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    let first = rest;
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        let (number, after) = rest.split_at(end.unwrap_or(rest.len()));
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let is_number = number.len() > number.matches('.').count() && !part.contains('.');
        let fits = whole.is_empty() || whole.parse::<i64>().is_ok();
        let end = after.find(|letter: char| letter.is_ascii_digit() || letter == '.');
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        let units = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];
        if !is_number || !fits || !units.contains(&unit) {
            return false;
        }
        rest = after;
    }
    !first.is_empty()
}

/// Scala's durations, by upstream's word. What is around them does not count.
fn is_other_duration(text: &str) -> bool {
    let Some(part) = PART.as_ref() else { return false };
    let mut any = false;
    for found in part.captures_iter(text) {
        if found[1].parse::<i64>().is_err() {
            return false;
        }
        let unit = found[2].to_lowercase();
        let named = |names: &&[&str]| {
            let beginning = names.last().is_some_and(|last| unit.starts_with(last));
            beginning || names.contains(&unit.as_str())
        };
        any |= UNITS.iter().any(named);
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_go_and_others() {
        for good in
            ["0", "-1h", "1h30m", "1.5h", ".5s", "1d", "P1D", "2 weeks", "1 hour", "x 3 minutes y"]
        {
            assert!(is_duration(good), "{good}");
        }
        for bad in ["", "1", "1x", "h", ".s", "one hour", "99999999999999999999h"] {
            assert!(!is_duration(bad), "{bad}");
        }
    }
}
