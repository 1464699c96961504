//! String formats that the validation of custom resources checks (`format: date-time` and others).
//! Formats not listed here are not checked, as upstream ignores those that it doesn't know.

use std::net::{Ipv4Addr, Ipv6Addr};

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::verbs::is_label;

/// Whether `text` has the format. Unknown formats hold for everything.
pub(super) fn holds(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => trace::Time::parse_rfc3339(text).is_some(),
        "date" => is_date(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "uuid" | "uuid3" | "uuid4" | "uuid5" => is_uuid(text),
        "byte" => !text.is_empty() && STANDARD.decode(text).is_ok(),
        "hostname" => is_hostname(text),
        "email" => is_email(text),
        "uri" => is_uri(text),
        "mac" => is_mac(text),
        "duration" => is_duration(text),
        "k8s-short-name" => text.len() <= 63 && is_label(text),
        "k8s-long-name" => text.len() <= 253 && text.split('.').all(is_label),
        _ => true,
    }
}

/// Whether a custom type's values are looked at by this format. Others count as none (`GetUnrecognizedFormats` of
/// `k8s.io/apiextensions-apiserver/pkg/apiserver/validation/formats.go`). `kind` is the schema's `type`; empty if it has
/// none.
pub(crate) fn is_recognized(kind: &str, format: &str) -> bool {
    match kind {
        "" | "string" => is_known(format),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

/// Whether upstream looks at texts of this format (`strfmt.Default`), if only to let them pass.
pub(super) fn is_known(format: &str) -> bool {
    const KNOWN: [&str; 27] = [
        "bsonobjectid",
        "byte",
        "cidr",
        "creditcard",
        "date",
        "date-time",
        "datetime",
        "duration",
        "email",
        "hexcolor",
        "hostname",
        "ipv4",
        "ipv6",
        "isbn",
        "isbn10",
        "isbn13",
        "k8s-long-name",
        "k8s-short-name",
        "mac",
        "password",
        "rgbcolor",
        "ssn",
        "uri",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
    ];
    KNOWN.contains(&format)
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && trace::Time::parse_rfc3339(&format!("{text}T00:00:00Z")).is_some()
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let Ok(length) = length.parse::<u8>() else { return false };
    (address.parse::<Ipv4Addr>().is_ok() && length <= 32)
        || (address.parse::<Ipv6Addr>().is_ok() && length <= 128)
}

fn is_uuid(text: &str) -> bool {
    let bare: String = text.chars().filter(|letter| *letter != '-').collect();
    bare.len() == 32 && bare.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_hostname(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

fn is_email(text: &str) -> bool {
    let Some((user, host)) = text.rsplit_once('@') else { return false };
    !user.is_empty() && !user.contains(char::is_whitespace) && is_hostname(host)
}

/// Go's `url.ParseRequestURI`: absolute, or an absolute path.
fn is_uri(text: &str) -> bool {
    let scheme = |scheme: &str| {
        scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    !text.contains(|letter: char| letter.is_control() || letter == ' ')
        && (text.starts_with('/') || text.split_once(':').is_some_and(|(left, _)| scheme(left)))
}

fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '-']).collect();
    matches!(parts.len(), 6 | 8 | 20)
        && parts
            .iter()
            .all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Go's `time.ParseDuration`: signed sequence of decimals with units.
fn is_duration(text: &str) -> bool {
    let mut rest = text.trim_start_matches(['+', '-']);
    if rest == "0" {
        return true;
    }
    let mut parts = 0;
    while !rest.is_empty() {
        let number = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        let Some(number) = number.filter(|length| *length > 0) else { return false };
        rest = &rest[number..];
        let units = ["ns", "us", "µs", "ms", "s", "m", "h"];
        let Some(unit) =
            units.iter().filter(|unit| rest.starts_with(**unit)).max_by_key(|u| u.len())
        else {
            return false;
        };
        rest = &rest[unit.len()..];
        parts += 1;
    }
    parts > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_hold_or_not() {
        for (format, good, bad) in [
            ("date-time", "2026-01-01T00:00:00Z", "yesterday"),
            ("date", "2026-01-31", "2026-13-01"),
            ("ipv4", "10.0.0.1", "10.0.0"),
            ("ipv6", "::1", "1::2::3"),
            ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
            ("uuid", "5a1b7e3c-0000-4000-8000-000000000000", "5a1b"),
            ("byte", "aGVsbG8=", "%"),
            ("byte", "aGVsbG8=", ""),
            ("k8s-short-name", "a-1", "a.b"),
            ("k8s-long-name", "a.b-1", "a..b"),
            ("hostname", "a.example", "-a"),
            ("email", "a@b.example", "a"),
            ("uri", "https://a.example/b", "no uri"),
            ("mac", "00:11:22:33:44:55", "00:11"),
            ("duration", "1h30m", "1 hour"),
            ("unknown", "anything", ""),
        ] {
            assert!(holds(format, good), "{format} {good}");
            assert!(!holds(format, bad) || format == "unknown", "{format} {bad}");
        }
    }
}
