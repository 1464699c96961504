//! The write of a built-in controller after which the subject is to be killed, where nobody steps those controllers.
//!
//! Of a real cluster's own controllers it is known afterwards what they wrote. So that the subject has seen nothing of the
//! write when it dies, events of its type wait at the gate for the next quiet moment. There the writes so far are counted:
//! if the one is among them, the subject is killed, else what was counted goes on its way.

use plans::{Moment, moment::MomentCounter};
use proxy::Gate;
use trace::{Event, GroupResource, Recorder, Revision};

use super::held_deliveries::HeldDeliveries;

/// See the module's documentation.
pub(super) struct ObservedWrite {
    counter: MomentCounter,
    resource: GroupResource,
    recorder: Recorder,
    /// Records that were counted.
    seen: usize,
    /// The newest of the type's revisions among them.
    counted: Revision,
    held: HeldDeliveries,
}

impl ObservedWrite {
    /// Waits for it; none if the moment is no such write.
    pub fn await_at(moment: &Moment, gate: &Gate, recorder: &Recorder) -> Option<ObservedWrite> {
        let Moment::Environment { write, .. } = moment else { return None };
        let resource = write.resource.clone();
        let held = HeldDeliveries::of(resource.clone(), gate, |_| true);
        Some(ObservedWrite {
            counter: MomentCounter::new(moment.clone()),
            resource,
            recorder: recorder.clone(),
            seen: 0,
            counted: Revision(0),
            held,
        })
    }

    /// All is quiet: whether the write has come. It is the first among those that were not counted, or none.
    pub fn has_come(&mut self) -> bool {
        let ObservedWrite { counter, resource, seen, counted, .. } = self;
        self.recorder.with(|history| {
            while let Some(record) = history.records.get(*seen) {
                *seen += 1;
                let Event::Commit(commit) = &record.event else { continue };
                if counter.committed(commit) {
                    return true;
                }
                if commit.key.resource == *resource {
                    *counted = (*counted).max(commit.revision);
                }
            }
            false
        })
    }

    /// Lets those events go on that tell of what was counted. Whether there were any.
    pub fn lets_go(&self) -> bool {
        self.held.lets_go(|revision| revision <= self.counted)
    }
}
