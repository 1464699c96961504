//! How a log is asked for (`PodLogOptions`), and what of it is shown.

use std::time::Duration;

use serde_json::json;
use trace::Time;

use crate::{
    schema::{FieldError, FieldErrorKind},
    server::request::Request,
    status::Refusal,
};

/// Go's layout of a time, as its errors show it.
const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";

/// The zero time: before everything.
const ALWAYS: Time = Time(i64::MIN);

/// How a log is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LogOptions {
    pub(crate) follow: bool,
    pub(crate) previous: bool,
    timestamps: bool,
    tail: Option<usize>,
    limit: Option<usize>,
    /// Only what was written then or later.
    since: Option<Time>,
}

impl LogOptions {
    /// Reads it from the query; `now` is the kubelet's clock. Errors: 400 for what is no number or time, 422 for what
    /// is out of range (`ValidatePodLogOptions`).
    pub(crate) fn read(request: &Request, pod: &str, now: Time) -> Result<LogOptions, Refusal> {
        let since_seconds = number(request, "sinceSeconds")?;
        let since_time = moment(request, "sinceTime")?;
        let (tail, limit) = (number(request, "tailLines")?, number(request, "limitBytes")?);
        let mut errors = Vec::new();
        let mut least = |field: &str, value: Option<i64>, least: i64, detail: &str| {
            if let Some(value) = value.filter(|value| *value < least) {
                let kind = FieldErrorKind::Invalid;
                errors.push(FieldError::with_value(field, kind, &json!(value), detail));
            }
        };
        least("tailLines", tail, 0, "must be greater than or equal to 0");
        least("limitBytes", limit, 1, "must be greater than 0");
        if since_time.is_none() {
            least("sinceSeconds", since_seconds, 1, "must be greater than 0");
        } else if since_seconds.is_some() {
            let detail = "at most one of `sinceTime` or `sinceSeconds` may be specified";
            // So `field.NewPath("")` shows itself.
            errors.push(FieldError::bare("[]", FieldErrorKind::Forbidden, detail));
        }
        // The feature PodLogsQuerySplitStreams is off.
        if request.has("stream") {
            let detail = "may not be specified";
            errors.push(FieldError::bare("stream", FieldErrorKind::Forbidden, detail));
        }
        if !errors.is_empty() {
            return Err(Refusal::invalid("", "PodLogOptions", pod, &errors));
        }
        let ago = |seconds: i64| {
            let ago = Duration::from_secs(seconds.unsigned_abs()).as_nanos();
            Time(now.0.saturating_sub(i64::try_from(ago).unwrap_or(i64::MAX)))
        };
        let size = |value: i64| usize::try_from(value).unwrap_or(usize::MAX);
        Ok(LogOptions {
            follow: request.flag("follow"),
            previous: request.flag("previous"),
            timestamps: request.flag("timestamps"),
            tail: tail.map(size),
            limit: limit.map(size),
            since: since_time.or(since_seconds.map(ago)),
        })
    }

    /// What is shown of a log all of whose lines were written at one moment.
    pub(crate) fn show(&self, log: &str, written: Time) -> Vec<u8> {
        if self.since.is_some_and(|since| written < since) {
            return Vec::new();
        }
        let lines: Vec<&str> = log.split_inclusive('\n').collect();
        let first = self.tail.map_or(0, |tail| lines.len().saturating_sub(tail));
        let mut shown = Vec::new();
        for line in &lines[first..] {
            if self.timestamps {
                shown.extend_from_slice(stamp(written).as_bytes());
            }
            shown.extend_from_slice(line.as_bytes());
        }
        shown.truncate(self.limit.unwrap_or(usize::MAX));
        shown
    }

    /// Whether no more is wanted after so many bytes.
    pub(crate) fn is_enough(&self, bytes: usize) -> bool {
        self.limit.is_some_and(|limit| bytes >= limit)
    }
}

/// How the API server asks a kubelet for the log that it is asked for (`LogLocation`).
pub(crate) fn query(request: &Request) -> Vec<(&'static str, String)> {
    let flags = ["follow", "previous", "timestamps"].into_iter();
    let flags = flags.filter(|name| request.flag(name)).map(|name| (name, "true".to_owned()));
    let numbers = ["sinceSeconds", "tailLines", "limitBytes"].into_iter();
    let numbers = numbers.filter_map(|name| Some((name, number(request, name).ok()??.to_string())));
    let since = match moment(request, "sinceTime") {
        Ok(Some(ALWAYS)) => Some("0001-01-01T00:00:00Z".to_owned()),
        Ok(Some(since)) => Some(since.rfc3339()),
        _ => None,
    };
    flags.chain(numbers).chain(since.map(|since| ("sinceTime", since))).collect()
}

/// `RFC3339NanoFixed`, and a space.
fn stamp(time: Time) -> String {
    let seconds = time.rfc3339();
    format!("{}.{:09}Z ", seconds.trim_end_matches('Z'), time.0.rem_euclid(1_000_000_000))
}

/// Errors: `strconv.ParseInt`'s.
fn number(request: &Request, name: &str) -> Result<Option<i64>, Refusal> {
    if !request.has(name) {
        return Ok(None);
    }
    let text = request.query(name);
    text.parse().map(Some).map_err(|error: std::num::ParseIntError| {
        use std::num::IntErrorKind::{NegOverflow, PosOverflow};
        let why = match error.kind() {
            PosOverflow | NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        Refusal::bad_request(format!("strconv.ParseInt: parsing {text:?}: {why}"))
    })
}

/// Errors: `time.Parse`'s, for what does not begin as a time does.
fn moment(request: &Request, name: &str) -> Result<Option<Time>, Refusal> {
    match request.query(name) {
        _ if !request.has(name) => Ok(None),
        "" | "null" => Ok(Some(ALWAYS)),
        text => match Time::parse_rfc3339(text) {
            Some(time) => Ok(Some(time)),
            None => Err(Refusal::bad_request(format!(
                "parsing time {text:?} as {LAYOUT:?}: cannot parse {text:?} as \"2006\""
            ))),
        },
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use trace::Actor;

    use super::*;

    const NOW: Time = Time(1_767_225_600_000_000_000);

    fn read(query: &str) -> Result<LogOptions, Refusal> {
        let mut request = Request::own(Actor::Trommel, "test", Bytes::new());
        request.set_query(query);
        LogOptions::read(&request, "p", NOW)
    }

    #[test]
    fn wrong_options_are_refused_in_upstreams_words() {
        let check = |query: &str, code: u16, expect: &str| {
            let refusal = read(query).expect_err(query);
            assert_eq!((refusal.code, refusal.message.as_str()), (code, expect), "{query}");
        };
        let invalid = |what: &str| format!("PodLogOptions \"p\" is invalid: {what}");
        check("tailLines=x", 400, r#"strconv.ParseInt: parsing "x": invalid syntax"#);
        check(
            "limitBytes=99999999999999999999",
            400,
            r#"strconv.ParseInt: parsing "99999999999999999999": value out of range"#,
        );
        check(
            "sinceTime=now",
            400,
            r#"parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006""#,
        );
        let tail = "tailLines: Invalid value: -1: must be greater than or equal to 0";
        check("tailLines=-1", 422, &invalid(tail));
        let limit = "limitBytes: Invalid value: 0: must be greater than 0";
        check("limitBytes=0", 422, &invalid(limit));
        check("tailLines=-1&limitBytes=0", 422, &invalid(&format!("[{tail}, {limit}]")));
        let since = "sinceSeconds: Invalid value: 0: must be greater than 0";
        check("sinceSeconds=0", 422, &invalid(since));
        let both = "[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified";
        check("sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", 422, &invalid(both));
        check("stream=Stdout", 422, &invalid("stream: Forbidden: may not be specified"));
    }

    #[test]
    fn a_kubelet_is_asked_for_the_same() {
        let check = |asked: &str, expect: &[(&str, &str)]| {
            let mut request = Request::own(Actor::Trommel, "test", Bytes::new());
            request.set_query(asked);
            let found = query(&request);
            let found: Vec<(&str, &str)> =
                found.iter().map(|(name, value)| (*name, value.as_str())).collect();
            assert_eq!(found, expect, "{asked}");
        };
        check("container=c&follow=0", &[]);
        check("tailLines=007&follow=1", &[("follow", "true"), ("tailLines", "7")]);
        check("sinceTime=", &[("sinceTime", "0001-01-01T00:00:00Z")]);
        let since = "2026-01-01T01:00:00+01:00".replace('+', "%2B");
        check(&format!("sinceTime={since}"), &[("sinceTime", "2026-01-01T00:00:00Z")]);
    }

    #[test]
    fn a_log_is_cut_as_asked() {
        let check = |query: &str, expect: &str| {
            let shown = read(query).expect(query).show("a\nbc\nd", NOW);
            assert_eq!(String::from_utf8_lossy(&shown), expect, "{query}");
        };
        check("", "a\nbc\nd");
        check("follow=true&previous=0", "a\nbc\nd");
        check("tailLines=2", "bc\nd");
        check("tailLines=0", "");
        check("tailLines=9", "a\nbc\nd");
        check("limitBytes=3", "a\nb");
        check("tailLines=2&limitBytes=1", "b");
        check("sinceSeconds=1", "a\nbc\nd");
        check("sinceTime=2026-01-01T00:00:00Z", "a\nbc\nd");
        check("sinceTime=2026-01-01T00:00:01Z", "");
        check("sinceTime=", "a\nbc\nd");
        check("timestamps=true&tailLines=1", "2026-01-01T00:00:00.000000000Z d");
    }
}
