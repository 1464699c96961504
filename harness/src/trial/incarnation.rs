//! One start of a replica of the subject: its process, its listener, its output.
//!
//! One that ends by itself is started again, as a kubelet would; three times in a row ends the trial.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use trace::{Actor, Event, ProcessEvent, ProcessHappening};

use super::{
    Going, RunEnd, Stop, Trial,
    members::Member,
    output::{self, Output},
};
use crate::{
    campaign::{disk, setup::ClockMode},
    config::Dice,
    providers::client_files,
    trial::cpu_time,
};

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
    /// Which replica of the subject it is, for `{replica}`; none: it is none.
    pub replica: Option<usize>,
}

/// A running start of a replica of the subject.
pub(super) struct Incarnation {
    pub process: subject::Process,
    pub serving: proxy::Serving,
    /// Counted over all replicas.
    pub number: u32,
    pub output: Output,
    /// Calls its webhooks, where Trommel is who calls them.
    pub dialer: Option<subject::Dialer>,
}

impl Trial<'_> {
    /// Starts what of the subject does not run, on the world as it is now: the first replica at once, others when all is
    /// quiet.
    pub(super) async fn start_subject(&mut self) -> Going<()> {
        if let Some((perturbation, behind)) = self.meets.take() {
            self.meet(&perturbation, behind)?;
        }
        self.members.complete();
        self.start_next_replica().await?;
        self.arm_next();
        Ok(())
    }

    /// Starts the next replica that is to be started; whether there was one.
    pub(super) async fn start_next_replica(&mut self) -> Going<bool> {
        let Some(replica) = self.members.next_to_start() else { return Ok(false) };
        let incarnation = loop {
            let launched = self.launch(replica).await.map_err(|error| {
                disk::noted(&self.folder, &error);
                Stop(RunEnd::Broken(format!("{error:#}")))
            })?;
            match launched {
                Launched::Runs(incarnation) => break *incarnation,
                Launched::Ended(code) => {
                    let number = self.started - 1;
                    let how = ProcessHappening::Exited { code, signal: None };
                    self.recorder.record(process_event(replica, number, how));
                    self.ended_by_itself(number, exit_of(code))?;
                }
            }
        };
        self.members.started(replica, incarnation);
        self.disturbed_at = self.cluster.now();
        Ok(true)
    }

    async fn launch(&mut self, replica: usize) -> anyhow::Result<Launched> {
        let number = self.started;
        self.started += 1;
        self.note_start(number);
        match self.cluster.pods() {
            Some(_) => self.launch_pod(replica, number).await,
            None => self.launch_process(replica, number).map(|one| Launched::Runs(Box::new(one))),
        }
    }

    fn launch_process(&mut self, replica: usize, number: u32) -> anyhow::Result<Incarnation> {
        let recorder = self.recorder.clone();
        let folder = match replica {
            0 => self.folder.clone(),
            _ => self.folder.join(format!("replica-{replica}")),
        };
        let (command, started) = self.start_program(&Program {
            command: &self.setup.command,
            env: &self.setup.campaign.file.spec.subject.env,
            token: &self.setup.token,
            folder: &folder,
            account: Some(client_files::write_service_account(&folder, self.setup)?),
            replica: Some(replica),
        })?;
        self.following.started(Member::Replica(replica), started.process.reader());
        let what = ProcessHappening::Started { command, pid: started.process.pid() as i32 };
        recorder.record(process_event(replica, number, what));
        if let Some(hooks) = &self.hooks {
            hooks.lead_to(Some(started.dialer.clone()));
        }
        let client = proxy::Client {
            actor: actor(replica),
            incarnation: number,
            tls: self.setup.certificates.server.clone(),
        };
        let serving = self.proxy.serve(started.listener, client)?;
        let log = self.folder.join(format!("subject-{number}.log"));
        let following = self.following.clone();
        let output = Output::read(started.output, &log, move |text| {
            following.catch_up();
            recorder.record(process_event(replica, number, ProcessHappening::Line { text }));
        })?;
        let (process, dialer) = (started.process, Some(started.dialer));
        Ok(Incarnation { process, serving, number, output, dialer })
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
        let placeholders =
            Placeholders { kubeconfig: &kubeconfig, port, replica: program.replica.unwrap_or(0) };
        let ahead = self.cluster.now().0 - client_files::real_now().0;
        let namespaces = self.setup.isolation == subject::Isolation::Namespaces;
        let launch = subject::Launch {
            command: substitute(program.command, &placeholders),
            dir: self.setup.campaign.folder.clone(),
            env: environment(self.setup, program.env, &home, &placeholders),
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

    /// Kills what of the subject runs.
    pub(super) async fn kill_subject(&mut self) {
        for replica in 0..self.members.replicas() {
            self.end_replica(replica, Some(ProcessHappening::Killed)).await;
        }
    }

    /// Kills one replica. One that does not run is no replica that could be killed.
    pub(super) async fn kill_replica(&mut self, replica: usize) -> Going<()> {
        if self.members.replica(replica).is_none() {
            let why = format!("replica {replica} was not running when it was to be killed");
            return Err(Stop(RunEnd::NeverFired(why)));
        }
        self.end_replica(replica, Some(ProcessHappening::Killed)).await;
        Ok(())
    }

    /// Ends what of the subject runs: the end of a trial is no event of its history.
    pub(super) async fn end_subject(&mut self) {
        for replica in 0..self.members.replicas() {
            self.end_replica(replica, None).await;
        }
    }

    /// Ends a replica, if it runs; how, for the history.
    async fn end_replica(&mut self, replica: usize, how: Option<ProcessHappening>) {
        let Some(mut incarnation) = self.members.take(replica) else { return };
        self.subject_cpu += cpu_time::of_process(incarnation.process.pid());
        let process = &incarnation.process;
        for text in not_seen_through(process.clock(), process.blind_spots()) {
            self.recorder.record(Event::Note { text });
        }
        incarnation.process.kill();
        if let (Some(_), Some(pods)) = (&how, self.cluster.pods())
            && let Err(error) = pods.hold(replica)
        {
            let text = format!("the pod of replica {replica} can't be frozen: {error}");
            self.recorder.record(Event::Note { text });
        }
        // Its successor begins where its clock stood.
        self.following.catch_up();
        self.following.ended(Member::Replica(replica));
        if let Some(hooks) = &self.hooks {
            let other = self.members.running().next();
            hooks.lead_to(other.and_then(|other| other.dialer.clone()));
        }
        if let Some(what) = how.clone() {
            self.recorder.record(process_event(replica, incarnation.number, what));
        }
        incarnation.serving.close();
        incarnation.output.end().await;
        if how.is_some() {
            self.release_leases(replica).await;
        }
    }

    /// A replica ended by itself: as a kubelet would, start it again, but not for ever.
    pub(super) async fn subject_exited(
        &mut self,
        replica: usize,
        exit: subject::Exit,
    ) -> Going<()> {
        let number = self.members.replica(replica).map_or(0, |incarnation| incarnation.number);
        let exit = match exit {
            subject::Exit::Unknown => exit_of(self.code_of_pod(replica).await),
            known => known,
        };
        let how = match exit {
            subject::Exit::Code(code) => {
                ProcessHappening::Exited { code: Some(code), signal: None }
            }
            subject::Exit::Signal(signal) => {
                ProcessHappening::Exited { code: None, signal: Some(signal) }
            }
            subject::Exit::Unknown => ProcessHappening::Exited { code: None, signal: None },
        };
        self.end_replica(replica, Some(how)).await;
        self.ended_by_itself(number, exit)?;
        self.start_subject().await
    }

    /// Counts an end by itself; too many of them end the trial.
    fn ended_by_itself(&mut self, number: u32, exit: subject::Exit) -> Going<()> {
        self.exits += 1;
        let undisturbed = self.carried_out == 0;
        if self.exits >= EXITS_ALLOWED || undisturbed {
            let said = output::excerpt(&self.folder.join(format!("subject-{number}.log")));
            return Err(Stop(RunEnd::SubjectGone(format!(
                "the controller ended by itself ({exit}){said}"
            ))));
        }
        Ok(())
    }
}

/// What a start came to.
pub(super) enum Launched {
    /// It runs.
    Runs(Box<Incarnation>),
    /// It ended by itself at once, with this code as far as somebody knows it.
    Ended(Option<i32>),
}

fn exit_of(code: Option<i32>) -> subject::Exit {
    code.map_or(subject::Exit::Unknown, subject::Exit::Code)
}

pub(super) fn actor(replica: usize) -> Actor {
    Actor::Subject(replica as u32)
}

pub(super) fn process_event(replica: usize, incarnation: u32, what: ProcessHappening) -> Event {
    Event::Process(ProcessEvent { actor: actor(replica), incarnation, what })
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

/// What stands for itself in command lines and environments.
pub(crate) struct Placeholders<'a> {
    /// `{kubeconfig}`.
    pub kubeconfig: &'a Path,
    /// `{port}`: of the API server.
    pub port: u16,
    /// `{replica}`: from 0.
    pub replica: usize,
}

impl Placeholders<'_> {
    fn fill(&self, text: &str) -> String {
        text.replace("{kubeconfig}", &self.kubeconfig.display().to_string())
            .replace("{port}", &self.port.to_string())
            .replace("{replica}", &self.replica.to_string())
    }
}

/// The command line with its placeholders filled in.
pub(crate) fn substitute(command: &[String], placeholders: &Placeholders<'_>) -> Vec<String> {
    command.iter().map(|word| placeholders.fill(word)).collect()
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
    placeholders: &Placeholders<'_>,
) -> Vec<(String, String)> {
    let Placeholders { kubeconfig, port, .. } = placeholders;
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
        env.push((name.clone(), placeholders.fill(value)));
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
