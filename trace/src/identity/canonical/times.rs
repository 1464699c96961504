//! Times inside longer texts: a framework keeps JSON with its own progress in an annotation, for one.

use crate::time::Time;

/// A time in a text, and which bytes of it it takes.
pub(super) struct Found {
    pub begin: usize,
    pub end: usize,
    pub time: Time,
}

/// Bytes of `2026-01-02T03:04:05`.
const LENGTH: usize = 19;

/// The first RFC 3339 time of a text. One without an offset is in UTC: Python writes such.
pub(super) fn first(text: &str) -> Option<Found> {
    if text.len() < LENGTH {
        return None;
    }
    let bytes = text.as_bytes();
    let starts = text.match_indices('T').filter_map(|(at, _)| at.checked_sub(10));
    starts.filter(|begin| begin + LENGTH <= bytes.len()).find_map(|begin| {
        let shaped = bytes[begin + 4] == b'-' && bytes[begin + 13] == b':';
        if !shaped || begin > 0 && bytes[begin - 1].is_ascii_alphanumeric() {
            return None;
        }
        let rest = text.get(begin..)?;
        let mut length = LENGTH;
        length += fraction(&rest.as_bytes()[length..]);
        let offset = offset(&rest.as_bytes()[length..]);
        let stamp = match offset {
            0 => format!("{}Z", &rest[..length]),
            offset => rest[..length + offset].to_owned(),
        };
        let time = Time::parse_rfc3339(&stamp)?;
        Some(Found { begin, end: begin + length + offset, time })
    })
}

/// Bytes of `.123`.
fn fraction(rest: &[u8]) -> usize {
    match rest {
        [b'.', digits @ ..] => {
            let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if count == 0 { 0 } else { 1 + count }
        }
        _ => 0,
    }
}

/// Bytes of `Z` or `+00:00`.
fn offset(rest: &[u8]) -> usize {
    match rest {
        [b'Z', ..] => 1,
        [b'+' | b'-', a, b, b':', c, d, ..]
            if [a, b, c, d].iter().all(|byte| byte.is_ascii_digit()) =>
        {
            6
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_wherever_they_stand() {
        let check = |text: &str, expect: Option<&str>| {
            let found = first(text);
            assert_eq!(found.as_ref().map(|found| &text[found.begin..found.end]), expect, "{text}");
        };
        check("2026-01-02T03:04:05Z", Some("2026-01-02T03:04:05Z"));
        check(
            r#"{"started":"2026-01-02T03:04:05.123456+00:00","x":1}"#,
            Some("2026-01-02T03:04:05.123456+00:00"),
        );
        check("at 2026-01-02T03:04:05.5, then", Some("2026-01-02T03:04:05.5"));
        check("THE TEXT 2026-01-02T03:04:05", Some("2026-01-02T03:04:05"));
        check("12026-01-02T03:04:05Z", None);
        check("2026-13-02T03:04:05Z", None);
        check("ünïcödé T text with no time in it", None);
        check("", None);
    }
}
