//! From words to a tree.

use std::{iter::Peekable, vec::IntoIter};

use serde_json::Value;

use super::{
    Node, Operand, Pipeline, TemplateError, functions,
    lex::{Piece, Word, pieces},
};

/// What ended a block.
#[derive(Debug, PartialEq)]
enum End {
    Text,
    Close,
    Else(u64, Vec<Word>),
}

struct Parser {
    pieces: IntoIter<Piece>,
    /// The line of the last action.
    line: u64,
    /// Variables that are there.
    variables: Vec<String>,
    /// How many ranges are open.
    ranges: u32,
}

/// A whole template.
pub(super) fn parse(text: &str) -> Result<Vec<Node>, TemplateError> {
    let pieces = pieces(text)?.into_iter();
    let mut parser = Parser { pieces, line: 1, variables: vec![String::new()], ranges: 0 };
    match parser.block()? {
        (nodes, End::Text) => Ok(nodes),
        _ => Err(parser.wrong("there is an end or an else of nothing")),
    }
}

impl Parser {
    fn wrong(&self, message: impl Into<String>) -> TemplateError {
        TemplateError { line: self.line, message: message.into() }
    }

    /// Everything up to an `end` or `else`.
    fn block(&mut self) -> Result<(Vec<Node>, End), TemplateError> {
        let (mut nodes, known) = (vec![], self.variables.len());
        while let Some(piece) = self.pieces.next() {
            let (line, mut words) = match piece {
                Piece::Text(text) => {
                    nodes.push(Node::Text(text));
                    continue;
                }
                Piece::Action(line, words) => (line, words),
            };
            self.line = line;
            let keyword = match words.first() {
                Some(Word::Name(name)) => name.clone(),
                _ => String::new(),
            };
            match &*keyword {
                "end" | "else" => {
                    self.variables.truncate(known);
                    words.remove(0);
                    let end = if keyword == "end" { End::Close } else { End::Else(line, words) };
                    return Ok((nodes, end));
                }
                "if" | "with" | "range" => {
                    words.remove(0);
                    nodes.push(self.control(&keyword, words)?);
                }
                "break" | "continue" if self.ranges == 0 => {
                    return Err(self.wrong(format!("{keyword} stands in no range")));
                }
                "break" => nodes.push(Node::Break),
                "continue" => nodes.push(Node::Continue),
                "define" | "template" | "block" => {
                    let message =
                        format!("{keyword} is not supported: write the text in its place");
                    return Err(self.wrong(message));
                }
                _ => nodes.push(Node::Action(self.action(words)?)),
            }
        }
        self.variables.truncate(known);
        Ok((nodes, End::Text))
    }

    /// `if`, `with` or `range`, up to its end.
    fn control(&mut self, keyword: &str, words: Vec<Word>) -> Result<Node, TemplateError> {
        let (line, known) = (self.line, self.variables.len());
        let loops = u32::from(keyword == "range");
        let pipeline = self.whole(words, keyword == "range")?;
        self.ranges += loops;
        let (then, end) = self.block()?;
        self.ranges -= loops;
        let otherwise = match end {
            End::Else(at, mut words) if !words.is_empty() => {
                self.line = at;
                // `else if` and `else with` share the end of the outer one.
                match words.remove(0) {
                    Word::Name(inner) if inner == "if" || inner == "with" => {
                        vec![self.control(&inner, words)?]
                    }
                    _ => return Err(self.wrong("after else stands nothing, if, or with")),
                }
            }
            End::Else(..) => match self.block()? {
                (nodes, End::Close) => nodes,
                _ => return Err(TemplateError { line, message: format!("{keyword} has no end") }),
            },
            End::Close => vec![],
            End::Text => {
                return Err(TemplateError { line, message: format!("{keyword} has no end") });
            }
        };
        self.variables.truncate(known);
        Ok(match keyword {
            "if" => Node::If(pipeline, then, otherwise),
            "with" => Node::With(pipeline, then, otherwise),
            _ => Node::Range(pipeline, then, otherwise),
        })
    }

    fn action(&mut self, words: Vec<Word>) -> Result<Pipeline, TemplateError> {
        self.whole(words, false)
    }

    /// A pipeline that is all that there is, with the variables that get its result.
    fn whole(&mut self, words: Vec<Word>, ranges: bool) -> Result<Pipeline, TemplateError> {
        let mut names = vec![];
        let mut assigns = false;
        let mark = words.iter().position(|word| matches!(word, Word::Declare | Word::Assign));
        let mut words = words;
        if let Some(mark) = mark {
            let after = words.split_off(mark + 1);
            assigns = words.pop() == Some(Word::Assign);
            for (index, word) in words.into_iter().enumerate() {
                match word {
                    Word::Variable(name) if index % 2 == 0 && !name.is_empty() => names.push(name),
                    Word::Comma if index == 1 && ranges => {}
                    _ => {
                        return Err(
                            self.wrong("before := and = stands a variable; in range, up to two")
                        );
                    }
                }
            }
            words = after;
        }
        let mut words = words.into_iter().peekable();
        let mut pipeline = self.pipeline(&mut words)?;
        if let Some(word) = words.next() {
            return Err(self.wrong(format!("unexpected {word:?}")));
        }
        for name in &names {
            if !assigns {
                self.variables.push(name.clone());
            } else if !self.variables.contains(name) {
                return Err(self.wrong(format!("there is no variable ${name}: write :=")));
            }
        }
        (pipeline.variables, pipeline.assigns) = (names, assigns);
        Ok(pipeline)
    }

    /// Commands up to a closing parenthesis, or the end.
    fn pipeline(&self, words: &mut Peekable<IntoIter<Word>>) -> Result<Pipeline, TemplateError> {
        let mut commands = vec![vec![]];
        while let Some(word) = words.next_if(|word| *word != Word::Close) {
            if word == Word::Pipe {
                commands.push(vec![]);
                continue;
            }
            let operand = self.operand(word, words)?;
            if let Some(command) = commands.last_mut() {
                command.push(operand);
            }
        }
        if commands.iter().any(Vec::is_empty) {
            return Err(self.wrong("a command is missing"));
        }
        for (index, command) in commands.iter().enumerate() {
            let takes = command.len() > 1 || index > 0;
            if takes && !matches!(command[0], Operand::Function(_)) {
                return Err(self.wrong("what is no function has no arguments"));
            }
        }
        Ok(Pipeline { line: self.line, variables: vec![], assigns: false, commands })
    }

    fn operand(
        &self,
        word: Word,
        words: &mut Peekable<IntoIter<Word>>,
    ) -> Result<Operand, TemplateError> {
        Ok(match word {
            Word::Literal(value) => Operand::Literal(value),
            Word::Name(name) => match &*name {
                "true" => Operand::Literal(Value::Bool(true)),
                "false" => Operand::Literal(Value::Bool(false)),
                "nil" => Operand::Nil,
                _ => match functions::known(&name) {
                    Some(name) => Operand::Function(name),
                    None => {
                        return Err(self.wrong(format!(
                            "there is no function `{name}` here; there are {}",
                            functions::NAMES.join(", ")
                        )));
                    }
                },
            },
            Word::Field { name, .. } if name.is_empty() => Operand::Dot,
            Word::Field { name, .. } => Operand::Field(fields(vec![name], words)),
            Word::Variable(name) => {
                if !self.variables.contains(&name) {
                    return Err(self.wrong(format!("there is no variable ${name} here")));
                }
                Operand::Variable(name, fields(vec![], words))
            }
            Word::Open => {
                let inner = self.pipeline(words)?;
                if words.next() != Some(Word::Close) {
                    return Err(self.wrong("a parenthesis is open: write )"));
                }
                Operand::Pipeline(Box::new(inner), fields(vec![], words))
            }
            word => return Err(self.wrong(format!("unexpected {word:?}"))),
        })
    }
}

/// Further fields that follow without a space.
fn fields(mut path: Vec<String>, words: &mut Peekable<IntoIter<Word>>) -> Vec<String> {
    while let Some(Word::Field { name, .. }) =
        words.next_if(|word| matches!(word, Word::Field { glued: true, .. }))
    {
        path.push(name);
    }
    path
}
