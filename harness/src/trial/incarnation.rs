//! One start of the subject: its process, its listener, its output.
//!
//! A subject that ends by itself is started again, as a kubelet would; three times in a row ends the trial.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use trace::{Actor, Event, ProcessEvent, ProcessHappening};

use super::{
    Going, RunEnd, Stop, Trial,
    output::{self, Output},
};
use crate::{campaign::setup::ClockMode, config::Dice, providers::client_files, trial::cpu_time};

/// The replica that trials run. More come with the leader perturbations.
const REPLICA: u32 = 0;
/// Where the proxy listens inside the subject's network namespace.
const PORT: u16 = 6443;
/// How a note begins that names something of the subject that can't be followed from outside.
pub const NOT_SEEN_THROUGH: &str = "not seen through";
/// A controller that ends by itself this often is not started again: the oracles call it a crash loop.
const EXITS_ALLOWED: u32 = 3;

/// A program that finds the API by a kubeconfig.
pub(super) struct Program<'a> {
    /// Its command line, with placeholders.
    pub command: &'a [String],
    /// Environment on top of the fixed one.
    pub env: &'a BTreeMap<String, String>,
    /// Who it is to the API.
    pub token: &'a str,
    /// Where its kubeconfig and its home are.
    pub folder: &'a Path,
    /// What it finds of its ServiceAccount; seen in namespaces only.
    pub account: Option<PathBuf>,
}

/// A running start of the subject.
pub(super) struct Incarnation {
    pub process: subject::Process,
    pub serving: proxy::Serving,
    pub number: u32,
    pub output: Output,
}

impl Trial<'_> {
    /// Starts the subject on the world as it is now.
    pub(super) async fn start_subject(&mut self) -> Going<()> {
        if let Some((perturbation, behind)) = self.meets.take() {
            self.meet(&perturbation, behind)?;
        }
        let incarnation =
            self.launch().await.map_err(|error| Stop(RunEnd::Broken(format!("{error:#}"))))?;
        self.subject = Some(incarnation);
        self.disturbed_at = self.cluster.now();
        self.arm_next();
        Ok(())
    }

    async fn launch(&mut self) -> anyhow::Result<Incarnation> {
        let number = self.started;
        self.started += 1;
        let (actor, recorder) = (Actor::Subject(REPLICA), self.recorder.clone());
        let (command, started) = self.start_program(&Program {
            command: &self.setup.command,
            env: &self.setup.campaign.file.spec.subject.env,
            token: &self.setup.token,
            folder: &self.folder,
            account: Some(client_files::write_service_account(&self.folder, self.setup)?),
        })?;
        self.following.subject(Some(started.process.reader()));
        let what = ProcessHappening::Started { command, pid: started.process.pid() as i32 };
        recorder.record(process_event(number, what));
        if let Some(hooks) = &self.hooks {
            hooks.lead_to(Some(started.dialer));
        }
        let client = proxy::Client {
            actor,
            incarnation: number,
            tls: self.setup.certificates.server.clone(),
        };
        let serving = self.proxy.serve(started.listener, client)?;
        let log = self.folder.join(format!("subject-{number}.log"));
        let following = self.following.clone();
        let output = Output::read(started.output, &log, move |text| {
            following.catch_up();
            recorder.record(process_event(number, ProcessHappening::Line { text }));
        })?;
        Ok(Incarnation { process: started.process, serving, number, output })
    }

    /// Starts a program at the world's time, in surroundings of its own where the machine allows it. Also gives its
    /// command line as it was started.
    pub(super) fn start_program(
        &self,
        program: &Program<'_>,
    ) -> anyhow::Result<(Vec<String>, subject::Started)> {
        let home = program.folder.join("home");
        std::fs::create_dir_all(&home)?;
        let outside = match self.setup.isolation {
            subject::Isolation::Namespaces => None,
            subject::Isolation::None => Some(std::net::TcpListener::bind("127.0.0.1:0")?),
        };
        let port = match &outside {
            Some(listener) => listener.local_addr()?.port(),
            None => PORT,
        };
        let kubeconfig = program.folder.join("kubeconfig");
        client_files::write(&kubeconfig, port, self.setup, program.token)?;
        let ahead = self.cluster.now().0 - client_files::real_now().0;
        let namespaces = self.setup.isolation == subject::Isolation::Namespaces;
        let launch = subject::Launch {
            command: substitute(program.command, &kubeconfig, port),
            dir: self.setup.campaign.folder.clone(),
            env: environment(self.setup, program.env, &home, &kubeconfig, port),
            isolation: self.setup.isolation,
            clock: match self.setup.clock {
                ClockMode::Virtual => subject::Pace::Virtual { ahead },
                ClockMode::Real => subject::Pace::Real { ahead },
                ClockMode::Untouched => subject::Pace::Untouched,
            },
            port: PORT,
            service_account: program.account.clone().filter(|_| namespaces),
            determinism: determinism(self.setup),
        };
        let started = subject::start_at(&launch, outside)?;
        if self.setup.clock != ClockMode::Untouched
            && let subject::ClockAbility::Real(why) = started.process.clock()
        {
            anyhow::bail!("the clock of {} could not be set: {why}", launch.command[0]);
        }
        Ok((launch.command, started))
    }

    /// Ends the subject, if it runs. `silently` at the end of a trial: no event of the history.
    pub(super) async fn kill_subject(&mut self, silently: bool) -> Going<()> {
        let Some(mut incarnation) = self.subject.take() else { return Ok(()) };
        self.subject_cpu += cpu_time::of_process(incarnation.process.pid());
        let process = &incarnation.process;
        for text in not_seen_through(process.clock(), process.blind_spots()) {
            self.recorder.record(Event::Note { text });
        }
        incarnation.process.kill();
        // Its successor begins where its clock stood.
        self.following.catch_up();
        self.following.subject(None);
        if let Some(hooks) = &self.hooks {
            hooks.lead_to(None);
        }
        if !silently {
            self.recorder.record(process_event(incarnation.number, ProcessHappening::Killed));
        }
        incarnation.serving.close();
        incarnation.output.end().await;
        Ok(())
    }

    /// The subject ended by itself: as a kubelet would, start it again, but not for ever.
    pub(super) async fn subject_exited(&mut self, exit: subject::Exit) -> Going<()> {
        let number = self.subject.as_ref().map_or(0, |incarnation| incarnation.number);
        self.kill_subject(true).await?;
        let what = match exit {
            subject::Exit::Code(code) => {
                ProcessHappening::Exited { code: Some(code), signal: None }
            }
            subject::Exit::Signal(signal) => {
                ProcessHappening::Exited { code: None, signal: Some(signal) }
            }
        };
        self.recorder.record(process_event(number, what));
        self.exits += 1;
        let undisturbed = self.carried_out == 0;
        if self.exits >= EXITS_ALLOWED || undisturbed {
            let tail = output::tail(&self.folder.join(format!("subject-{number}.log")));
            return Err(Stop(RunEnd::SubjectGone(format!(
                "the controller ended by itself ({exit}){tail}"
            ))));
        }
        self.start_subject().await
    }
}

/// What of a subject can't be followed from outside, as notes.
fn not_seen_through(
    clock: subject::ClockAbility,
    spots: BTreeSet<String>,
) -> impl Iterator<Item = String> {
    let programs = match clock {
        subject::ClockAbility::FirstProgram(why) => {
            Some(format!("programs that the controller starts live in real time: {why}"))
        }
        _ => None,
    };
    programs.into_iter().chain(spots).map(|spot| format!("{NOT_SEEN_THROUGH}: {spot}"))
}

fn process_event(incarnation: u32, what: ProcessHappening) -> Event {
    Event::Process(ProcessEvent { actor: Actor::Subject(REPLICA), incarnation, what })
}

/// The command line with its placeholders filled in.
pub(crate) fn substitute(command: &[String], kubeconfig: &Path, port: u16) -> Vec<String> {
    let fill = |word: &String| {
        word.replace("{kubeconfig}", &kubeconfig.display().to_string())
            .replace("{port}", &port.to_string())
    };
    command.iter().map(fill).collect()
}

fn determinism(setup: &crate::campaign::setup::Setup) -> subject::Determinism {
    let spec = setup.campaign.file.spec.subject.determinism;
    subject::Determinism {
        // One is the trial's own: the only one that the starting thread may use.
        processors: Some(spec.processors),
        fixed_addresses: spec.addresses == Dice::Fixed,
    }
}

/// A small fixed environment, so that a trial does not depend on the shell that started Trommel.
pub(crate) fn environment(
    setup: &crate::campaign::setup::Setup,
    more: &BTreeMap<String, String>,
    home: &Path,
    kubeconfig: &Path,
    port: u16,
) -> Vec<(String, String)> {
    let mut env = vec![
        ("PATH".to_owned(), setup.path_variable.clone()),
        ("HOME".to_owned(), home.display().to_string()),
        ("KUBECONFIG".to_owned(), kubeconfig.display().to_string()),
        ("KUBERNETES_SERVICE_HOST".to_owned(), "127.0.0.1".to_owned()),
        ("KUBERNETES_SERVICE_PORT".to_owned(), port.to_string()),
    ];
    let spec = setup.campaign.file.spec.subject.determinism;
    if spec.hash_seeds == Dice::Fixed {
        env.push(("PYTHONHASHSEED".to_owned(), "0".to_owned()));
    }
    for (name, value) in more {
        env.retain(|(known, _)| known != name);
        let value = value
            .replace("{kubeconfig}", &kubeconfig.display().to_string())
            .replace("{port}", &port.to_string());
        env.push((name.clone(), value));
    }
    env
}

#[cfg(test)]
mod tests {
    use subject::ClockAbility::{FirstProgram, Virtual};

    use super::*;

    /// The report's sentence claims less when there is a note that begins like this.
    #[test]
    fn what_is_not_seen_through_is_said_in_one_way() {
        let check = |clock, spots: &[&str], expect: &[&str]| {
            let spots = spots.iter().map(|spot| (*spot).to_owned()).collect();
            let notes: Vec<String> = not_seen_through(clock, spots).collect();
            assert_eq!(notes, expect);
        };
        check(Virtual, &[], &[]);
        check(Virtual, &["a timer"], &["not seen through: a timer"]);
        let programs =
            "not seen through: programs that the controller starts live in real time: no vDSO";
        check(FirstProgram("no vDSO".into()), &["a"], &[programs, "not seen through: a"]);
    }
}
