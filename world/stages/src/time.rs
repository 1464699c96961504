//! Durations as Go writes and reads them (`time.ParseDuration`), in nanoseconds.

/// Signed nanoseconds of `1h15m30.918s`. None: it is no duration.
pub(crate) fn duration(text: &str) -> Option<i64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let number: f64 = rest[..digits].parse().ok()?;
        let units = [
            ("ns", 1.0),
            ("us", 1e3),
            ("µs", 1e3),
            ("ms", 1e6),
            ("s", 1e9),
            ("m", 60e9),
            ("h", 3600e9),
        ];
        let unit = units.iter().find(|(unit, _)| rest[digits..].starts_with(unit))?;
        total += number * unit.1;
        rest = &rest[digits + unit.0.len()..];
    }
    (total < i64::MAX as f64).then_some((sign * total) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_gos() {
        let check = |text: &str, expect: Option<i64>| assert_eq!(duration(text), expect, "{text}");
        check("5s", Some(5_000_000_000));
        check("1h15m30.5s", Some(4_530_500_000_000));
        check("-250ms", Some(-250_000_000));
        check("0", Some(0));
        for wrong in ["", "5", "s", "5x", "-", "1..5s"] {
            check(wrong, None);
        }
    }
}
