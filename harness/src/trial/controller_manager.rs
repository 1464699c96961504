//! The real kube-controller-manager of `environment: kcm`, beside the subject.
//!
//! It runs as long as the trial, on the trial's clock, and waits are over when it is quiet too. A fork holds nothing of
//! its memory: where a trial takes up a world, it starts anew together with the subject, as if both had been restarted.
//! It has a proxy of its own that is not recorded: its writes are in the history, what it reads is not.
//!
//! A moment is quiet when both it and the subject are.

use std::sync::Arc;

use plans::Moment;
use subject::Watched;
use trace::{Actor, Flight, Recorder};

use super::{
    Going, RunEnd, Stop, Trial,
    incarnation::Program,
    members::Member,
    output::{self, Output},
};

/// Its name as an actor; as a program, that of its writes' managed fields.
pub(super) const NAME: &str = "kube-controller-manager";

/// What it needs in order to work here. Nobody attaches volumes to the nodes of the embedded cluster, and nobody waits
/// for it; its nodes send no heartbeats.
const FLAGS: [&str; 8] = [
    "--kubeconfig={kubeconfig}",
    "--leader-elect=false",
    "--use-service-account-credentials=false",
    "--secure-port=0",
    "--kube-api-qps=1000",
    "--kube-api-burst=1000",
    "--controllers=*,-persistentvolume-attach-detach-controller",
    "--node-monitor-grace-period=87600h",
];

/// It, running.
pub(super) struct Manager {
    pub process: subject::Process,
    pub proxy: proxy::Proxy,
    serving: proxy::Serving,
    output: Output,
}

impl Manager {
    /// Whether a moment is a write of its.
    pub fn writes_at(moment: &Moment) -> bool {
        matches!(moment, Moment::Environment { write, .. } if write.by == NAME)
    }

    /// What is under way between it and us.
    pub fn flight(&self) -> Flight {
        flight(&self.proxy, &self.output)
    }

    /// It, to be waited for.
    pub fn watched(&mut self) -> Watched<'_> {
        let Manager { process, proxy, output, .. } = self;
        Watched::new(process, || flight(proxy, output))
    }
}

fn flight(proxy: &proxy::Proxy, output: &Output) -> Flight {
    let mut flight = proxy.flight();
    flight.unread_output = output.unread();
    flight
}

impl Trial<'_> {
    /// Starts it, if the campaign has one.
    pub(super) fn start_manager(&mut self) -> Going<()> {
        let Some(command) = &self.setup.manager else { return Ok(()) };
        let started = self.launch_manager(command);
        self.members.manager =
            Some(started.map_err(|error| Stop(RunEnd::Broken(format!("{error:#}"))))?);
        Ok(())
    }

    fn launch_manager(&self, command: &[String]) -> anyhow::Result<Manager> {
        let (program, given) = command.split_first().expect("a program");
        let mut command = vec![program.clone()];
        command.extend(FLAGS.map(str::to_owned));
        command.extend_from_slice(given);
        let (_, started) = self.start_program(&Program {
            command: &command,
            env: &Default::default(),
            token: &self.setup.admin_token,
            folder: &self.folder.join(NAME),
            account: None,
            replica: None,
        })?;
        let unrecorded = Recorder::new(Arc::new(Default::default), None);
        self.following.started(Member::Manager, started.process.reader());
        let upstream = self.following.before(self.cluster.upstream_for_subject());
        let proxy = proxy::Proxy::new(
            upstream,
            unrecorded,
            Arc::new(crate::providers::codec::ClusterCodec),
        );
        let client = proxy::Client {
            actor: Actor::Environment(NAME.into()),
            incarnation: 0,
            tls: self.setup.certificates.server.clone(),
        };
        let serving = proxy.serve(started.listener, client)?;
        let log = self.folder.join(format!("{NAME}.log"));
        let output = Output::read(started.output, &log, drop)?;
        Ok(Manager { process: started.process, proxy, serving, output })
    }

    /// It ended by itself: nothing about the subject.
    pub(super) fn manager_exited(&self, exit: &subject::Exit) -> Stop {
        let said = output::excerpt(&self.folder.join(format!("{NAME}.log")));
        Stop(RunEnd::Broken(format!("the kube-controller-manager ended by itself ({exit}){said}")))
    }

    /// Ends it, if it runs.
    pub(super) async fn end_manager(&mut self) {
        let Some(mut manager) = self.members.manager.take() else { return };
        manager.process.kill();
        self.following.ended(Member::Manager);
        manager.serving.close();
        manager.output.end().await;
    }
}
