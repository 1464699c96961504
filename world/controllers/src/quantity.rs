//! `resource.Quantity`: its canonical text, as a server shows it (`1000m` → `1`, `1024Mi` → `1Gi`).

/// The three ways of writing a magnitude.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    Binary,
    Decimal,
    Exponent,
}

const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// From 10^-9 on, in steps of 1000.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

/// The canonical text; `None` if `text` is no quantity. Fractions below a nano are rounded up, as
/// upstream does. Magnitudes beyond ±2^126 nanos are not read.
pub fn canonical(text: &str) -> Option<String> {
    let (nanos, style) = read(text)?;
    let printed = print(nanos.abs(), style);
    Some(if nanos < 0 { format!("-{printed}") } else { printed })
}

/// The amount in billionths; `None` if `text` is no quantity.
pub fn nanos_of(text: &str) -> Option<i128> {
    read(text).map(|(nanos, _)| nanos)
}

/// The sum in the style of the first, or of the second where the first is nothing (`Quantity.Add`). What is no
/// quantity counts as nothing.
pub fn sum(a: &str, b: &str) -> String {
    let nothing = (0, Style::Decimal);
    let ((a, style), (b, other)) = (read(a).unwrap_or(nothing), read(b).unwrap_or(nothing));
    let (total, style) = (a.saturating_add(b), if a == 0 { other } else { style });
    let printed = print(total.abs(), style);
    if total < 0 { format!("-{printed}") } else { printed }
}

/// So many thousandths as text, binary or decimal (`NewMilliQuantity`).
pub fn of_milli(milli: i64, binary: bool) -> String {
    let style = if binary { Style::Binary } else { Style::Decimal };
    let printed = print(i128::from(milli).abs() * 1_000_000, style);
    if milli < 0 { format!("-{printed}") } else { printed }
}

/// The amount without a fraction, as text (`Quantity.RoundUp(0)`); what is no quantity stays as it is.
pub fn rounded_up(text: &str) -> String {
    let Some((nanos, style)) = read(text) else { return text.to_owned() };
    let whole = nanos.div_euclid(NANO) + i128::from(nanos.rem_euclid(NANO) != 0);
    let printed = print(whole.abs() * NANO, style);
    if whole < 0 { format!("-{printed}") } else { printed }
}

fn read(text: &str) -> Option<(i128, Style)> {
    let text = text.trim();
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (number, suffix) = rest.split_at(end.unwrap_or(rest.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let (style, base, power) = magnitude(suffix)?;
    let nanos = nanos(whole, fraction, base, power)?;
    Some((if negative { -nanos } else { nanos }, style))
}

/// Style, base and power of a suffix.
fn magnitude(suffix: &str) -> Option<(Style, i128, i32)> {
    if let Some(index) = BINARY.iter().skip(1).position(|name| *name == suffix) {
        return Some((Style::Binary, 1024, index as i32 + 1));
    }
    if let Some(index) = DECIMAL.iter().position(|name| *name == suffix) {
        return Some((Style::Decimal, 10, (index as i32 - 3) * 3));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((Style::Exponent, 10, exponent.parse().ok()?))
}

fn nanos(whole: &str, fraction: &str, base: i128, power: i32) -> Option<i128> {
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let mantissa: i128 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    let mut value = mantissa;
    if base == 1024 {
        value = value.checked_mul(1024i128.checked_pow(power as u32)?)?;
    }
    let ten = 9 - fraction.len() as i32 + if base == 10 { power } else { 0 };
    if mantissa == 0 {
        return Some(0);
    }
    if ten >= 0 {
        return value.checked_mul(10i128.checked_pow(ten as u32)?);
    }
    let divisor = 10i128.checked_pow(ten.unsigned_abs()).unwrap_or(i128::MAX);
    Some(value / divisor + i128::from(value % divisor != 0))
}

const NANO: i128 = 1_000_000_000;

fn print(nanos: i128, style: Style) -> String {
    if nanos == 0 {
        return "0".to_owned();
    }
    // Small or fractional binary quantities are written in decimal, to avoid rounding.
    if style == Style::Binary && nanos >= 1024 * NANO && nanos % NANO == 0 {
        let mut value = nanos / NANO;
        let mut index = 0;
        while value % 1024 == 0 && index + 1 < BINARY.len() {
            value /= 1024;
            index += 1;
        }
        return format!("{value}{}", BINARY[index]);
    }
    let mut value = nanos;
    let mut index = 0;
    while value % 1000 == 0 && index + 1 < DECIMAL.len() {
        value /= 1000;
        index += 1;
    }
    match style {
        Style::Exponent if index != 3 => format!("{value}e{}", (index as i32 - 3) * 3),
        _ => format!("{value}{}", DECIMAL[index]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_keep_the_style_of_the_first() {
        for (a, b, expect) in [
            ("1Gi", "1G", "2073741824"),
            ("1Gi", "1024Mi", "2Gi"),
            ("0", "512Mi", "512Mi"),
            ("100m", "0.9", "1"),
            ("1", "-1500m", "-500m"),
            ("x", "1", "1"),
        ] {
            assert_eq!(sum(a, b), expect, "{a} + {b}");
        }
    }

    #[test]
    fn fractions_are_rounded_up() {
        for (text, expect) in
            [("1Gi", "1Gi"), ("1500m", "2"), ("-1500m", "-1"), ("1.5Gi", "1536Mi"), ("x", "x")]
        {
            assert_eq!(rounded_up(text), expect, "{text}");
        }
    }

    #[test]
    fn quantities_get_their_canonical_text() {
        for (text, expect) in [
            ("1", "1"),
            ("0", "0"),
            ("0.5", "500m"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("100m", "100m"),
            ("1000", "1k"),
            ("1200", "1200"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("512Ki", "512Ki"),
            ("0.5Ki", "512"),
            ("1.0005Ki", "1024512m"),
            ("1e3", "1e3"),
            ("128974848", "128974848"),
            ("-5m", "-5m"),
            ("+2", "2"),
            ("100n", "100n"),
            ("0.1n", "1n"),
            ("3.", "3"),
            (".5", "500m"),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(expect), "{text}");
        }
        for text in ["", "-", "1.2.3", "x", "1x", "1 Gi", "Ki"] {
            assert_eq!(canonical(text), None, "{text}");
        }
    }
}
