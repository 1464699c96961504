//! kwok's `Stage` files, as a campaign or a command line names them.

use std::{path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};
use stages::Stages;

use super::{Campaign, ClusterSpec, EmbeddedSpec, Located};
use crate::exit::{Exit, Expected};

/// A stage file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StageFile {
    /// By its name, relative to the campaign's folder.
    Path(PathBuf),
    /// As replay files have it.
    Text {
        /// Its name.
        name: String,
        /// What it says.
        text: String,
    },
}

/// Reads stage files by name; none where there are none.
///
/// # Errors
/// Files that can't be read, or are wrong: with file and line (exit 64).
pub fn read_stages(paths: &[PathBuf]) -> anyhow::Result<Option<Stages>> {
    let usage = |message: String| Expected::error(Exit::Usage, message);
    let mut texts = vec![];
    for path in paths {
        let text = std::fs::read_to_string(path).map_err(|error| {
            usage(format!("cannot read the stage file {}: {error}", path.display()))
        })?;
        texts.push((path.display().to_string(), text));
    }
    of_texts(&texts)
}

fn of_texts(texts: &[(String, String)]) -> anyhow::Result<Option<Stages>> {
    if texts.is_empty() {
        return Ok(None);
    }
    let files = texts.iter().map(|(name, text)| (&**name, &**text));
    let stages = Stages::read(files);
    stages.map(Some).map_err(|error| Expected::error(Exit::Usage, error.to_string()))
}

impl Campaign {
    /// Names and texts of its stage files.
    ///
    /// # Errors
    /// A file that can't be read.
    pub fn stage_texts(&self) -> anyhow::Result<Vec<(String, String)>> {
        let ClusterSpec::Embedded(embedded) = &self.file.spec.cluster else { return Ok(vec![]) };
        let text = |file: &Located<StageFile>| match &file.value {
            StageFile::Text { name, text } => Ok((name.clone(), text.clone())),
            StageFile::Path(path) => {
                let path = self.resolve(path);
                let text = std::fs::read_to_string(&path).map_err(|error| {
                    let what = format!("cannot read the stage file {}: {error}", path.display());
                    file.error(&self.path, &format!("spec.cluster.embedded.stages: {what}"))
                })?;
                Ok((path.display().to_string(), text))
            }
        };
        embedded.stages.iter().map(text).collect()
    }

    /// Its stages, if it names any.
    ///
    /// # Errors
    /// Files that can't be read, or are wrong: with file and line (exit 64).
    pub fn stages(&self) -> anyhow::Result<Option<Arc<Stages>>> {
        Ok(of_texts(&self.stage_texts()?)?.map(Arc::new))
    }
}

impl EmbeddedSpec {
    /// The same with what the stage files say instead of where they are, under the names that the campaign gives them.
    #[must_use]
    pub fn with_stage_texts(&self, campaign: &Campaign) -> EmbeddedSpec {
        // They were read when the campaign began; one that is gone since stays a name.
        let Ok(texts) = campaign.stage_texts() else { return self.clone() };
        let named = self.stages.iter().zip(texts).map(|(file, (name, text))| {
            let name = match &file.value {
                StageFile::Path(path) => path.display().to_string(),
                StageFile::Text { .. } => name,
            };
            Located::new(StageFile::Text { name, text })
        });
        EmbeddedSpec { stages: named.collect(), ..self.clone() }
    }
}
