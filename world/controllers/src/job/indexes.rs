//! Sets of completion indexes, as the status writes them: `1,3-5,7` (`indexed_job_utils.go`).

/// Intervals, ascending, that don't touch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Indexes(Vec<(i64, i64)>);

impl Indexes {
    /// What is no number is skipped; what is beyond the last index is cut off.
    pub(super) fn parse(text: &str, completions: i64) -> Indexes {
        let mut indexes = Indexes::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) else {
                continue;
            };
            if first >= completions {
                break;
            }
            indexes.push((first, last.min(completions - 1)));
        }
        indexes
    }

    /// Appends an interval that begins no earlier than the last one.
    fn push(&mut self, (first, last): (i64, i64)) {
        match self.0.last_mut() {
            Some(before) if first <= before.1 + 1 => before.1 = before.1.max(last),
            _ => self.0.push((first, last)),
        }
    }

    /// Both.
    pub(super) fn and(&self, other: &Indexes) -> Indexes {
        let mut all: Vec<(i64, i64)> = self.0.iter().chain(&other.0).copied().collect();
        all.sort_unstable();
        let mut indexes = Indexes::default();
        all.into_iter().for_each(|interval| indexes.push(interval));
        indexes
    }

    pub(super) fn count(&self) -> i64 {
        self.0.iter().map(|(first, last)| last - first + 1).sum()
    }

    pub(super) fn has(&self, index: i64) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&index))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many are in both.
    pub(super) fn common(&self, other: &Indexes) -> i64 {
        let overlap = |a: &(i64, i64), b: &(i64, i64)| (a.1.min(b.1) - a.0.max(b.0) + 1).max(0);
        self.0.iter().map(|a| other.0.iter().map(|b| overlap(a, b)).sum::<i64>()).sum()
    }

    /// The first `count` indexes below `completions` that are not in it.
    pub(super) fn missing(&self, count: usize, completions: i64) -> Vec<i64> {
        let mut found = Vec::new();
        let mut next = 0;
        for (first, last) in self.0.iter().copied().chain([(completions, completions)]) {
            let room = count - found.len();
            found.extend((next..first.min(completions)).take(room));
            next = next.max(last + 1);
        }
        found
    }
}

impl FromIterator<i64> for Indexes {
    fn from_iter<I: IntoIterator<Item = i64>>(all: I) -> Indexes {
        let mut all: Vec<i64> = all.into_iter().collect();
        all.sort_unstable();
        let mut indexes = Indexes::default();
        all.into_iter().for_each(|index| indexes.push((index, index)));
        indexes
    }
}

impl std::fmt::Display for Indexes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, (first, last)) in self.0.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            match last - first {
                0 => write!(f, "{comma}{first}")?,
                1 => write!(f, "{comma}{first},{last}")?,
                _ => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_survive_text() {
        let check = |text: &str, expect: &str, count: i64| {
            let read = Indexes::parse(text, 10);
            assert_eq!((read.to_string().as_str(), read.count()), (expect, count), "{text}");
        };
        check("", "", 0);
        check("1,3-5,7", "1,3-5,7", 5);
        check("1,2", "1,2", 2);
        check("1,2,3", "1-3", 3);
        check("8-20", "8,9", 2);
        check("x,4,12", "4", 1);
    }

    #[test]
    fn what_is_missing_comes_in_order() {
        let indexes: Indexes = [0, 2, 3, 9].into_iter().collect();
        assert_eq!(indexes.missing(3, 10), [1, 4, 5]);
        assert_eq!(indexes.missing(9, 6), [1, 4, 5]);
        assert_eq!(indexes.missing(0, 6), [] as [i64; 0]);
        assert_eq!(indexes.and(&[1].into_iter().collect()).to_string(), "0-3,9");
        assert_eq!(indexes.common(&Indexes::parse("1-3", 10)), 2);
    }
}
