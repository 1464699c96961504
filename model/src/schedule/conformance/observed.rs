//! What of a recorded run can be an action of a model.

use std::collections::BTreeMap;

use trace::{
    Answer, Body, Call, CallId, Change, DeliveryKind, Event, Fate, History, ObjectKey, Revision,
    StepState, Verb,
};

use crate::Binding;

/// Something that happened.
#[derive(Debug, PartialEq)]
pub(super) enum Seen<'h> {
    /// The controller asked for a write, and it is so.
    Request {
        call: &'h Call,
        /// The store's revisions before and after.
        before: Revision,
        after: Revision,
    },
    /// The controller was told of a change.
    Change { change: Change, key: ObjectKey },
    /// The controller was killed.
    Crash,
    /// A write of this step of the workload was done.
    User(u32),
    /// Nothing happens any more by itself, at this revision.
    Rest(Revision),
}

impl Seen<'_> {
    /// The revision at which a trace that has ended can be looked at: what it says nothing of begins behind it.
    pub fn ends(&self, binding: &Binding) -> Option<Revision> {
        match self {
            Seen::Rest(revision) => Some(*revision),
            Seen::Request { call, before, .. } if !binding.is_free(call) => Some(*before),
            _ => None,
        }
    }
}

/// What happened, in order.
pub(super) fn observed(history: &History) -> Vec<Seen<'_>> {
    let mut observer = Observer::new(history);
    for record in &history.records {
        observer.look(&record.event);
    }
    observer.seen
}

struct Observer<'h> {
    history: &'h History,
    /// Writes of the controller without an outcome.
    pending: BTreeMap<CallId, &'h Call>,
    watches: BTreeMap<CallId, &'h Call>,
    /// The newest that was recorded.
    newest: Revision,
    seen: Vec<Seen<'h>>,
}

impl<'h> Observer<'h> {
    fn new(history: &'h History) -> Observer<'h> {
        let (pending, watches) = Default::default();
        Observer { history, pending, watches, newest: Revision(0), seen: vec![] }
    }

    fn look(&mut self, event: &'h Event) {
        match event {
            Event::Call(call) if call.actor.is_subject() => {
                if call.verb == Verb::Watch {
                    self.watches.insert(call.id, call);
                } else if call.is_write() {
                    self.pending.insert(call.id, call);
                }
            }
            Event::Commit(commit) => {
                let call = commit.call.and_then(|call| self.pending.remove(&call));
                if let Some(call) = call {
                    self.request(call, commit.revision);
                }
                self.newest = self.newest.max(commit.revision);
            }
            Event::Answer(answer) => {
                let call = self.pending.remove(&answer.call);
                if let Some(call) = call.filter(|call| is_so(call, answer)) {
                    self.request(call, answer.revision.unwrap_or(self.newest));
                }
            }
            Event::Delivery(delivery) => {
                let Some(watch) = self.watches.get(&delivery.watch) else { return };
                let change = match delivery.kind {
                    DeliveryKind::Added => Change::Created,
                    DeliveryKind::Modified => Change::Updated,
                    DeliveryKind::Deleted => Change::Deleted,
                    _ => return,
                };
                let Some(resource) = &watch.resource else { return };
                let name = &delivery.object_name;
                let (namespace, name) = name.split_once('/').unwrap_or(("", name));
                let key = ObjectKey::new(resource.clone(), namespace, name);
                self.seen.push(Seen::Change { change, key });
            }
            Event::Perturbed { .. } => {
                // One that was carried out, and whose sender never heard.
                for call in std::mem::take(&mut self.pending).into_values() {
                    if let Some(revision) = self.carried_out(call.id) {
                        self.request(call, revision);
                    }
                }
                self.seen.push(Seen::Crash);
            }
            Event::Settled(settled) => self.seen.push(Seen::Rest(settled.revision)),
            Event::Step(step) if step.state == StepState::Done => {
                self.seen.extend(number(&step.title).map(Seen::User));
            }
            _ => {}
        }
    }

    /// The revision that a call made whose sender died.
    fn carried_out(&self, call: CallId) -> Option<Revision> {
        let committed = self.history.commits().find(|commit| commit.call == Some(call));
        let lost = || {
            self.history.records.iter().find_map(|record| match &record.event {
                Event::Answer(answer) if answer.call == call && answer.fate == Fate::Lost => {
                    answer.revision.filter(|_| answer.succeeded())
                }
                _ => None,
            })
        };
        committed.map(|commit| commit.revision).or_else(lost)
    }

    fn request(&mut self, call: &'h Call, revision: Revision) {
        let of_call = self.history.commits().filter(|commit| commit.call == Some(call.id));
        let (mut first, mut last) = (None, None);
        for commit in of_call {
            first.get_or_insert(commit.revision);
            last = Some(commit.revision);
        }
        // What changed nothing has the same world before and after.
        let before = first.map_or(revision, |first| Revision(first.0.saturating_sub(1)));
        self.seen.push(Seen::Request { call, before, after: last.unwrap_or(revision) });
    }
}

/// Whether the cluster is as the call wanted it: done now, or done before.
fn is_so(call: &Call, answer: &Answer) -> bool {
    let reason = match &answer.body {
        Body::Json(body) => body["reason"].as_str().unwrap_or_default(),
        _ => "",
    };
    answer.succeeded()
        || (answer.status == 409 && reason == "AlreadyExists")
        || (answer.status == 404 && call.verb == Verb::Delete)
}

/// The number of a step: 3 of `step 3 "turned on": apply …`.
fn number(title: &str) -> Option<u32> {
    let rest = title.strip_prefix("step ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// A call as a person reads it.
pub(super) fn told(call: &Call) -> String {
    let resource = call.resource.as_ref().map(ToString::to_string).unwrap_or_default();
    let place = [&*call.namespace, &*call.name].into_iter().filter(|part| !part.is_empty());
    let place: Vec<&str> = [&*resource].into_iter().chain(place).collect();
    let of = match &*call.subresource {
        "" => String::new(),
        subresource => format!(" ({subresource})"),
    };
    format!("{} of {}{of}", call.verb, place.join("/"))
}
