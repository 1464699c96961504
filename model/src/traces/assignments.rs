//! States as TLC prints them: a line `/\ name = value` for each variable, or `name = value` if there is but one.
//!
//! A value may go on over lines, as long as they do not begin with `/\`.

use super::{State, error::Problem, literal};

/// One line of a file, with its number and where it begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    pub(super) number: usize,
    /// The column of its first character.
    pub(super) column: usize,
}

/// The lines of `text`.
pub(super) fn lines(text: &str) -> Vec<Line<'_>> {
    text.lines().zip(1..).map(|(text, number)| Line { text, number, column: 1 }).collect()
}

/// Reads the variables of one state.
pub(super) fn read(lines: &[Line<'_>]) -> Result<State, Problem> {
    let mut state = State::new();
    let mut rest = lines;
    while let Some((first, after)) = rest.split_first() {
        let further = after.iter().take_while(|line| !starts_variable(line.text)).count();
        let (name, value) = variable(*first, &after[..further])?;
        if state.insert(name.to_owned(), value).is_some() {
            let what = format!("the variable `{name}` is there twice");
            return Err(Problem::at(first.number, first.column, what));
        }
        rest = &after[further..];
    }
    Ok(state)
}

fn starts_variable(line: &str) -> bool {
    line.trim_start().starts_with("/\\")
}

fn variable<'a>(first: Line<'a>, further: &[Line<'a>]) -> Result<(&'a str, super::Value), Problem> {
    let bare = first.text.trim_start();
    let bare = bare.strip_prefix("/\\").unwrap_or(bare);
    let (name, value) = match bare.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => (name.trim(), value),
        _ => {
            let what = format!("expected `/\\ variable = value`, found `{}`", first.text.trim());
            return Err(Problem::at(first.number, first.column, what));
        }
    };
    let column = first.column + first.text[..first.text.len() - value.len()].chars().count();
    let mut text = value.to_owned();
    for line in further {
        text.push('\n');
        text.push_str(line.text);
    }
    Ok((name, literal::whole(&text, first.number, column)?))
}
