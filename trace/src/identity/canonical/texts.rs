//! How single texts are written: times as ages, the rest escaped.

use std::fmt::Write;

use crate::time::Time;

/// The age of an RFC 3339 text in nanoseconds, and how it was written: decimals and offset.
pub(super) fn age(text: &str, now: Time) -> Option<String> {
    let shaped = text.len() >= 20 && text.as_bytes()[10] == b'T' && text.is_ascii();
    // Leap seconds read as the second before: two texts, one time.
    if !shaped || &text[17..19] == "60" {
        return None;
    }
    let time = Time::parse_rfc3339(text)?;
    let tail = &text[19..];
    let fraction = tail.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    let (decimals, offset) = match tail.as_bytes()[0] {
        b'.' => (fraction, &tail[1 + fraction..]),
        _ => (0, tail),
    };
    let plain = offset.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-:".contains(&byte));
    let age = i128::from(now.0) - i128::from(time.0);
    plain.then(|| format!("{age}ns, {decimals} decimals, {offset}"))
}

/// Appends `text` as the inside of a JSON string, with `‹` doubled.
pub(super) fn escape(out: &mut String, text: &str) {
    // 0xE2 begins `‹` (U+2039, E2 80 B9) among others.
    let special = |byte: u8| byte < 0x20 || matches!(byte, b'"' | b'\\' | 0xE2);
    if !text.bytes().any(special) {
        return out.push_str(text);
    }
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !special(byte) {
            continue;
        }
        out.push_str(&text[written..at]);
        written = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0xE2 => {
                if text[at..].starts_with('‹') {
                    out.push('‹');
                }
                written = at;
            }
            control => {
                let _ = write!(out, "\\u{control:04x}");
            }
        }
    }
    out.push_str(&text[written..]);
}
