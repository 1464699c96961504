//! Amounts of processors and memory, as Kubernetes and Kivi write them.

use controllers::quantity;

/// A GiB, in bytes.
pub(super) const GIB: u64 = 1 << 30;

/// Thousandths of a quantity, rounded up.
pub(super) fn milli(text: &str) -> Option<u64> {
    scaled(text, 1_000_000)
}

/// A quantity of bytes, rounded up.
pub(super) fn bytes(text: &str) -> Option<u64> {
    scaled(text, 1_000_000_000)
}

fn scaled(text: &str, nanos_each: i128) -> Option<u64> {
    let nanos = quantity::nanos_of(text)?;
    let up = i128::from(nanos.rem_euclid(nanos_each) != 0);
    u64::try_from(nanos.div_euclid(nanos_each) + up).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_rounded_up() {
        let check = |text: &str, expect: (Option<u64>, Option<u64>)| {
            assert_eq!((milli(text), bytes(text)), expect, "{text}");
        };
        check("8", (Some(8000), Some(8)));
        check("250m", (Some(250), Some(1)));
        check("0.1", (Some(100), Some(1)));
        check("1Gi", (Some(1000 << 30), Some(GIB)));
        check("much", (None, None));
    }
}
