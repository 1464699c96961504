//! Tables of figures, in Markdown, so that a log can be kept as it was printed.

/// Lowest, middle and highest of some values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread(Option<[f64; 3]>);

impl Spread {
    /// Of these; in any order.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Spread {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (Some(least), Some(most)) = (values.first(), values.last()) else {
            return Spread(None);
        };
        let half = values.len() / 2;
        let middle = match values.len() % 2 {
            0 => (values[half - 1] + values[half]) / 2.0,
            _ => values[half],
        };
        Spread(Some([*least, middle, *most]))
    }

    /// The middle one; not a number if there are none.
    pub fn median(self) -> f64 {
        self.0.map_or(f64::NAN, |[_, middle, _]| middle)
    }

    /// With so many decimals.
    pub fn shown(self, decimals: usize) -> [String; 3] {
        match self.0 {
            Some(values) => values.map(|value| format!("{value:.decimals$}")),
            None => [(); 3].map(|()| "none".to_owned()),
        }
    }
}

/// The first column is set to the left, all others to the right.
pub fn markdown(head: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    let width = |at: usize| {
        let cells = rows.iter().chain([&head]).filter_map(|row| row.get(at));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(3)
    };
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate().map(|(at, cell)| match at {
            0 => format!("{cell:<width$}", width = width(at)),
            _ => format!("{cell:>width$}", width = width(at)),
        });
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    };
    let dashes = (0..head.len()).map(|at| match at {
        0 => "-".repeat(width(at)),
        _ => format!("{}:", "-".repeat(width(at) - 1)),
    });
    let rule = dashes.collect();
    [&head, &rule].into_iter().chain(rows).map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let check = |values: &[f64], expect: [&str; 3]| {
            assert_eq!(Spread::of(values.to_vec()).shown(1), expect, "{values:?}");
        };
        check(&[3.0, 1.0, 2.0], ["1.0", "2.0", "3.0"]);
        check(&[4.0, 1.0, 2.0, 3.0], ["1.0", "2.5", "4.0"]);
        check(&[7.0], ["7.0", "7.0", "7.0"]);
        check(&[], ["none", "none", "none"]);
    }

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let table = markdown(&["name", "n"], &[row(["a", "1"]), row(["long name", "10000"])]);
        let expect = "\
| name      |     n |
| --------- | ----: |
| a         |     1 |
| long name | 10000 |";
        assert_eq!(table, expect);
    }
}
