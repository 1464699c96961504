//! The repository that a folder is in.

use std::path::Path;

/// Its root: the nearest folder above, or the folder itself, that git keeps.
pub fn root(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|above| above.join(".git").exists())
}
