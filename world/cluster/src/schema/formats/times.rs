//! The formats `date` and `date-time` (`k8s.io/kube-openapi/pkg/validation/strfmt`, `date.go` and `time.go`): looser than
//! RFC 3339 in the case of letters, stricter in that no second is the sixtieth.

/// A day that there is (`IsDate`).
pub(super) fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let &[year, month, day] = parts.as_slice() else { return false };
    let numbers = (digits(year, 4), digits(month, 2), digits(day, 2));
    let (Some(year), Some(month), Some(day)) = numbers else { return false };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let last = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return false,
    };
    (1..=last).contains(&day)
}

/// A day, and a time with its zone (`IsDateTime`).
pub(super) fn is_date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    let day = parts.next().is_some_and(is_date);
    day && parts.next().is_some_and(is_time)
}

/// `DateTimePattern` of what stands behind the `t`.
fn is_time(text: &str) -> bool {
    let Some((clock, mut rest)) = text.split_at_checked(8) else { return false };
    if !is_clock(clock, [23, 59, 59]) {
        return false;
    }
    // Upstream's point before the fraction is any letter.
    let mut letters = rest.chars();
    let fraction = letters.next().map(|_| letters.as_str()).unwrap_or_default();
    let behind = fraction.trim_start_matches(|letter: char| letter.is_ascii_digit());
    if behind.len() < fraction.len() && is_zone(behind) {
        rest = behind;
    }
    is_zone(rest)
}

fn is_zone(text: &str) -> bool {
    let shifted = text.strip_prefix(['+', '-']);
    text == "z" || shifted.is_some_and(|shift| shift.len() == 5 && is_clock(shift, [99, 99]))
}

/// Numbers of two digits with colons between them, none above its limit.
fn is_clock<const N: usize>(text: &str, limits: [u32; N]) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    parts.len() == N
        && parts.iter().zip(limits).all(|(part, limit)| digits(part, 2).is_some_and(|n| n <= limit))
}

fn digits(text: &str, length: usize) -> Option<u32> {
    let bytes = text.bytes();
    (text.len() == length && bytes.into_iter().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_loose_as_upstream_s() {
        for good in [
            "2024-01-01t00:00:00z",
            "2024-02-29T23:59:59.123456789Z",
            "9999-12-31T23:59:59Z",
            "2024-01-01T00:00:00+02:00",
            "2024-01-01T00:00:00.5-02:00",
        ] {
            assert!(is_date_time(good), "{good}");
        }
        for bad in [
            "2024-01-01",
            "2024-01-01 00:00:00Z",
            "2023-02-29T00:00:00Z",
            "2024-01-01T00:00:60Z",
            "2024-01-01T00:00:00",
            "2024-01-01T00:00:00.Z",
            "2024-1-01T00:00:00Z",
        ] {
            assert!(!is_date_time(bad), "{bad}");
        }
    }
}
