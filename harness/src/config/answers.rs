//! What containers say, and how commands end in them, as a campaign or a command line gives it.

use std::path::Path;

use cluster::{Answer, Answers};

use super::{ClusterSpec, EmbeddedSpec, Located, Spec};
use crate::exit::{Exit, Expected};

/// Reads a file for `trommel serve --answers`: the list that is `cluster.embedded.answers` in a campaign.
///
/// # Errors
/// A file that can't be read, or is wrong: with line and column (exit 64).
pub fn read_answers(path: &Path) -> anyhow::Result<Vec<Located<Answer>>> {
    let usage = |message: String| Expected::error(Exit::Usage, message);
    let text = std::fs::read_to_string(path)
        .map_err(|error| usage(format!("cannot read the answers {}: {error}", path.display())))?;
    let answers: Vec<Located<Answer>> = serde_saphyr::from_str(&text).map_err(|error| {
        let at =
            error.location().map_or(String::new(), |at| format!(":{}:{}", at.line(), at.column()));
        usage(format!("{}{at}: {error}", path.display()))
    })?;
    match of(&answers) {
        Ok(_) => Ok(answers),
        Err((index, why)) => Err(answers[index].error(path, &why)),
    }
}

/// Checks those of a campaign.
pub(super) fn check(spec: &Spec, path: &Path) -> anyhow::Result<()> {
    let ClusterSpec::Embedded(embedded) = &spec.cluster else { return Ok(()) };
    embedded.checked_answers().map(drop).map_err(|(index, why)| {
        embedded.answers[index].error(path, &format!("spec.cluster.embedded.answers: {why}"))
    })
}

fn of(answers: &[Located<Answer>]) -> Result<Answers, (usize, String)> {
    Answers::new(answers.iter().map(|answer| answer.value.clone()))
}

impl EmbeddedSpec {
    /// Its answers. Errors: which one is wrong, and why.
    pub(super) fn checked_answers(&self) -> Result<Answers, (usize, String)> {
        of(&self.answers)
    }
}
