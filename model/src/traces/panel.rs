//! The text of a trace panel, as it is shown in slides and copied from editors (the error trace of the TLA+ extension of
//! VS Code).
//!
//! ```text
//! 3: CreateObject in ns >>
//!   fooObjs (1) M  <<[generateName |-> "foo-"]>>
//!     1 (1)        [generateName |-> "foo-"]
//!   pc M           "MarkCreated"
//! ```
//!
//! A row is a name, perhaps the number of its parts, perhaps `M` for modified (`A` and `D` for added and deleted parts),
//! and the value. A part of a value that was unfolded has a row of its own, which says nothing new. It is told by being
//! further right, or, where spaces were lost, by naming a part of the value above with just its value. What this form
//! can't carry: names of parameters. Nothing is written in it.

use super::{
    Action, State, Trace, Value,
    assignments::{Line, lines},
    error::Problem,
    label,
    literal::{self, Cursor},
};

/// What a row can be marked with, as in the extension: added, deleted, modified.
const MARKS: [&str; 3] = ["A", "D", "M"];

/// Whether some line of `text` is the head of a state.
pub(super) fn is_this(text: &str) -> bool {
    text.lines().any(|line| {
        head(line).is_some_and(|(_, rest)| rest == "Initial predicate" || rest.contains(" in "))
    })
}

/// Reads the trace in `text`.
pub(super) fn read(text: &str) -> Result<Trace, Problem> {
    let lines: Vec<Line<'_>> =
        lines(text).into_iter().filter(|line| !line.text.trim().is_empty()).collect();
    let mut states = Vec::new();
    let mut places = Vec::new();
    let mut actions = Vec::new();
    let mut loop_ = None;
    let mut rest = lines.as_slice();
    while let Some((first, after)) = rest.split_first() {
        let Some((number, title)) = head(first.text) else {
            let what =
                format!("expected `number: action in module`, found `{}`", first.text.trim());
            return Err(Problem::at(first.number, 1, what));
        };
        let rows = after.iter().take_while(|line| head(line.text).is_none()).count();
        if title == "Stuttering" || title.starts_with("Back to state") {
            let target = title.trim_start_matches("Back to state").trim();
            loop_ = Some(target.parse().unwrap_or(number - usize::from(target == title)) - 1);
            actions.push(None);
            break;
        }
        if number != states.len() + 1 {
            let what = format!("expected state {}, found state {number}", states.len() + 1);
            return Err(Problem::at(first.number, 1, what));
        }
        if number > 1 {
            actions.push(action(title, *first)?);
        }
        states.push(state(&after[..rows])?);
        places.push(first.number);
        rest = &after[rows..];
    }
    super::of_lines(states, actions, loop_, &places)
}

/// The number and the title of a line `1: title`.
fn head(line: &str) -> Option<(usize, &str)> {
    let (number, title) = line.trim().split_once(": ")?;
    let number = number.parse().ok().filter(|number| *number > 0)?;
    Some((number, title.trim_end_matches(['>', ' ']).trim()))
}

fn action(title: &str, line: Line<'_>) -> Result<Option<Action>, Problem> {
    let column = line.text.find(title).map_or(1, |at| at + 1);
    label::read(&mut Cursor::new(title, line.number, column))
}

/// One row: how far right it is, its name, its value.
struct Row<'a> {
    indent: usize,
    name: &'a str,
    value: Value,
    line: usize,
}

fn row(line: Line<'_>) -> Result<Row<'_>, Problem> {
    let bare = line.text.trim();
    let indent = line.text.len() - line.text.trim_start().len();
    let name = bare.split_whitespace().next().unwrap_or_default();
    let mut rest = bare[name.len()..].trim_start();
    while let Some((word, after)) = rest.split_once(char::is_whitespace) {
        let size = word.strip_prefix('(').and_then(|word| word.strip_suffix(')'));
        let is_size = size.is_some_and(|size| size.parse::<usize>().is_ok());
        if !is_size && !MARKS.contains(&word) {
            break;
        }
        rest = after.trim_start();
    }
    if rest.is_empty() {
        let what = format!("expected a name and a value, found `{bare}`");
        return Err(Problem::at(line.number, indent + 1, what));
    }
    let column = line.text.trim_end().chars().count() - rest.chars().count() + 1;
    let value = literal::whole(rest, line.number, column)?;
    Ok(Row { indent, name, value, line: line.number })
}

fn state(lines: &[Line<'_>]) -> Result<State, Problem> {
    let rows = lines.iter().map(|line| row(*line)).collect::<Result<Vec<_>, _>>()?;
    let left = rows.first().map_or(0, |row| row.indent);
    let is_flat = rows.iter().all(|row| row.indent == left);
    let mut state = State::new();
    let mut open: Vec<&Value> = Vec::new();
    for row in &rows {
        while open.last().is_some_and(|whole| !is_part(whole, row)) {
            open.pop();
        }
        let is_inner = if is_flat { !open.is_empty() } else { row.indent > left };
        open.push(&row.value);
        if is_inner {
            continue;
        }
        if state.insert(row.name.to_owned(), row.value.clone()).is_some() {
            let what = format!("the variable `{}` is there twice", row.name);
            return Err(Problem::at(row.line, row.indent + 1, what));
        }
    }
    Ok(state)
}

/// Whether `row` shows a part of `whole`. Elements of sets are numbered.
fn is_part(whole: &Value, row: &Row<'_>) -> bool {
    if let Value::Set(elements) = whole {
        return row.name.parse::<usize>().is_ok() && elements.contains(&row.value);
    }
    let names = |key: &Value| match key {
        Value::Text(name) => name == row.name || key.to_string() == row.name,
        other => other.to_string() == row.name,
    };
    let parts = whole.pairs().unwrap_or_default();
    parts.iter().any(|(key, value)| names(key) && **value == row.value)
}

#[cfg(test)]
mod tests;
