//! The program `kind`.

use std::{
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::providers::kind::docker::{Docker, failed};

/// The program.
pub struct Program(PathBuf);

/// The program in the PATH. It calls `docker`, so it is of no use without that.
pub fn find() -> Option<Program> {
    in_path("docker").and(in_path("kind")).map(Program)
}

fn in_path(name: &str) -> Option<PathBuf> {
    let is_program = |path: &Path| {
        path.metadata().is_ok_and(|of| of.is_file() && of.permissions().mode() & 0o111 != 0)
    };
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| is_program(path))
}

impl Program {
    /// Creates a cluster. The user's kubeconfig stays as it is. If it fails, the nodes stay, for somebody to look at.
    ///
    /// # Errors
    /// It fails: exit 75, with the reason that it gives.
    pub fn create(
        &self,
        docker: &Docker,
        name: &str,
        image: Option<&str>,
        file: &Value,
    ) -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(&self.0);
        command.args(["create", "cluster", "--retain", "--config=-", "--name", name]);
        command.arg("--kubeconfig").arg(folder.path().join("kubeconfig"));
        command.args(image.into_iter().flat_map(|image| ["--image", image]));
        // The daemon that Trommel itself talks to, and none of another context.
        command.env("DOCKER_HOST", docker.host()).env("KIND_EXPERIMENTAL_PROVIDER", "docker");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A kind that ends early says why.
            drop(stdin.write_all(file.to_string().as_bytes()));
        }
        let ended = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&ended.stderr);
        match ended.status.success() {
            true => Ok(()),
            false => {
                Err(failed(&format!("{} create cluster: {}", self.0.display(), reason(&said))))
            }
        }
    }
}

/// How many lines of an output are told, besides its first.
const LINES: usize = 5;

/// Why it failed, by what it said: the error, and the last lines of the command that led to it.
fn reason(said: &str) -> String {
    let error = said.find("ERROR:").map_or(said, |start| &said[start..]);
    let lines: Vec<&str> = error.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let Some((first, rest)) = lines.split_first() else { return "it gave no reason".to_owned() };
    let rest = &rest[rest.len().saturating_sub(LINES)..];
    let mut told = without_arguments(first.trim_start_matches("ERROR: "));
    for line in rest.iter().filter(|line| !line.starts_with("Run 'docker ")) {
        told.push_str("\n  ");
        told.push_str(line);
    }
    told
}

/// The error with the first two words of the command that failed: the rest fills a screen, and is kind's own.
fn without_arguments(error: &str) -> String {
    let command = error.split_once("command \"");
    let parts = command.and_then(|(before, rest)| Some((before, rest.split_once("\" failed")?)));
    let Some((before, (command, after))) = parts else { return error.to_owned() };
    let words: Vec<&str> = command.split(' ').take(2).collect();
    format!("{before}command \"{} …\" failed{after}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_error_and_the_end_of_its_output() {
        let said = "Creating cluster \"life\" ...\n • Preparing nodes  ...\n ✗ Preparing nodes\nERROR: failed to create cluster: \
                    command \"docker run --name a\" failed with error: exit status 125\nCommand Output: one\ntwo\nthree\nfour\nfive\n\
                    port is already allocated.\nRun 'docker run --help' for more information\n";
        assert_eq!(
            reason(said),
            "failed to create cluster: command \"docker run …\" failed with error: exit status 125\n  three\n  four\n  five\n  \
             port is already allocated."
        );
        assert_eq!(reason(""), "it gave no reason");
        assert_eq!(reason("unknown flag: --x\n"), "unknown flag: --x");
    }
}
