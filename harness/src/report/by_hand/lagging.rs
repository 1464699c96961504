//! Steps for what a kill alone does not show: caches that are behind, and states that are never seen.

use plans::StaleRead;

use super::{ByHand, by_user};

/// What the restarted controller is to meet.
#[derive(Debug, Clone, Copy)]
pub struct Behind<'a> {
    /// `the cache of foos.example.com as of the first update of …`.
    pub caches: &'a str,
    /// How long they stay so: ` until after the user's next step`, or nothing.
    pub until: &'a str,
    /// Why it reads what they hold.
    pub read: StaleRead,
    /// Where that is legal.
    pub servers: &'a str,
}

/// What the controller is kept from seeing.
#[derive(Debug, Clone, Copy)]
pub struct Unseen<'a> {
    /// The first event that it does not see.
    pub from: &'a str,
    /// The last.
    pub until: &'a str,
    /// The user's steps from the one to the other.
    pub between: &'a [String],
    /// It lists anew after that; else it is told all at once.
    pub relist: bool,
}

/// How the controller comes to an API server that is behind. `killed` names who is started.
pub fn restart_behind(facts: &ByHand<'_>, behind: Behind<'_>, killed: &str) -> Vec<String> {
    let Behind { caches, until, read, servers } = behind;
    let mut steps = vec![
        format!("What follows is legal on: {servers}."),
        format!(
            "This takes a cluster with two API servers on one etcd (with one it can't be done by hand), of which the second \
             has {caches}: keep it from hearing of what comes after that, but let it read and write. A watch cache is fed by \
             a watch of etcd, so stop that stream alone, with a proxy between the two."
        ),
    ];
    let refused = "This makes client-go fall back to a list with `resourceVersion=0`.";
    match read {
        StaleRead::Listed | StaleRead::Watched | StaleRead::Streamed => {}
        StaleRead::AfterRefusal => steps.push(format!(
            "Give the second API server `--feature-gates=WatchList=false`, unless that is its default: it answers requests \
             with `sendInitialEvents=true` with 422. {refused}"
        )),
        StaleRead::AfterUnavailable => steps.push(format!(
            "Put a load balancer before the second API server that answers requests with `sendInitialEvents=true` with 503 \
             and without `Retry-After`, as one does that has no server at the moment. {refused}"
        )),
    }
    let second = match read {
        StaleRead::AfterUnavailable => "the load balancer",
        _ => "the second API server",
    };
    steps.extend([
        facts.runs.start_again_behind(killed, facts.restart, second),
        format!(
            "Wait for what it does about the old state{until}, then let the second API server catch up."
        ),
    ]);
    steps
}

/// How the controller is kept from seeing what lies between two events.
pub fn kept_from_seeing(facts: &ByHand<'_>, unseen: Unseen<'_>) -> Vec<String> {
    let Unseen { from, until, between, relist } = unseen;
    let (stop, go_on) = (facts.runs.signal("STOP"), facts.runs.signal("CONT"));
    let mut steps =
        vec![format!("Before {from} happens, stop the controller with {stop}: it sees nothing.")];
    steps.extend(between.iter().map(|step| by_user(step)));
    if relist {
        steps.push(format!(
            "After {until}, cut its watch (`ss --kill`, or restart the API server), and wait until the API server holds none \
             of these events any more: a watch that goes on from there is then answered with 410. etcd is compacted every 5 \
             minutes by default."
        ));
        steps.push(format!(
            "Let it go on with {go_on}: it lists, and what lay between never appears."
        ));
    } else {
        steps.push(format!(
            "After {until}, let it go on with {go_on}: what waited in its connection comes in one burst."
        ));
    }
    steps.push(
        "This shows the same only if the controller itself has nothing to do between the two: a stopped one writes nothing, \
         and loses its lease if that runs out. If it has, hold up its watch alone, with a proxy before the API server."
            .to_owned(),
    );
    steps
}

/// What is surer than two hands.
pub fn surer() -> String {
    "Surer: `trommel replay` of the replay file does it in front of any cluster. `--campaign` names a campaign whose \
     `cluster.kubeconfig` is yours."
        .to_owned()
}
