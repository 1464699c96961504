//! Where something is written, and errors that say it.

use std::{fmt, path::Path, sync::Arc};

/// A position in a file of the user's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The file as the user named it.
    pub file: Arc<str>,
    /// Line, from 1; 0 where the whole file is meant.
    pub line: u32,
    /// Column in characters, from 1; 0 where the whole line or file is meant.
    pub column: u32,
}

impl Place {
    /// The whole of a file.
    pub fn whole(file: &Path) -> Place {
        Place { file: file.display().to_string().into(), line: 0, column: 0 }
    }

    /// An error here.
    pub(crate) fn error(&self, message: impl Into<String>) -> LoadError {
        LoadError { place: self.clone(), message: message.into(), help: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        Ok(())
    }
}

/// A file that can't be read as what it should be: where, why, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}{}", self.help_text())]
pub struct LoadError {
    /// Where.
    pub place: Place,
    /// What is wrong, as a lowercase fragment.
    pub message: String,
    /// What to do, where that is known.
    pub help: Option<String>,
}

impl LoadError {
    pub(crate) fn help(mut self, help: impl Into<String>) -> LoadError {
        self.help = Some(help.into());
        self
    }

    fn help_text(&self) -> String {
        self.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default()
    }
}
