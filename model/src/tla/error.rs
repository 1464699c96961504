//! What is wrong with a module or its configuration, and where.

use std::{
    fs,
    path::{Path, PathBuf},
};

use thiserror::Error;
use tla_checker::{
    Source,
    ast::{Spec, UnparsedDefinition},
    checker::{PrepareSpecError, eval_error_to_diagnostic},
    eval::EvalError,
    span::Span,
    stdlib::is_stdlib_module,
};

use super::{layout, names::Wrong, specification::Specification};
use crate::traces::Place;

/// A specification that can't be read, or that TLC's rules don't allow.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{place}: {what}", file.display())]
pub struct TlaError {
    /// The module or its configuration.
    pub file: PathBuf,
    /// Where; the whole file if the parser does not say, or if the text may be in a module that is extended.
    pub place: Place,
    /// What is wrong, in the words of the parser.
    pub what: String,
}

impl Specification {
    /// A name that is not there, or not as it is used.
    pub(super) fn wrong(&self, wrong: Wrong) -> TlaError {
        match wrong {
            Wrong::Unparsed(of) => unparsed(&of, &self.path),
            Wrong::Unknown(name, nearest) => {
                let meant =
                    nearest.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                self.about_name(&name, format!("nothing defines `{name}`{meant}"))
            }
            Wrong::Misapplied { name, takes, has } => {
                let what =
                    format!("`{name}` is defined with {takes} arguments, and used with {has}");
                self.about_name(&name, what)
            }
        }
    }

    /// With the first place at which the module has the name, or else one that it extends.
    fn about_name(&self, name: &str, what: String) -> TlaError {
        let at = |source: &Source| {
            let at = u32::try_from(layout::place_of(source.text(), name)?).ok()?;
            let (line, column) = source.line_char_col(at);
            Some(Place::At { line, column })
        };
        let extended = self.spec.extends.iter().filter(|module| !is_stdlib_module(module));
        let extended = extended.filter_map(|module| {
            let file = self.path.with_file_name(format!("{module}.tla"));
            let text = layout::plain(&fs::read_to_string(&file).ok()?);
            let place = at(&Source::new(file.display().to_string(), text))?;
            Some((file, place))
        });
        let here = at(&self.source).map(|place| (self.path.clone(), place));
        let (file, place) =
            here.into_iter().chain(extended).next().unwrap_or((self.path.clone(), Place::Whole));
        TlaError { file, place, what }
    }

    pub(super) fn unprepared(&self, error: PrepareSpecError) -> TlaError {
        let names = |names: &[std::sync::Arc<str>]| names.join(", ");
        let what = match error {
            PrepareSpecError::InstanceError(error) | PrepareSpecError::AssumeError(_, error) => {
                return self.evaluation(&error);
            }
            PrepareSpecError::ModuleParse(what)
            | PrepareSpecError::RefinementConfigError(what)
            | PrepareSpecError::ConstantSubstitution(what)
            | PrepareSpecError::LivenessProperty(what) => what,
            PrepareSpecError::MissingConstants(missing) => {
                format!("the configuration has no value for {}", names(&missing))
            }
            PrepareSpecError::AssumeViolation(at) => format!("assumption {} is false", at + 1),
            PrepareSpecError::NonModelValueSymmetry(name, _) => {
                format!("the symmetric set {name} has elements that are no model values")
            }
        };
        about(&self.path, what)
    }

    /// What went wrong in evaluating, and where.
    pub(super) fn evaluation(&self, error: &EvalError) -> TlaError {
        let place = if self.is_alone { place(&self.source, error.span()) } else { Place::Whole };
        let diagnostic = eval_error_to_diagnostic(error);
        let said = [Some(diagnostic.message), diagnostic.note, diagnostic.help];
        let mut what = said.into_iter().flatten().collect::<Vec<_>>().join("; ");
        // What a user of the crate's own program could do.
        if let Some((says, _)) = what.split_once(" (pass --") {
            what.truncate(says.len());
        }
        if let Some(error) = located(&self.unread, &what) {
            return error;
        }
        TlaError { file: self.path.clone(), place, what }
    }

    pub(super) fn missing(&self, what: &str) -> TlaError {
        about(&self.path, format!("there is no {what}"))
    }
}

pub(super) fn about(file: &Path, what: String) -> TlaError {
    TlaError { file: file.to_owned(), place: Place::Whole, what }
}

pub(super) fn place(source: &Source, span: Option<Span>) -> Place {
    match span {
        Some(span) => {
            let (line, column) = source.line_char_col(span.start);
            Place::At { line, column }
        }
        None => Place::Whole,
    }
}

/// A definition that does not parse: what the crate says when it is used, and what is wrong in it.
pub(super) type Unread = (String, TlaError);

/// The definitions that do not parse. The crate keeps them until they are used, which not all are.
pub(super) fn unread(spec: &Spec, module: &Path) -> Vec<Unread> {
    let unread = spec.definitions.keys().filter_map(|name| spec.unparsed_definition(name));
    unread.map(|of| (of.to_string(), unparsed(of, module))).collect()
}

/// What is wrong in a definition that does not parse.
fn unparsed(of: &UnparsedDefinition, module: &Path) -> TlaError {
    TlaError {
        file: of.file.as_deref().map_or_else(|| module.to_owned(), PathBuf::from),
        place: Place::At { line: of.line, column: of.column },
        what: format!("in the definition of {}: {}", of.name, of.message),
    }
}

/// What is wrong in the definition that `what` is about, if it is about one that does not parse.
pub(super) fn located(unread: &[Unread], what: &str) -> Option<TlaError> {
    unread.iter().find(|(said, _)| what.contains(said)).map(|(_, error)| error.clone())
}
