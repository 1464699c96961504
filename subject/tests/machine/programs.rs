//! Programs to start, and reading what they say.

use std::{
    io::Read,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use subject::{Isolation, Launch, Process, Started, Watched};
use tokio::net::unix::pipe;

/// How tests start things: namespaces where the machine allows them.
pub fn launch(command: &[&str]) -> Launch {
    Launch {
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        dir: "/".into(),
        env: vec![
            ("PATH".into(), std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".into())),
            ("HOME".into(), "/".into()),
        ],
        isolation: Isolation::Namespaces,
        clock: subject::Pace::Virtual { ahead: 0 },
        port: 18080,
        service_account: None,
        determinism: Default::default(),
    }
}

/// Starts it, and waits until it has ended; what it wrote.
pub fn output_of(launch: &Launch) -> String {
    let Started { process, output, listener, .. } = subject::start(launch).unwrap();
    let text = read_all(output);
    drop((process, listener));
    text
}

/// Everything up to the end of the stream, which comes when no process holds it any more.
pub fn read_all(output: OwnedFd) -> String {
    super::server::on_one_thread(async {
        let mut reader = Lines::new(output);
        while reader.more().await {}
        reader.text
    })
}

/// A subject's output, read as it comes.
pub struct Lines {
    pipe: pipe::Receiver,
    text: String,
    at: usize,
}

impl Lines {
    pub fn new(output: OwnedFd) -> Lines {
        Lines { pipe: pipe::Receiver::from_owned_fd(output).unwrap(), text: String::new(), at: 0 }
    }

    /// Reads what is there, without waiting; `None` if nothing is, else whether there may be more.
    fn read_now(&mut self) -> Option<bool> {
        let mut buffer = [0; 4096];
        match self.pipe.try_read(&mut buffer) {
            Ok(count) => {
                self.text.push_str(&String::from_utf8_lossy(&buffer[..count]));
                Some(count > 0)
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// Waits for more; false at the end of the stream.
    async fn more(&mut self) -> bool {
        loop {
            self.pipe.readable().await.unwrap();
            if let Some(more) = self.read_now() {
                return more;
            }
        }
    }

    /// How many lines have been written so far, read now.
    pub fn take(&mut self) -> usize {
        while self.read_now() == Some(true) {}
        self.text.matches('\n').count()
    }

    /// The next line; panics at the end of the stream.
    pub async fn next(&mut self) -> String {
        loop {
            if let Some(length) = self.text[self.at..].find('\n') {
                let line = self.text[self.at..self.at + length].to_owned();
                self.at += length + 1;
                return line;
            }
            assert!(self.more().await, "the subject ended; it said {}", self.text);
        }
    }

    /// What has come and was not asked for.
    pub fn rest(&self) -> &str {
        &self.text[self.at..]
    }
}

/// A fresh folder for files of one test.
pub fn folder(name: &str) -> PathBuf {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A Python that is really Python (version managers put shell scripts in its place).
pub fn python() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            let code = "import os;print(os.path.realpath('/proc/self/exe'))";
            let said = Command::new("python3").args(["-c", code]).output().ok()?;
            let path = PathBuf::from(String::from_utf8(said.stdout).ok()?.trim());
            path.is_file().then_some(path)
        })
        .clone()
        .or_else(|| {
            skip("there is no python3 on this machine");
            None
        })
}

/// Says that the calling test skips for want of a program; with `CI=true`, where nothing may be missing that can be
/// installed, it fails.
pub fn skip(why: &str) {
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!in_ci, "{why}, and CI=true allows no skipping");
    println!("skipped: {why}");
}

/// Compiles a Go program once; `None`, with a word about it, where there is no Go.
pub fn go(name: &str, source: &str) -> Option<PathBuf> {
    go_with(name, source, &[])
}

/// The same, with the C library in it.
pub fn static_go(name: &str, source: &str) -> Option<PathBuf> {
    go_with(name, source, &["-ldflags=-linkmode=external -extldflags=-static"])
}

fn go_with(name: &str, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("main.go");
    std::fs::write(&file, source).unwrap();
    let program = folder.join("program");
    let mut build = Command::new("go");
    build
        .arg("build")
        .args(flags)
        .arg("-o")
        .arg(&program)
        .arg(&file)
        .env("GO111MODULE", "off")
        .env("CGO_ENABLED", if source.contains("import \"C\"") { "1" } else { "0" });
    match build.stdout(Stdio::null()).stderr(Stdio::piped()).spawn() {
        Err(error) => {
            skip(&format!("there is no Go on this machine ({error})"));
            None
        }
        Ok(mut child) => {
            let mut text = String::new();
            child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
            assert!(child.wait().unwrap().success(), "{text}");
            Some(program)
        }
    }
}

/// Waits until the process is quiet behind this server.
pub async fn quiet(process: &mut Process, server: &super::server::Server) -> subject::Quiet {
    ask(process, server).await.unwrap()
}

/// The same where it may not become so.
pub async fn ask(process: &mut Process, server: &super::server::Server) -> Asked {
    subject::quiet(&mut [Watched::new(process, || server.flight())]).await
}

type Asked = Result<subject::Quiet, subject::NotQuiet>;
