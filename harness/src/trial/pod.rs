//! A start of a replica that is a pod: the kubelet starts its container, the trial looks at its first process.

use std::path::Path;

use trace::{Event, ProcessHappening};

use super::{
    Trial,
    incarnation::{Incarnation, Launched, actor, process_event},
    output::Output,
};
use crate::providers::pods::Start;

impl Trial<'_> {
    /// Starts a replica's container. None of its connections is served before its process can be looked at.
    pub(super) async fn launch_pod(
        &mut self,
        replica: usize,
        number: u32,
    ) -> anyhow::Result<Launched> {
        let running = self.cluster.pods().expect("the subject runs in pods");
        let pods = running.pods().clone();
        let began = |pod: &str, pid: i32| {
            let command = vec![format!("pod {pod}")];
            process_event(replica, number, ProcessHappening::Started { command, pid })
        };
        let started = match running.start(replica).await? {
            Start::Runs(started) => started,
            Start::Ended { pod, code } => {
                self.recorder.record(began(&pod, 0));
                return Ok(Launched::Ended(code));
            }
        };
        let process = match subject::attach(started.process, pods.service) {
            Ok(process) => process,
            // It ended while it was looked at.
            Err(_) if !Path::new(&format!("/proc/{}", started.process)).exists() => {
                let code = running.code(replica).await?;
                self.recorder.record(began(&started.pod, started.process));
                return Ok(Launched::Ended(code));
            }
            Err(error) => return Err(error.into()),
        };
        if started.replaces {
            let text = format!(
                "replica {replica} is another pod: the kubelet would start a container that was killed twice only after ten \
                 seconds"
            );
            self.recorder.record(Event::Note { text });
        }
        self.recorder.record(began(&started.pod, started.process));
        let client = proxy::Client {
            actor: actor(replica),
            incarnation: number,
            tls: Some(pods.tls.clone()),
        };
        let serving = self.proxy.serve_accepted(started.connections, pods.service, client);
        let log = self.folder.join(format!("subject-{number}.log"));
        let recorder = self.recorder.clone();
        let output = Output::follow(started.log, &log, move |text| {
            recorder.record(process_event(replica, number, ProcessHappening::Line { text }));
        })?;
        let dialer = None;
        let incarnation = Incarnation { process, serving, number, output, dialer };
        Ok(Launched::Runs(Box::new(incarnation)))
    }

    /// With what a replica ended that ended by itself, where only the kubelet knows.
    pub(super) async fn code_of_pod(&mut self, replica: usize) -> Option<i32> {
        let pods = self.cluster.pods()?;
        pods.code(replica).await.ok().flatten()
    }

    /// The kubelet starts none of the subject's containers any more.
    pub(super) async fn stop_pods(&mut self) {
        let Some(pods) = self.cluster.pods() else { return };
        if let Err(error) = pods.stop().await {
            tracing::warn!("the subject's pods were not deleted: {error:#}");
        }
    }
}
