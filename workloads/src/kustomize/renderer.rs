//! The user's own program that renders kustomizations: `kustomize`, else `kubectl`. It knows all that a kustomization may
//! say, in the version that the user deploys with; ours is for machines that have neither.
//!
//! It gets PATH and HOME and nothing else, and no flag that lets it run plugins or charts. It is not kept from the network:
//! a base that lies elsewhere is fetched by it, as when the user deploys, or fails with its own message. Trommel itself
//! fetches nothing, here or in the fallback.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::place::{LoadError, Place};

/// A program that renders kustomizations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renderer {
    program: PathBuf,
    /// Its word for rendering: `build` or `kustomize`.
    verb: &'static str,
    env: Vec<(&'static str, OsString)>,
}

/// The programs, by preference, and their words for rendering.
const PROGRAMS: [(&str, &str); 2] = [("kustomize", "build"), ("kubectl", "kustomize")];

impl Renderer {
    /// The one that is found in the folders of this PATH. `home` is its home folder.
    pub fn find(path: &OsStr, home: Option<&OsStr>) -> Option<Renderer> {
        let in_path = |name: &str| {
            std::env::split_paths(path)
                .map(|folder| folder.join(name))
                .find(|file| is_program(file))
        };
        let mut env = vec![("PATH", path.to_owned())];
        env.extend(home.map(|home| ("HOME", home.to_owned())));
        PROGRAMS.iter().find_map(|(name, verb)| {
            let program = in_path(name)?;
            Some(Renderer { program, verb, env: env.clone() })
        })
    }

    /// What it makes of a folder with a kustomization, as YAML.
    ///
    /// # Errors
    /// What it said where it fails, or why it does not start.
    pub(super) fn render(&self, file: &Path) -> Result<String, LoadError> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let failed = |why: &str| Place::whole(file).error(format!("`{self}` failed: {why}"));
        let output = Command::new(&self.program)
            .arg(self.verb)
            .arg(folder)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .output()
            .map_err(|error| failed(&error.to_string()))?;
        match output.status.success() {
            true => String::from_utf8(output.stdout).map_err(|error| failed(&error.to_string())),
            false => Err(failed(String::from_utf8_lossy(&output.stderr).trim())),
        }
    }
}

impl fmt::Display for Renderer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.program.display(), self.verb)
    }
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest;

    /// A program of this name. Another process writes it: one that is open for writing can't be started, and a test beside
    /// this one may start a program while it is.
    fn program(folder: &Path, name: &str, script: &str) {
        let write = "printf '#!/bin/sh\\n%s\\n' \"$2\" > \"$1\" && chmod +x \"$1\"";
        let args = ["-c", write, "sh"];
        let written = Command::new("sh").args(args).arg(folder.join(name)).arg(script).status();
        assert!(written.unwrap().success());
    }

    #[test]
    fn kustomize_comes_before_kubectl() {
        let folder = tempfile::tempdir().unwrap();
        let find = || Renderer::find(folder.path().as_os_str(), None);
        assert_eq!(find(), None);
        std::fs::write(folder.path().join("kustomize"), "no program").unwrap();
        assert_eq!(find(), None);
        let shown = |name: &str| format!("{}/{name}", folder.path().display());
        program(folder.path(), "kubectl", "");
        assert_eq!(find().unwrap().to_string(), shown("kubectl kustomize"));
        program(folder.path(), "kustomize", "");
        assert_eq!(find().unwrap().to_string(), shown("kustomize build"));
    }

    #[test]
    fn what_the_program_makes_is_read_and_what_it_says_is_told() {
        let (tools, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(folder.path().join("kustomization.yaml"), "helmCharts: [{}]\n").unwrap();
        let path = format!("{}:/usr/bin:/bin", tools.path().display());
        let load = || {
            let renderer = Renderer::find(path.as_ref(), Some("/nowhere".as_ref())).unwrap();
            manifest::load(folder.path(), Some(&renderer))
        };
        let script = "echo 'apiVersion: v1'; echo 'kind: ConfigMap'; echo 'metadata: {name: a}'; \
                      echo \"data: {args: '$*', home: '$HOME', other: '$CARGO_MANIFEST_DIR'}\"";
        program(tools.path(), "kustomize", script);
        let [made] = &load().unwrap()[..] else { panic!() };
        let args = format!("build {}", folder.path().display());
        let data = serde_json::json!({"args": args, "home": "/nowhere", "other": ""});
        assert_eq!(made.object["data"], data);
        program(tools.path(), "kustomize", "echo 'no such chart' >&2; exit 1");
        let error = load().unwrap_err().to_string();
        assert!(error.ends_with("kustomize build` failed: no such chart"), "{error}");
    }
}
