//! `trommel serve`, started as a person would.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::product::{Ended, command};

/// A server that runs.
pub struct Served {
    process: Child,
    /// For its administrator.
    pub kubeconfig: PathBuf,
}

impl Served {
    /// Returns when it says that it serves. Its kubeconfig comes into the folder, in place of the one of a server
    /// that was killed there.
    pub fn start(folder: &Path, arguments: &[&str]) -> Served {
        drop(fs::remove_file(folder.join("trommel.kubeconfig")));
        Served::start_words(folder, &[&["serve"], arguments].concat())
    }

    /// The same for any words of the command line that say so.
    pub fn start_words(folder: &Path, words: &[&str]) -> Served {
        let mut command = command(folder, words.iter().copied());
        let mut process =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let stdout = process.stdout.take().expect("stdout is a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a pipe can be read");
        let Some(kubeconfig) = line.trim().strip_prefix("export KUBECONFIG=") else {
            let ended = process.wait_with_output().expect("a child can be waited for");
            let why = String::from_utf8_lossy(&ended.stderr);
            panic!("it says {line:?}, {}: {why}", ended.status)
        };
        Served { process, kubeconfig: PathBuf::from(kubeconfig) }
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// What kubectl says of it.
    pub fn kubectl(&self, arguments: &[&str]) -> Ended {
        Ended::of(self.kubectl_command(arguments))
    }

    /// A command line of kubectl for it.
    pub fn kubectl_command(&self, arguments: &[&str]) -> Command {
        let mut kubectl = Command::new("kubectl");
        kubectl.env("KUBECONFIG", &self.kubeconfig).args(arguments).stdin(Stdio::null());
        kubectl
    }

    /// Its exit code and what it said, after a signal.
    pub fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.process), signal).expect("it can be told");
        let mut said = String::new();
        let mut stderr = self.process.stderr.take().expect("stderr is a pipe");
        stderr.read_to_string(&mut said).expect("text");
        let status = self.process.wait().expect("a child can be waited for");
        (status.code(), said)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // One that a test has not ended; it may be gone.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
