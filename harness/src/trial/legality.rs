//! The gate of legality: looks at each trial on a fork when it is over. What it objects to is a fault of Trommel, and such
//! a trial proves nothing about the controller.

use oracles::legality::{self, Logged, Store};

use super::{RunEnd, TrialRun};
use crate::campaign::setup::Setup;

/// How what is broken begins.
pub const NOT_LEGAL: &str =
    "Trommel showed the controller what no cluster shows; please report this";

/// Ends the run as broken if a client was told what no cluster could have said.
pub(super) fn look_at(setup: &Setup, run: &mut TrialRun) {
    let (Some(server), Some(first)) = (&run.server, setup.ground.world()) else { return };
    let since = first.revision();
    let objects = first.objects().map(|(key, object)| (key.clone(), object.clone()));
    let world = server.world();
    let log = world.all_changes_after(since).into_iter().map(|logged| Logged {
        revision: logged.revision,
        change: logged.change,
        key: logged.key.clone(),
        object: logged.object.clone(),
    });
    let store = Store::new(since, objects, log.collect(), run.started_at.revision);
    let checked = legality::check(&run.history, &store, first.release().minor());
    tracing::trace!(looked_at = checked.looked_at, unseen = ?checked.unseen, "legality");
    if let Some(first) = checked.illegal.first() {
        for illegal in &checked.illegal {
            tracing::error!("{NOT_LEGAL}: {illegal}; plan: {}", run.spec.plan);
        }
        let more = checked.illegal.len() - 1;
        run.end = RunEnd::Broken(format!("{NOT_LEGAL}: {first} (and {more} more)"));
    }
}
