//! The counterexample in what TLC prints on standard output, also with `-tool`.
//!
//! ```text
//! State 2: <Take(p1) line 12, col 12 to line 16, col 27 of module Values>
//! /\ owner = p1
//! ```
//!
//! A lasso ends in `Back to state 1: <Give(p1,1) line ..>`, one that stands still in `State 2: Stuttering`; with
//! `-tool` the word `State` is left out (`tlc2/output/StatePrinter.java`). All else that TLC prints is passed over. Only
//! the first trace is read. What this form can't carry: names of parameters. Nothing is written in it.

use super::{
    Action, State, Trace,
    assignments::{self, Line},
    error::Problem,
    label,
    literal::Cursor,
};

/// What the first line of a block says.
enum Header {
    /// A state follows, to which this action led.
    State(usize, Option<Action>),
    /// The last state stays for ever.
    Stuttering,
    /// The next state is this one again.
    Back(usize, Option<Action>),
}

/// Whether some line of `text` is the head of a state.
pub(super) fn is_this(text: &str) -> bool {
    text.lines().any(|line| head(line).is_some_and(|(_, rest)| rest.starts_with('<')))
}

/// Reads the first trace in `text`.
pub(super) fn read(text: &str) -> Result<Trace, Problem> {
    let lines = assignments::lines(text);
    let mut states: Vec<State> = Vec::new();
    let mut places = Vec::new();
    let mut actions = Vec::new();
    let mut loop_ = None;
    for (at, line) in lines.iter().enumerate() {
        let Some(header) = header(*line)? else { continue };
        match header {
            Header::State(1, _) if !states.is_empty() => break,
            Header::State(number, action) => {
                if number != states.len() + 1 {
                    let what = format!("expected state {}, found state {number}", states.len() + 1);
                    return Err(Problem::at(line.number, 1, what));
                }
                let block = &lines[at + 1..];
                let end = block.iter().position(|line| is_end(line.text)).unwrap_or(block.len());
                states.push(assignments::read(&block[..end])?);
                places.push(line.number);
                if number > 1 {
                    actions.push(action);
                }
            }
            Header::Stuttering => {
                loop_ = states.len().checked_sub(1);
                actions.push(None);
                break;
            }
            Header::Back(number, action) => {
                if number == 0 || number > states.len() {
                    let what = format!("expected one of {} states, found {number}", states.len());
                    return Err(Problem::at(line.number, 1, what));
                }
                loop_ = Some(number - 1);
                actions.push(action);
                break;
            }
        }
    }
    super::of_lines(states, actions, loop_, &places)
}

/// Whether a state ends in front of this line.
fn is_end(line: &str) -> bool {
    line.trim().is_empty()
        || line.starts_with("@!@!@")
        || head(line).is_some()
        || back(line).is_some()
}

/// The number of a line `State 1: rest` or `1: rest`.
fn head(line: &str) -> Option<(usize, &str)> {
    let (number, rest) = line.strip_prefix("State ").unwrap_or(line).split_once(": ")?;
    Some((number.parse().ok()?, rest.trim()))
}

/// The number of a line `Back to state 1` or `Back to state 1: rest`; with `-tool`, `1: Back to state: rest`.
fn back(line: &str) -> Option<(usize, &str)> {
    if let Some((number, rest)) = head(line) {
        let rest = rest.strip_prefix("Back to state")?;
        return Some((number, rest.trim_start_matches([':', ' '])));
    }
    let rest = line.strip_prefix("Back to state ")?.trim_end_matches(['.', ' ']);
    let (number, rest) = rest.split_once(':').unwrap_or((rest, ""));
    Some((number.trim().parse().ok()?, rest.trim()))
}

fn header(line: Line<'_>) -> Result<Option<Header>, Problem> {
    let action = |rest: &str| {
        let column = line.text.find('<').map_or(1, |at| line.text[..at].chars().count() + 2);
        match rest.strip_prefix('<') {
            Some("Initial predicate>") | None => Ok(None),
            Some(inside) => label::read(&mut Cursor::new(inside, line.number, column)),
        }
    };
    if let Some((number, rest)) = back(line.text) {
        return Ok(Some(Header::Back(number, action(rest)?)));
    }
    match head(line.text) {
        Some((_, "Stuttering")) => Ok(Some(Header::Stuttering)),
        Some((number, rest)) if rest.starts_with('<') => {
            Ok(Some(Header::State(number, action(rest)?)))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests;
