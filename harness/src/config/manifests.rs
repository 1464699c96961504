//! Manifests as the user names them. Which program renders a kustomization is told: it decides what is applied.

use std::path::Path;

use workloads::{
    LoadError,
    manifest::{self, Manifest, Renderer},
};

/// All objects of a file or folder. A kustomization is rendered by the user's `kustomize` or `kubectl`, else by Trommel;
/// a line on stderr says which, also with `--quiet`.
///
/// # Errors
/// What can't be read or rendered, with its place.
pub fn load(path: &Path) -> Result<Vec<Manifest>, LoadError> {
    if manifest::kustomization(path).is_none() {
        return manifest::load(path, None);
    }
    let programs = std::env::var_os("PATH").unwrap_or_default();
    let renderer = Renderer::find(&programs, std::env::var_os("HOME").as_deref());
    let by = match &renderer {
        Some(renderer) => format!("`{renderer}`"),
        None => "Trommel itself, because neither kustomize nor kubectl is in PATH".to_owned(),
    };
    eprintln!("trommel: {} is rendered by {by}", path.display());
    manifest::load(path, renderer.as_ref())
}
