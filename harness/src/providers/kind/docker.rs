//! This machine's Docker, by its socket.

use std::{io, pin::Pin};

use bollard::{
    API_DEFAULT_VERSION,
    container::LogOutput,
    exec::{CreateExecOptions, StartExecOptions, StartExecResults},
    query_parameters::CreateImageOptionsBuilder,
};
use futures::{StreamExt, stream::BoxStream};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use crate::exit::{Exit, Expected};

const SOCKET: &str = "unix:///var/run/docker.sock";
/// Seconds that a request may take. Loading an image takes longest.
const TIMEOUT: u64 = 300;

/// A connection to the daemon.
pub struct Docker {
    api: bollard::Docker,
    /// Where it listens, as `DOCKER_HOST` has it.
    host: String,
}

/// Why no Docker answers, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub struct Unreached {
    pub why: String,
    pub fix: &'static str,
}

impl Unreached {
    fn by_socket(path: &str, error: &io::Error) -> Unreached {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Unreached {
                why: format!("Docker's socket {path} is closed to this user"),
                fix: "Run as root, or: sudo usermod -aG docker USER, and log in again",
            },
            io::ErrorKind::NotFound => Unreached {
                why: format!("there is no Docker socket {path}"),
                fix: "Install Docker (https://docs.docker.com/engine/install/), or name its socket in DOCKER_HOST",
            },
            _ => Unreached {
                why: format!("no Docker answers at {path} ({error})"),
                fix: "Start it (sudo systemctl start docker), or name its socket in DOCKER_HOST",
            },
        }
    }
}

/// What a program in a container said.
pub struct Said {
    pub stdout: Vec<u8>,
    pub stderr: String,
    /// Its exit code.
    pub code: i64,
}

/// A program that runs in a container.
pub struct Begun {
    id: String,
    pub output: BoxStream<'static, anyhow::Result<LogOutput>>,
    pub input: Pin<Box<dyn AsyncWrite + Send>>,
}

/// Docker, or something in a container, does not do as it should: a retry may help.
pub fn failed(message: &str) -> anyhow::Error {
    Expected::error(Exit::Environment, format!("kind: {message}"))
}

impl Docker {
    /// Connects to `DOCKER_HOST`, or to the usual socket.
    ///
    /// # Errors
    /// No daemon answers, or not to this user: exit 75, with what to do.
    pub async fn connect() -> anyhow::Result<Docker> {
        Docker::reach().await.map_err(|unreached| {
            failed(&format!(
                "{}. {}. Without Docker: cluster: {{embedded: {{}}}}",
                unreached.why, unreached.fix
            ))
        })
    }

    async fn reach() -> Result<Docker, Unreached> {
        let host = std::env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty());
        let host = host.unwrap_or_else(|| SOCKET.to_owned());
        let Some(path) = host.strip_prefix("unix://") else {
            return Err(Unreached {
                why: format!(
                    "DOCKER_HOST is {host}, and the processes of pods must be those of this machine"
                ),
                fix: "Name a socket of this machine: DOCKER_HOST=unix://PATH",
            });
        };
        if let Err(error) = std::os::unix::net::UnixStream::connect(path) {
            return Err(Unreached::by_socket(path, &error));
        }
        let silent = |error: bollard::errors::Error| Unreached {
            why: format!("what listens at {path} does not answer as Docker does: {error}"),
            fix: "Name Docker's socket in DOCKER_HOST",
        };
        let api = bollard::Docker::connect_with_unix(&host, TIMEOUT, API_DEFAULT_VERSION);
        let api = api.map_err(silent)?.negotiate_version().await.map_err(silent)?;
        Ok(Docker { api, host })
    }

    /// Which version of Docker answers here.
    ///
    /// # Errors
    /// None does.
    pub fn version() -> Result<String, Unreached> {
        let broken =
            |error: String| Unreached { why: error, fix: "Look at its log (journalctl -u docker)" };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(|error| broken(error.to_string()))?.block_on(async {
            let version = Docker::reach().await?.api.version().await;
            let version = version.map_err(|error| broken(error.to_string()))?;
            Ok(version.version.unwrap_or_default())
        })
    }

    /// Its API.
    pub fn api(&self) -> &bollard::Docker {
        &self.api
    }

    /// Where it listens, as `DOCKER_HOST` has it.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Fetches an image, unless it is there.
    ///
    /// # Errors
    /// It can't be fetched: exit 75.
    pub async fn ensure_image(&self, image: &str) -> anyhow::Result<()> {
        if self.api.inspect_image(image).await.is_ok() {
            return Ok(());
        }
        eprintln!("trommel: fetching the image {image}");
        let options = CreateImageOptionsBuilder::new().from_image(image).build();
        let mut fetched = self.api.create_image(Some(options), None, None);
        while let Some(step) = fetched.next().await {
            step.map_err(|error| {
                failed(&format!(
                    "the image {image} is not among Docker's (docker images), and can't be fetched: {error}"
                ))
            })?;
        }
        Ok(())
    }

    /// A file of a container.
    ///
    /// # Errors
    /// There is none, or Docker fails.
    pub async fn read(&self, container: &str, path: &str) -> anyhow::Result<String> {
        let said = self.exec(container, &["cat", path], None::<&[u8]>).await?;
        match (said.code, String::from_utf8(said.stdout)) {
            (0, Ok(text)) => Ok(text),
            _ => Err(anyhow::anyhow!("{container} has no {path}: {}", said.stderr.trim())),
        }
    }

    /// Runs a program in a container to its end, with this as its input.
    ///
    /// # Errors
    /// Docker fails. How the program ended is the caller's to judge.
    pub async fn exec<I: AsyncRead + Unpin>(
        &self,
        container: &str,
        command: &[&str],
        input: Option<I>,
    ) -> anyhow::Result<Said> {
        let Begun { id, mut output, input: mut stdin } =
            self.begin(container, command, input.is_some()).await?;
        let mut said = Said { stdout: vec![], stderr: String::new(), code: 0 };
        let write = async {
            if let Some(mut input) = input {
                // A program that ends early says why; that its input breaks off says less.
                drop(tokio::io::copy(&mut input, &mut stdin).await);
            }
            drop(stdin.shutdown().await);
        };
        let read = async {
            while let Some(part) = output.next().await {
                match part? {
                    LogOutput::StdErr { message } => {
                        said.stderr.push_str(&String::from_utf8_lossy(&message));
                    }
                    other => said.stdout.extend_from_slice(&other.into_bytes()),
                }
            }
            anyhow::Ok(())
        };
        tokio::join!(write, read).1?;
        let broken = |error: bollard::errors::Error| failed(&format!("{container}: {error}"));
        let ended = self.api.inspect_exec(&id).await.map_err(broken)?;
        said.code = ended.exit_code.unwrap_or(-1);
        Ok(said)
    }

    /// Begins a program in a container. One with an input sees its end when that is dropped, or this process is gone.
    ///
    /// # Errors
    /// Docker fails.
    pub async fn begin(
        &self,
        container: &str,
        command: &[&str],
        with_input: bool,
    ) -> anyhow::Result<Begun> {
        let options = CreateExecOptions {
            attach_stdin: Some(with_input),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            cmd: Some(command.to_vec()),
            ..CreateExecOptions::default()
        };
        let name = container.to_owned();
        let broken = move |error: bollard::errors::Error| failed(&format!("{name}: {error}"));
        let id = self.api.create_exec(container, options).await.map_err(&broken)?.id;
        match self.api.start_exec(&id, None::<StartExecOptions>).await.map_err(&broken)? {
            StartExecResults::Attached { output, input } => {
                let output = output.map(move |part| part.map_err(&broken)).boxed();
                Ok(Begun { id, output, input })
            }
            StartExecResults::Detached => {
                Err(failed(&format!("{container}: a program does not say what it does")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_not_to_reach_docker_has_its_fix() {
        let of = |kind: io::ErrorKind| Unreached::by_socket("/d.sock", &kind.into());
        let check = |kind, why: &str, fix: &str| {
            let found = of(kind);
            assert!(found.why.contains(why) && found.fix.contains(fix), "{found:?}");
        };
        check(
            io::ErrorKind::PermissionDenied,
            "/d.sock is closed to this user",
            "usermod -aG docker",
        );
        check(io::ErrorKind::NotFound, "there is no Docker socket /d.sock", "Install Docker");
        check(
            io::ErrorKind::ConnectionRefused,
            "no Docker answers at /d.sock",
            "systemctl start docker",
        );
    }
}
