//! Formats of addresses: `ipv4`, `ipv6`, `cidr`, `mac`, `hostname` and `email`
//! (`k8s.io/kube-openapi/pkg/validation/strfmt/default.go`).

use std::{net::Ipv6Addr, sync::LazyLock};

use regex::Regex;

/// Letters and symbols of all scripts.
static LETTER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{S}\p{L}]$").ok());

/// `netutils.ParseIPSloppy` of an address with a point: also one of six bytes that ends in four.
pub(super) fn is_ipv4(text: &str) -> bool {
    is_sloppy_ipv4(text) || (text.contains('.') && is_sloppy_ipv6(text))
}

/// `net.ParseIP` of an address with a colon.
pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

/// `netutils.ParseCIDRSloppy`
pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let Some(length) = length.parse::<u32>().ok().filter(|_| digits) else { return false };
    (is_sloppy_ipv4(address) && length <= 32) || (is_sloppy_ipv6(address) && length <= 128)
}

/// Four numbers, zeros before them or not.
fn is_sloppy_ipv4(text: &str) -> bool {
    let number = |part: &str| {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        digits
            && part.trim_start_matches('0').len() <= 3
            && part.parse::<u64>().is_ok_and(|n| n < 256)
    };
    text.split('.').count() == 4 && text.split('.').all(number)
}

fn is_sloppy_ipv6(text: &str) -> bool {
    let Some((front, last)) = text.rsplit_once(':').filter(|(_, last)| last.contains('.')) else {
        return is_ipv6(text);
    };
    is_sloppy_ipv4(last) && is_ipv6(&format!("{front}:0.0.0.0"))
}

/// `net.ParseMAC`: 6, 8 or 20 bytes; two digits between colons or dashes, or four between points.
pub(super) fn is_mac(text: &str) -> bool {
    let forms = [(':', 2, [6, 8, 20]), ('-', 2, [6, 8, 20]), ('.', 4, [3, 4, 10])];
    let hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    forms.into_iter().any(|(between, length, counts)| {
        let parts: Vec<&str> = text.split(between).collect();
        counts.contains(&parts.len()) && parts.iter().all(|part| hex(part, length))
    })
}

/// `HostnamePattern`: one name with at most one dash, which is behind its first letter; or names with points between
/// them, of which the last is of letters.
pub(super) fn is_hostname(text: &str) -> bool {
    let other = |letter: char| {
        LETTER.as_ref().is_some_and(|one| one.is_match(letter.encode_utf8(&mut [0; 4])))
    };
    let is_letter = |letter: char| match letter.is_ascii() {
        true => letter.is_ascii_alphanumeric() || "$+<=>^`|~".contains(letter),
        false => other(letter),
    };
    if text.len() > 255 || text.split('.').any(|part| part.len() > 63) {
        return false;
    }
    let Some((front, last)) = text.rsplit_once('.') else {
        let mut letters = text.chars();
        let first = letters.next().is_some_and(is_letter);
        let rest = letters.as_str();
        return first && rest.strip_prefix('-').unwrap_or(rest).chars().all(is_letter);
    };
    let ends = |part: &str| part.starts_with(is_letter) && part.ends_with(is_letter);
    let inner = |letter: char| letter == '-' || is_letter(letter);
    let top = |letter: char| letter.is_alphabetic() && is_letter(letter);
    front.split('.').all(|part| ends(part) && part.chars().all(inner))
        && last.chars().count() > 1
        && last.chars().all(top)
}

/// What Go's `mail.ParseAddress` takes in most cases: names with points between them around an `@`, and the name of a
/// person before it.
pub(super) fn is_email(text: &str) -> bool {
    let bare = text.trim();
    let named = bare.strip_suffix('>').and_then(|text| text.rsplit_once('<'));
    let Some((user, host)) = named.map_or(bare, |(_, address)| address).rsplit_once('@') else {
        return false;
    };
    let letter = |letter: char| {
        !letter.is_ascii()
            || letter.is_ascii_alphanumeric()
            || "!#$%&'*+-/=?^_`{|}~".contains(letter)
    };
    let atoms =
        |text: &str| text.split('.').all(|part| !part.is_empty() && part.chars().all(letter));
    let quoted = user.len() > 2 && user.starts_with('"') && user.ends_with('"');
    (atoms(user) || quoted) && atoms(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_hold_or_not() {
        type Format = fn(&str) -> bool;
        let check = |format: Format, good: &[&str], bad: &[&str]| {
            good.iter().for_each(|text| assert!(format(text), "{text}"));
            bad.iter().for_each(|text| assert!(!format(text), "{text}"));
        };
        check(
            is_ipv4,
            &["1.2.3.4", "01.2.3.004", "::ffff:1.2.3.4"],
            &["1.2.3", "1.2.3.256", "::1"],
        );
        check(is_ipv6, &["::1", "::ffff:1.2.3.4"], &["1.2.3.4", "1::2::3"]);
        check(is_cidr, &["10.0.0.0/8", "010.0.0.1/08", "::/0"], &["10.0.0.0/33", "x/8", "::/+1"]);
        check(is_mac, &["00:11:22:33:44:55", "0123.4567.89ab"], &["00:11-22:33:44:55", "00:11"]);
        check(
            is_hostname,
            &["a", "a-b", "a-", "a.example"],
            &["", "-a", "a-b-c", "a.b", "1.2.3.4"],
        );
        check(is_email, &["a@b", "A <a.b@c.example>", "\"a b\"@c"], &["a", "a b@c", "a@", "a@b@c"]);
    }
}
