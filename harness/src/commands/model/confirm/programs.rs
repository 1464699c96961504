//! The real programs: kube-controller-manager, kube-scheduler and descheduler, each unmodified, in surroundings of its own
//! (`subject`), on virtual time, behind a proxy that says what is under way.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::Context;
use subject::{Process, Watched};
use trace::{Actor, Flight, Recorder};

use crate::{
    campaign::setup::Certificates,
    exit::{Exit, Expected},
    providers::{client_files, codec::ClusterCodec},
    trial::{
        clocks::Following,
        output::{Output, excerpt},
    },
};

use super::file::ProgramSpec;

/// Those that can run, with the flag that takes their configuration file, and where to get them.
const KNOWN: [(&str, &str, &str); 3] = [
    (
        "kube-controller-manager",
        "",
        "https://dl.k8s.io/v1.36.3/bin/linux/amd64/kube-controller-manager, or tests/reference/build.sh",
    ),
    (
        "kube-scheduler",
        "--config",
        "https://dl.k8s.io/v1.36.3/bin/linux/amd64/kube-scheduler, or tests/reference/build.sh",
    ),
    (
        "descheduler",
        "--policy-config-file",
        "go install sigs.k8s.io/descheduler/cmd/descheduler@v0.36.0, or tests/reference/descheduler/build.sh",
    ),
];

/// What each needs in order to work here; the flags of the file come after these. Nodes send no heartbeats, nobody
/// attaches volumes, and nobody else is elected.
fn flags(program: &str) -> &'static [&'static str] {
    match program {
        "kube-controller-manager" => &[
            "--leader-elect=false",
            "--use-service-account-credentials=false",
            "--secure-port=0",
            "--controllers=*,-persistentvolume-attach-detach-controller",
            "--node-monitor-grace-period=87600h",
        ],
        "kube-scheduler" => &["--leader-elect=false", "--secure-port=0"],
        _ => &["--descheduling-interval=5m"],
    }
}

/// The port of the API server, as programs see it.
const PORT: u16 = 6443;

/// Whether there is such a program.
///
/// # Errors
/// There is none: which there are.
pub fn check(name: &str) -> Result<(), String> {
    if KNOWN.iter().any(|(known, ..)| *known == name) {
        return Ok(());
    }
    let known: Vec<&str> = KNOWN.iter().map(|(known, ..)| *known).collect();
    Err(format!("no program {name:?} is known here: there are {}", known.join(", ")))
}

/// What every program is started with.
pub struct Surroundings<'a> {
    /// Where their files are.
    pub folder: &'a Path,
    /// What they know the API server by.
    pub certificates: &'a Certificates,
    /// The administrator's.
    pub token: &'a str,
    /// The server.
    pub server: &'a cluster::Server,
    /// Whose clocks the server follows.
    pub following: &'a Following<String>,
}

/// One of them, running.
pub struct Running {
    name: String,
    /// Its processes.
    pub process: Process,
    proxy: proxy::Proxy,
    serving: proxy::Serving,
    output: Output,
    log: PathBuf,
}

impl Running {
    /// Starts the program `file`, known as `name`.
    ///
    /// # Errors
    /// It is missing or can't be started (exit 64); no files can be written.
    pub fn start(
        (name, file): (&str, &Path),
        spec: &ProgramSpec,
        around: &Surroundings<'_>,
    ) -> anyhow::Result<Running> {
        let folder = around.folder.join(name);
        let home = folder.join("home");
        std::fs::create_dir_all(&home).with_context(|| format!("{}", home.display()))?;
        let kubeconfig = folder.join("kubeconfig");
        let authority = Some(&*around.certificates.authority_pem);
        client_files::write_for(&kubeconfig, PORT, authority, around.token)?;
        let launch = subject::Launch {
            command: command(name, file, spec, &kubeconfig)?,
            dir: folder.clone(),
            env: vec![
                ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
                ("HOME".to_owned(), home.display().to_string()),
            ],
            isolation: subject::Isolation::Namespaces,
            clock: subject::Pace::Virtual {
                ahead: around.server.now().0 - client_files::real_now().0,
            },
            port: PORT,
            service_account: None,
            determinism: subject::Determinism { processors: Some(1), fixed_addresses: false },
        };
        let started = subject::start_at(&launch, None).map_err(|error| {
            Expected::error(Exit::Usage, format!("{name}: {error}; {}", from(name)))
        })?;
        if let subject::ClockAbility::Real(why) = started.process.clock() {
            let message = format!("the clock of {name} can't be set: {why}; see `trommel doctor`");
            return Err(Expected::error(Exit::Environment, message));
        }
        around.following.started(name.to_owned(), started.process.reader());
        let unrecorded = Recorder::new(Arc::new(Default::default), None);
        let upstream = around.following.before(around.server.service());
        let proxy = proxy::Proxy::new(upstream, unrecorded, Arc::new(ClusterCodec));
        let client = proxy::Client {
            actor: Actor::Environment(name.into()),
            incarnation: 0,
            tls: around.certificates.server.clone(),
        };
        let serving = proxy.serve(started.listener, client)?;
        let log = around.folder.join(format!("{name}.log"));
        let output = Output::read(started.output, &log, drop)?;
        Ok(Running { name: name.to_owned(), process: started.process, proxy, serving, output, log })
    }

    /// It, to be waited for. `undelivered`: of the whole server.
    pub fn watched<'a>(&'a mut self, server: &'a cluster::Server) -> Watched<'a> {
        let Running { process, proxy, output, .. } = self;
        Watched::new(process, || {
            let mut flight = proxy.flight();
            flight.undelivered += server.undelivered();
            flight.unread_output = output.unread();
            flight
        })
    }

    /// Grows with all that moves between it and us.
    pub fn activity(&self) -> u64 {
        let flight: Flight = self.proxy.flight();
        flight.activity
    }

    /// That it ended, and what it said last.
    pub fn ended(&self, exit: &subject::Exit) -> String {
        format!("{} ended by itself ({exit}){}", self.name, excerpt(&self.log))
    }

    /// Moves its clock.
    ///
    /// # Errors
    /// It can't be moved.
    pub fn advance(&mut self, by: Duration) -> std::io::Result<()> {
        self.process.advance(by)
    }

    /// Ends it.
    pub async fn end(mut self) {
        self.process.kill();
        self.serving.close();
        self.output.end().await;
    }
}

/// Its command line; its configuration file is written.
fn command(
    name: &str,
    file: &Path,
    spec: &ProgramSpec,
    kubeconfig: &Path,
) -> anyhow::Result<Vec<String>> {
    let mut command = vec![file.display().to_string()];
    let known = KNOWN.iter().find(|(known, ..)| *known == name);
    let flag = known.map(|(_, flag, _)| *flag).unwrap_or_default();
    command.extend(flags(name).iter().map(|flag| (*flag).to_owned()));
    let shown = kubeconfig.display().to_string();
    match &spec.config {
        Some(_) if flag.is_empty() => {
            let message = format!("{name} takes no configuration file: say it by flags");
            return Err(Expected::error(Exit::Usage, message));
        }
        Some(config) => {
            let mut config = config.clone();
            if name == "kube-scheduler" {
                // With a file, the scheduler reads no flag of its clients, nor of elections.
                config["clientConnection"]["kubeconfig"] = shown.into();
                config["leaderElection"]["leaderElect"] = false.into();
                command.retain(|flag| !flag.starts_with("--leader-elect"));
            } else {
                command.push(format!("--kubeconfig={shown}"));
            }
            let path = kubeconfig.with_file_name("config.yaml");
            std::fs::write(&path, config.to_string())?;
            command.push(format!("{flag}={}", path.display()));
        }
        None => command.push(format!("--kubeconfig={shown}")),
    }
    command.extend_from_slice(&spec.flags);
    Ok(command)
}

/// Where to get it.
fn from(name: &str) -> String {
    let known = KNOWN.iter().find(|(known, ..)| *known == name);
    let from = known.map(|(.., from)| *from).unwrap_or_default();
    format!("get it from {from}, and name it: --program {name}=FILE")
}

/// It is not in PATH.
pub fn missing(name: &str) -> String {
    format!("{name} is not in PATH: {}", from(name))
}
