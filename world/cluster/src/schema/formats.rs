//! String formats that the validation of custom resources checks (`format: date-time` and others).
//! Formats not listed here are not checked, as upstream ignores those that it doesn't know.

mod durations;
mod hosts;
mod times;

use crate::verbs::is_label;

/// Whether `text` has the format. Unknown formats hold for everything.
pub(super) fn holds(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => times::is_date_time(text),
        "date" => times::is_date(text),
        "ipv4" => hosts::is_ipv4(text),
        "ipv6" => hosts::is_ipv6(text),
        "cidr" => hosts::is_cidr(text),
        "uuid" | "uuid3" | "uuid4" | "uuid5" => is_uuid(format, text),
        "byte" => is_base64(text),
        "hostname" => hosts::is_hostname(text),
        "email" => hosts::is_email(text),
        "uri" => is_uri(text),
        "mac" => hosts::is_mac(text),
        "duration" => durations::is_duration(text),
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

/// Hexadecimal digits in groups of 8, 4, 4, 4 and 12, dashes between them or not (`UUIDPattern`); of a version, with its
/// number first in the third group, and of the later ones with the variant first in the fourth.
fn is_uuid(format: &str, text: &str) -> bool {
    let (mut digits, mut rest) = (Vec::new(), text.as_bytes());
    for (index, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        rest = rest.strip_prefix(b"-").filter(|_| index > 0).unwrap_or(rest);
        let Some((group, after)) = rest.split_at_checked(length) else { return false };
        digits.extend(group.to_ascii_lowercase());
        rest = after;
    }
    let version = format.as_bytes().get(4);
    let variant = matches!(version, None | Some(b'3')) || b"89ab".contains(&digits[16]);
    rest.is_empty()
        && digits.iter().all(u8::is_ascii_hexdigit)
        && version.is_none_or(|version| digits[12] == *version)
        && variant
}

/// Fours of the standard alphabet, the last one filled up (`govalidator.Base64`).
fn is_base64(text: &str) -> bool {
    let bare = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let of_alphabet = |byte: u8| byte.is_ascii_alphanumeric() || b"+/".contains(&byte);
    !text.is_empty() && text.len().is_multiple_of(4) && bare.bytes().all(of_alphabet)
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
            ("byte", "aGVsbG9=", ""),
            ("byte", "aGk=", "aGk"),
            ("uuid", "5a1b7e3c000040008000000000000000", "5a1b7e3c-00004-000-8000-000000000000"),
            (
                "uuid4",
                "5a1b7e3c-0000-4000-8000-000000000000",
                "5a1b7e3c-0000-4000-7000-000000000000",
            ),
            (
                "uuid3",
                "5a1b7e3c-0000-3000-7000-000000000000",
                "5a1b7e3c-0000-4000-7000-000000000000",
            ),
            ("k8s-short-name", "a-1", "a.b"),
            ("k8s-long-name", "a.b-1", "a..b"),
            ("hostname", "a.example", "-a"),
            ("email", "a@b.example", "a"),
            ("uri", "https://a.example/b", "no uri"),
            ("mac", "00:11:22:33:44:55", "00:11"),
            ("duration", "1h30m", "an hour"),
            ("unknown", "anything", ""),
        ] {
            assert!(holds(format, good), "{format} {good}");
            assert!(!holds(format, bad) || format == "unknown", "{format} {bad}");
        }
    }
}
