//! When a container that has ended is started again (`doBackOff` of `pkg/kubelet/kuberuntime`, and `Backoff` of
//! `client-go/util/flowcontrol`, Kubernetes 1.36): the first time at once, then after 10 s, 20 s and so on up to 5 min; at
//! once again after a run of more than twice the longest wait.
//!
//! Upstream's kubelet keeps the last wait in memory. Here it is read off the status: a container waited from the end
//! before (`lastState`) until it was started. Who could notice: where a kubelet was kept from acting for longer than the
//! wait, the next one is longer than upstream's. A kubelet that starts anew forgets nothing, as upstream's does.

use std::time::Duration;

use trace::Time;

use super::script::duration;
use crate::pod::Container;

/// `initialCrashLoopBackOff`; each further time doubles it.
const FIRST: Duration = Duration::from_secs(10);
/// `MaxContainerBackOff`.
const LONGEST: Duration = Duration::from_secs(300);

/// How long a container waits that ends now.
pub(super) fn wait(container: &Container, now: Time) -> Duration {
    let (Some(before), Some(started)) = (container.ended_before, container.started) else {
        return Duration::ZERO;
    };
    if now.since(started) > LONGEST * 2 {
        return Duration::ZERO;
    }
    let waited = started.since(before);
    let mut step = FIRST;
    while step <= waited && step < LONGEST {
        step = (step * 2).min(LONGEST);
    }
    step
}

/// How long a container still waits that has ended. One that is to run another image waits no more: the wait is kept by
/// the container's hash (`GetBackoffKey`).
pub(super) fn left(container: &Container, ended: Time, now: Time) -> Duration {
    match container.is_outdated {
        true => Duration::ZERO,
        false => told(container).saturating_sub(now.since(ended)),
    }
}

/// How long a container waits after its end, as its status says; not at all where it says nothing of the kind.
fn told(container: &Container) -> Duration {
    let message =
        container.waits.as_ref().and_then(|(_, message)| message.strip_prefix("back-off "));
    let wait = message.and_then(|message| message.split(' ').next());
    wait.and_then(duration).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn at(seconds: i64) -> Time {
        Time(seconds * 1_000_000_000)
    }

    #[test]
    fn at_once_then_longer_and_longer() {
        let check = |waited: i64, ran: i64, expect: u64| {
            let container = Container {
                ended_before: Some(at(1000)),
                started: Some(at(1000 + waited)),
                ..Container::default()
            };
            let wait = wait(&container, at(1000 + waited + ran));
            assert_eq!(wait, s(expect), "waited {waited} s, ran for {ran} s");
        };
        for (waited, expect) in [(0, 10), (1, 10), (10, 20), (20, 40), (40, 80), (80, 160)] {
            check(waited, 5, expect);
        }
        check(160, 5, 300);
        check(300, 5, 300);
        check(300, 600, 300);
        check(300, 601, 0);
        let first = Container { started: Some(at(0)), ..Container::default() };
        assert_eq!(wait(&first, at(5)), s(0));
    }

    #[test]
    fn the_status_says_how_long() {
        let check = |reason: &str, message: &str, expect: u64| {
            let waits = Some((reason.into(), message.into()));
            let container = Container { waits, ..Container::default() };
            assert_eq!(told(&container), s(expect), "{message}");
        };
        let text = "restarting failed container=c pod=p_default(uid)";
        check("CrashLoopBackOff", &format!("back-off 10s {text}"), 10);
        check("CrashLoopBackOff", &format!("back-off 2m40s {text}"), 160);
        check("CrashLoopBackOff", &format!("back-off 5m0s {text}"), 300);
        check("CreateContainerConfigError", "secret \"s\" not found", 0);
        assert_eq!(told(&Container::default()), s(0));
    }
}
