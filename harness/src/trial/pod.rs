//! A start of a replica that is a pod: the kubelet starts its container, the trial looks at its first process.

use trace::{Event, ProcessHappening};

use super::{
    Trial,
    incarnation::{Incarnation, actor, process_event},
    output::Output,
};

impl Trial<'_> {
    /// Starts a replica's container. None of its connections is served before its process can be looked at.
    pub(super) async fn launch_pod(
        &mut self,
        replica: usize,
        number: u32,
    ) -> anyhow::Result<Incarnation> {
        let running = self.cluster.pods().expect("the subject runs in pods");
        let pods = running.pods().clone();
        let started = running.start(replica).await?;
        let process = subject::attach(started.process, pods.service)?;
        let what = ProcessHappening::Started {
            command: vec![format!("pod {}", started.pod)],
            pid: started.process,
        };
        if started.replaces {
            let text = format!(
                "replica {replica} is another pod: the kubelet would start a container that was killed twice only after ten \
                 seconds"
            );
            self.recorder.record(Event::Note { text });
        }
        self.recorder.record(process_event(replica, number, what));
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
        Ok(Incarnation { process, serving, number, output, dialer: None })
    }

    /// The kubelet starts none of the subject's containers any more.
    pub(super) async fn stop_pods(&mut self) {
        let Some(pods) = self.cluster.pods() else { return };
        if let Err(error) = pods.stop().await {
            tracing::warn!("the subject's pods were not deleted: {error:#}");
        }
    }
}
