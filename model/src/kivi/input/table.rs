//! Tables: CSV, and what `kubectl` prints for people.

use std::collections::BTreeMap;

use super::{File, InputError};

/// A row: its number in the file, from 1, and cells by the names of their columns in capitals, without units.
#[derive(Debug)]
pub(super) struct Row {
    pub line: usize,
    pub cells: BTreeMap<String, String>,
}

impl Row {
    /// The cell of the first of these columns that is there.
    pub(super) fn get(&self, file: &File<'_>, columns: &[&str]) -> Result<&str, InputError> {
        let found = columns.iter().find_map(|column| self.cells.get(*column));
        found.map(String::as_str).ok_or_else(|| InputError::Field {
            file: file.path.to_owned(),
            field: format!("line {}", self.line),
            expected: format!("a column {}", columns.join(" or ")),
            found: self.cells.keys().cloned().collect::<Vec<_>>().join(", "),
        })
    }
}

/// The rows of a table, whose first line names the columns. Cells are parted by commas, or else by two spaces or more.
pub(super) fn rows(file: &File<'_>) -> Vec<Row> {
    let mut lines = file.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let Some((_, head)) = lines.next() else { return vec![] };
    let by_comma = head.contains(',');
    let column = |name: String| name.split('(').next().unwrap_or("").trim().to_uppercase();
    let columns: Vec<String> = cells(head, by_comma).into_iter().map(column).collect();
    let row = |(at, line): (usize, &str)| Row {
        line: at + 1,
        cells: columns.iter().cloned().zip(cells(line, by_comma)).collect(),
    };
    lines.map(row).collect()
}

fn cells(line: &str, by_comma: bool) -> Vec<String> {
    if by_comma {
        return by_commas(line);
    }
    let parts = line.split("  ").map(str::trim).filter(|part| !part.is_empty());
    let mut cells: Vec<String> = parts.map(str::to_owned).collect();
    // A narrow column leaves one space.
    if cells.len() == 1 {
        cells = line.split_whitespace().map(str::to_owned).collect();
    }
    cells
}

/// Cells in quotes may hold commas.
fn by_commas(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell).trim().to_owned()),
            letter => cell.push(letter),
        }
    }
    cells.push(cell.trim().to_owned());
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_the_names_of_their_columns() {
        let check = |text: &str, expect: &[(&str, &str)]| {
            let rows = rows(&File { path: "t", text });
            let cells: Vec<(&str, &str)> =
                rows[0].cells.iter().map(|(name, cell)| (&**name, &**cell)).collect();
            assert_eq!(cells, expect, "{text}");
        };
        check("name,cpu(cores)\na,10m\n", &[("CPU", "10m"), ("NAME", "a")]);
        check(
            "NAME,TARGETS\na,\"cpu: 1%/2%, memory: 3%/4%\"",
            &[("NAME", "a"), ("TARGETS", "cpu: 1%/2%, memory: 3%/4%")],
        );
        check("NAME   CPU(cores)\n\na      10m", &[("CPU", "10m"), ("NAME", "a")]);
    }
}
