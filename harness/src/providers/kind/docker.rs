//! This machine's Docker, by its socket.

use bollard::{
    API_DEFAULT_VERSION,
    container::LogOutput,
    exec::{CreateExecOptions, StartExecOptions, StartExecResults},
    query_parameters::CreateImageOptionsBuilder,
};
use futures::StreamExt;
use tokio::io::{AsyncRead, AsyncWriteExt};

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

/// What a program in a container said.
pub struct Said {
    pub stdout: Vec<u8>,
    pub stderr: String,
    /// Its exit code.
    pub code: i64,
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
        let host = std::env::var("DOCKER_HOST").unwrap_or_else(|_| SOCKET.to_owned());
        let Some(path) = host.strip_prefix("unix://") else {
            let message = format!(
                "DOCKER_HOST is {host}: only a socket of this machine (unix://PATH) is supported, because the processes of \
                 pods must be processes of this machine"
            );
            return Err(failed(&message));
        };
        let advice = match std::os::unix::net::UnixStream::connect(path) {
            Ok(_) => None,
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Some(
                "this user may not use Docker. Run as root, or: usermod -aG docker USER, and log in again"
                    .to_owned(),
            ),
            Err(error) => Some(format!(
                "no Docker answers at {path} ({error}). Start it (systemctl start docker), or name its socket in DOCKER_HOST. \
                 Without Docker: cluster: {{embedded: {{}}}}"
            )),
        };
        if let Some(advice) = advice {
            return Err(failed(&advice));
        }
        let docker = bollard::Docker::connect_with_unix(&host, TIMEOUT, API_DEFAULT_VERSION);
        let docker = docker.map_err(|error| failed(&error.to_string()))?;
        let docker = docker.negotiate_version().await;
        let api = docker.map_err(|error| failed(&format!("Docker at {path}: {error}")))?;
        Ok(Docker { api, host })
    }

    /// Which version of Docker answers here.
    ///
    /// # Errors
    /// As [`Docker::connect`].
    pub fn version() -> anyhow::Result<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let version = Docker::connect().await?.api.version().await;
            let version = version.map_err(|error| failed(&error.to_string()))?;
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
        let options = CreateExecOptions {
            attach_stdin: Some(input.is_some()),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            cmd: Some(command.to_vec()),
            ..CreateExecOptions::default()
        };
        let broken = |error: bollard::errors::Error| failed(&format!("{container}: {error}"));
        let id = self.api.create_exec(container, options).await.map_err(broken)?.id;
        let started = self.api.start_exec(&id, None::<StartExecOptions>).await.map_err(broken)?;
        let mut said = Said { stdout: vec![], stderr: String::new(), code: 0 };
        if let StartExecResults::Attached { mut output, input: mut stdin } = started {
            let write = async {
                if let Some(mut input) = input {
                    // A program that ends early says why; that its input breaks off says less.
                    drop(tokio::io::copy(&mut input, &mut stdin).await);
                }
                drop(stdin.shutdown().await);
            };
            let read = async {
                while let Some(part) = output.next().await {
                    match part.map_err(broken)? {
                        LogOutput::StdErr { message } => {
                            said.stderr.push_str(&String::from_utf8_lossy(&message));
                        }
                        other => said.stdout.extend_from_slice(&other.into_bytes()),
                    }
                }
                anyhow::Ok(())
            };
            tokio::join!(write, read).1?;
        }
        let ended = self.api.inspect_exec(&id).await.map_err(broken)?;
        said.code = ended.exit_code.unwrap_or(-1);
        Ok(said)
    }
}
