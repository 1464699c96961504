//! Addresses and ranges of them (`apimachinery/pkg/util/validation/ip.go`): what was taken when less was asked stays.

use std::net::IpAddr;

use serde_json::json;

use super::check::Check;

/// A range of addresses: where it begins, as it is written, and the bits that all of them share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    address: IpAddr,
    bits: u32,
}

impl Range {
    /// As `ParseCIDRSloppy`.
    pub(super) fn parse(text: &str) -> Option<Range> {
        let (address, bits) = text.split_once('/')?;
        let address = parsed(address)?;
        let bits = bits.bytes().all(|byte| byte.is_ascii_digit()).then(|| bits.parse().ok())??;
        (bits <= length(address)).then_some(Range { address, bits })
    }

    /// Whether it is another's part, and not all of it.
    pub(super) fn is_strictly_inside(self, other: Range) -> bool {
        length(self.address) == length(other.address)
            && Range { address: self.address, bits: other.bits }.masked() == other.masked()
            && self.bits > other.bits
    }

    pub(super) fn is_ipv4(self) -> bool {
        self.address.is_ipv4()
    }

    /// Its first address.
    fn masked(self) -> u128 {
        let free = length(self.address) - self.bits;
        number(self.address) & u128::MAX.checked_shl(free).unwrap_or(0)
    }
}

fn length(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

/// As `ParseIPSloppy`: zeros before the digits of an IPv4 address don't count.
pub(super) fn parsed(ip: &str) -> Option<IpAddr> {
    let decimal = |part: &str| {
        let digits = part.trim_start_matches('0');
        if digits.is_empty() && !part.is_empty() { "0".to_owned() } else { digits.to_owned() }
    };
    let sloppy = || ip.split('.').map(decimal).collect::<Vec<_>>().join(".").parse().ok();
    ip.parse().ok().or_else(sloppy)
}

pub(super) fn not_an_ip(check: &mut Check<'_>, field: &str, ip: &str) {
    let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
    check.invalid(field, &json!(ip), why);
}

/// An address, unless it was there before (`IsValidIPForLegacyField`). Says whether it is one.
pub(super) fn ip(check: &mut Check<'_>, field: &str, ip: &str, known: &[&str]) -> bool {
    if known.contains(&ip) {
        return true;
    }
    let before = check.count();
    match (parsed(ip), ip.parse::<IpAddr>()) {
        (None, _) => not_an_ip(check, field, ip),
        (Some(_), Err(_)) => check.invalid(field, &json!(ip), "must not have leading 0s"),
        (Some(IpAddr::V6(address)), Ok(_)) if address.to_ipv4_mapped().is_some() => {
            check.invalid(field, &json!(ip), "must not be an IPv4-mapped IPv6 address");
        }
        _ => {}
    }
    check.count() == before
}

/// What is said of an address that is taken and had better be written otherwise (`GetWarningsForIP`).
pub(crate) fn warning(field: &str, ip: &str) -> Option<String> {
    let address = parsed(ip)?;
    match ip.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => None,
        Ok(IpAddr::V6(own)) if own.to_ipv4_mapped().is_none() => {
            let usual = own.to_string();
            (usual != ip).then(|| {
                format!(
                    "{field}: IPv6 address {ip:?} should be in RFC 5952 canonical format ({usual:?})"
                )
            })
        }
        // Leading zeros, or an IPv4 address inside of an IPv6 one.
        _ => {
            let meant = address.to_canonical().to_string();
            Some(format!("{field}: non-standard IP address {ip:?} is invalid: use {meant:?}"))
        }
    }
}

/// A range of addresses, unless it was there before (`IsValidCIDRForLegacyField`).
pub(super) fn cidr(check: &mut Check<'_>, field: &str, text: &str, known: &[&str]) {
    if known.contains(&text) {
        return;
    }
    let mut invalid = |why: &str| check.invalid(field, &json!(text), why);
    let Some(range) = Range::parse(text) else {
        return invalid("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    };
    let (address, bits) = text.split_once('/').unwrap_or((text, ""));
    if address.parse::<IpAddr>().is_err() || (bits.starts_with('0') && bits != "0") {
        invalid("must not have leading 0s in IP or prefix length");
    } else if matches!(range.address, IpAddr::V6(own) if own.to_ipv4_mapped().is_some()) {
        invalid("must not have an IPv4-mapped IPv6 address");
    } else if range.masked() != number(range.address) {
        invalid("must not have bits set beyond the prefix length");
    }
}

/// What can be an endpoint (`ValidateEndpointIP`).
pub(super) fn reachable(check: &mut Check<'_>, field: &str, ip: &str) {
    let Some(address) = parsed(ip) else {
        return check.invalid(field, &json!(ip), "must be a valid IP address");
    };
    let (local, local_multicast) = match address {
        IpAddr::V4(address) => {
            (address.is_link_local(), address.octets().starts_with(&[224, 0, 0]))
        }
        IpAddr::V6(address) => {
            let first = address.segments()[0];
            (first & 0xffc0 == 0xfe80, first & 0xff0f == 0xff02)
        }
    };
    for (is, why) in [
        (address.is_unspecified(), format!("may not be unspecified ({ip})")),
        (
            address.is_loopback(),
            "may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned(),
        ),
        (local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned()),
        (
            local_multicast,
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned(),
        ),
    ] {
        if is {
            check.invalid(field, &json!(ip), &why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(look: impl Fn(&mut Check<'_>)) -> Vec<String> {
        let mut errors = Vec::new();
        look(&mut Check::new(&mut errors));
        errors.into_iter().map(|error| error.detail).collect()
    }

    #[test]
    fn ranges_are_written_as_they_are() {
        let check = |text: &str, expect: &[&str]| {
            assert_eq!(told(|check| cidr(check, "f", text, &["1.2.3.4/8"])), expect, "{text}");
        };
        let none = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        check("10.0.0.0/8", &[]);
        check("0.0.0.0/0", &[]);
        check("2001:db8::/64", &[]);
        check("1.2.3.4/8", &[]);
        check("10.0.0.0/33", &[none]);
        check("10.0.0.0/-1", &[none]);
        check("10.0.0.0/", &[none]);
        check("10.0.0.0", &[none]);
        check("010.0.0.0/8", &["must not have leading 0s in IP or prefix length"]);
        check("10.0.0.0/08", &["must not have leading 0s in IP or prefix length"]);
        check("10.0.0.1/8", &["must not have bits set beyond the prefix length"]);
        check("::1/64", &["must not have bits set beyond the prefix length"]);
    }

    #[test]
    fn a_part_is_less_than_the_whole() {
        let range = |text| Range::parse(text).expect(text);
        let inside = |part, whole| range(part).is_strictly_inside(range(whole));
        assert!(inside("10.1.0.0/16", "10.0.0.0/8"));
        assert!(inside("10.1.0.0/16", "0.0.0.0/0"));
        assert!(!inside("10.0.0.0/8", "10.0.0.0/8"));
        assert!(!inside("11.0.0.0/16", "10.0.0.0/8"));
        assert!(!inside("10.0.0.0/8", "10.0.0.0/16"));
        assert!(inside("2001:db8:1::/48", "2001:db8::/32"));
        assert!(!inside("10.1.0.0/16", "::/0"));
    }

    #[test]
    fn addresses_in_another_form_are_warned_of() {
        let check = |text: &str, expect: Option<&str>| {
            let expect = expect.map(|expect| format!("f: {expect}"));
            assert_eq!(warning("f", text), expect, "{text}");
        };
        check("10.0.0.1", None);
        check("::1", None);
        check("x", None);
        check(
            "10.0.0.01",
            Some(r#"non-standard IP address "10.0.0.01" is invalid: use "10.0.0.1""#),
        );
        let inside = r#"non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4""#;
        check("::ffff:1.2.3.4", Some(inside));
        let usual =
            r#"IPv6 address "FE80:0::1" should be in RFC 5952 canonical format ("fe80::1")"#;
        check("FE80:0::1", Some(usual));
    }

    #[test]
    fn addresses_are_written_as_they_are() {
        let check = |text: &str, expect: &[&str]| {
            assert_eq!(
                told(|check| assert_eq!(ip(check, "f", text, &[]), expect.is_empty())),
                expect
            );
        };
        check("10.0.0.1", &[]);
        check("::1", &[]);
        check("10.0.0.01", &["must not have leading 0s"]);
        check("::ffff:1.2.3.4", &["must not be an IPv4-mapped IPv6 address"]);
        check("x", &["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]);
    }
}
