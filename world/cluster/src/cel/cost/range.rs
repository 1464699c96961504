//! From a lowest to a highest number: of units of cost, or of characters, items, entries.

/// How much a unit of text costs that is read once (`StringTraversalCostFactor`).
const TEXT_FACTOR: f64 = 0.1;

/// Both ends count. Sums and products stop at the highest number there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Range {
    pub(super) const ZERO: Range = Range::fixed(0);
    pub(super) const ONE: Range = Range::fixed(1);
    /// Anything.
    pub(super) const UNKNOWN: Range = Range { min: 0, max: u64::MAX };

    pub(super) const fn fixed(number: u64) -> Range {
        Range { min: number, max: number }
    }

    /// The union of no ranges: of those that follow, or that of nothing.
    pub(super) fn none_yet(of_nothing: bool) -> Range {
        Range { min: if of_nothing { 0 } else { u64::MAX }, max: 0 }
    }

    pub(super) fn add(self, other: Range) -> Range {
        Range { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) fn times(self, other: Range) -> Range {
        Range { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    /// Times a factor, rounded up.
    pub(super) fn by(self, factor: f64) -> Range {
        Range { min: scaled(self.min, factor), max: scaled(self.max, factor) }
    }

    /// What it costs to read a text of this size.
    pub(super) fn read(self) -> Range {
        self.by(TEXT_FACTOR)
    }

    /// What it costs to read a text of this size, and to make something of it.
    pub(super) fn read_twice(self) -> Range {
        self.by(2.0 * TEXT_FACTOR)
    }

    pub(super) fn union(self, other: Range) -> Range {
        Range { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

fn scaled(number: u64, factor: f64) -> u64 {
    // What is too big for it becomes the highest number there is.
    (number as f64 * factor).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_overflows() {
        let most = Range::fixed(u64::MAX);
        assert_eq!(most.add(Range::ONE), most);
        assert_eq!(most.times(Range::fixed(2)), most);
        assert_eq!(most.by(2.0), most);
        assert_eq!(Range { min: 1, max: 11 }.read(), Range { min: 1, max: 2 });
        assert_eq!(Range::none_yet(false).union(Range::ONE), Range::ONE);
    }
}
