//! Whether a cluster may give what a run's clients were given: of every answer and every watch event.
//!
//! The cluster is taken for a highly available API server over one store: any of its instances may serve, each with watch
//! caches that lag by as much as they like, and any connection may end. What such a server may say depends on what was
//! asked and on what the client was told before, never on what was planned (kubernetes-api.md §8). So this looks at
//! requests, answers, deliveries and the store's log, and at nothing else: it shares no code with what makes perturbations,
//! and knows of none. What it objects to is a fault of Trommel, not of the controller.
//!
//! What it can't see, it counts ([`Checked::unseen`]).

mod answers;
mod content;
mod definition;
mod effects;
mod fields;
mod kept;
mod lists;
mod meant;
mod patch;
mod refusals;
mod selector;
mod store;
mod streams;
mod writes;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
};

use trace::{
    Answer, Call, CallId, Delivery, DeliveryKind, Event, GroupResource, History, ObjectKey,
    Revision, Verb, Webhook, WebhookOutcome,
};

pub use self::store::{Logged, Store};
use self::{
    lists::{Page, Token},
    selector::Scope,
    streams::Stream,
};

/// A rule that was broken; each with where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// A read without a revision shows the present state, the client's own writes included (API concepts, *most recent*;
    /// KEP-2340).
    ConsistentRead,
    /// A read at a revision shows a state that is not older, or exactly that one (API concepts, `resourceVersionMatch`).
    AskedRevision,
    /// A list is one state of the store at its `metadata.resourceVersion`, each object once, in etcd's order (API concepts;
    /// KEP-4988 for pages).
    Snapshot,
    /// A read shows an object as it was stored at some time (the store is the only source).
    Content,
    /// A watch shows each event after its beginning once, in order, with none left out (API concepts, *efficient detection
    /// of changes*).
    StreamOrder,
    /// A bookmark names no revision beyond what the watch has shown, and none before it (KEP-956).
    Bookmark,
    /// The end of the initial events comes after all of them (KEP-3157).
    InitialEventsEnd,
    /// Nothing follows an error in a watch (API concepts, *410 Gone*).
    AfterError,
    /// A write that succeeds is in the store, on top of what its sender said it was (optimistic concurrency, API
    /// conventions).
    Write,
    /// A refusal has its reason in the store: a conflict a competing write, *not found* an absence, *already exists* an
    /// object, *expired* a revision that was asked for.
    Refusal,
    /// What is not the cluster's answer is one that it could have given to that request (kubernetes-api.md §8.1).
    Injected,
    /// Revisions grow, an object keeps its uid as long as it lives (KEP-5504).
    Log,
}

/// Which rule is broken, and how.
type Problem = (Rule, String);

/// Something that a cluster could not have said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Illegal {
    /// Which rule it breaks.
    pub rule: Rule,
    /// Position of the record.
    pub sequence: u64,
    /// What was said, and why that can't be.
    pub text: String,
}

impl fmt::Display for Illegal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at record {}: {}", self.rule, self.sequence, self.text)
    }
}

/// What was looked at, and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checked {
    /// In the order of the history.
    pub illegal: Vec<Illegal>,
    /// Answers and deliveries that were looked at.
    pub looked_at: u64,
    /// What could not be judged, with how often.
    pub unseen: BTreeMap<String, u64>,
}

/// Looks at every answer and delivery of a finished history, of servers of Kubernetes 1.`minor` with default gates.
pub fn check(history: &History, store: &Store, minor: u8) -> Checked {
    let mut look = Look::new(store, minor);
    look.checked.illegal.extend(store.broken());
    for record in &history.records {
        look.at = record.sequence;
        match &record.event {
            Event::Commit(commit) => look.now = look.now.max(commit.revision),
            Event::Call(call) if call.actor.is_subject() => look.called(call),
            Event::Answer(answer) => look.answered(answer),
            Event::Delivery(delivery) => look.delivered(delivery),
            Event::Webhook(webhook) => look.asked(webhook),
            _ => {}
        }
    }
    look.ends();
    look.checked
}

/// A request that was not answered yet, or a watch.
struct Open<'h> {
    call: &'h Call,
    /// The store's revision when the request was received.
    since: Revision,
    stream: Option<Stream>,
}

/// What is known at a point of the history.
struct Look<'h> {
    store: &'h Store,
    /// The servers are of Kubernetes 1.`minor`.
    minor: u8,
    /// The record looked at.
    at: u64,
    /// The store's revision.
    now: Revision,
    open: HashMap<CallId, Open<'h>>,
    /// Where lists go on, by the token that was given.
    pages: HashMap<Token, Page>,
    /// What was answered to have been created.
    created: HashSet<(ObjectKey, Revision)>,
    /// Subresources that were answered.
    served: HashSet<Endpoint>,
    /// Calls about which webhooks were asked.
    hooked: HashSet<CallId>,
    /// Those to which a webhook may have done something.
    changed: HashSet<CallId>,
    checked: Checked,
}

impl<'h> Look<'h> {
    fn new(store: &'h Store, minor: u8) -> Look<'h> {
        Look {
            store,
            minor,
            at: 0,
            now: store.begins(),
            open: HashMap::new(),
            pages: HashMap::new(),
            created: HashSet::new(),
            served: HashSet::new(),
            hooked: HashSet::new(),
            changed: HashSet::new(),
            checked: Checked::default(),
        }
    }

    fn called(&mut self, call: &'h Call) {
        let stream = (call.verb == Verb::Watch).then(|| Stream::new(Scope::of(call)));
        self.open.insert(call.id, Open { call, since: self.now, stream });
    }

    /// A webhook was asked.
    fn asked(&mut self, webhook: &Webhook) {
        self.hooked.extend(webhook.call);
        if webhook.outcome != (WebhookOutcome::Allowed { patched: false }) {
            self.changed.extend(webhook.call);
        }
    }

    fn answered(&mut self, answer: &Answer) {
        let Some(open) = self.open.remove(&answer.call) else { return };
        self.checked.looked_at += 1;
        let (call, since) = (open.call, open.since);
        if let Some(stream) = open.stream {
            // It is recorded when it ends; what it showed was looked at as it came.
            if answer.injected {
                self.injected(call, since, answer);
            } else if answer.status >= 400 {
                self.refused(call, since, answer);
            } else if let Some(problem) = stream.ends(self.store, since, self.now) {
                self.object(problem.0, problem.1);
            }
            return;
        }
        if answer.injected {
            return self.injected(call, since, answer);
        }
        if answer.succeeded() && !call.subresource.is_empty() {
            self.served.insert(endpoint(call));
        }
        match call.verb {
            Verb::Get if call.subresource.is_empty() && answer.status == 404 => {
                self.got(call, since, answer);
            }
            Verb::List if answer.status == 410 => {
                self.expired(call, answer);
                self.refused(call, since, answer);
            }
            _ if answer.status >= 400 => self.refused(call, since, answer),
            _ if !call.subresource.is_empty() && !call.verb.is_write() => {
                self.unseen("reads of subresources");
            }
            Verb::List => self.listed(call, since, answer),
            Verb::Get => self.got(call, since, answer),
            verb if verb.is_write() => self.wrote(call, since, answer),
            _ => {}
        }
    }

    fn delivered(&mut self, delivery: &Delivery) {
        self.checked.looked_at += 1;
        let Some(open) = self.open.get_mut(&delivery.watch) else { return };
        let Some(stream) = &mut open.stream else { return };
        if delivery.kind == DeliveryKind::Error {
            // Which errors may come, the answer says.
            stream.fails();
            return;
        }
        if let Some((rule, text)) = stream.shows(self.store, delivery, self.now) {
            self.object(rule, text);
        }
    }

    /// Watches that were open at the end.
    fn ends(&mut self) {
        let open = std::mem::take(&mut self.open);
        for (_, Open { since, stream, .. }) in open {
            let problem = stream.and_then(|stream| stream.ends(self.store, since, self.now));
            if let Some((rule, text)) = problem {
                self.object(rule, text);
            }
        }
    }

    fn object(&mut self, rule: Rule, text: String) {
        self.checked.illegal.push(Illegal { rule, sequence: self.at, text });
    }

    fn unseen(&mut self, what: &str) {
        *self.checked.unseen.entry(what.to_owned()).or_default() += 1;
    }
}

/// A type in a version, and a subresource.
type Endpoint = (Option<GroupResource>, String, String);

fn endpoint(call: &Call) -> Endpoint {
    (call.resource.clone(), call.version.clone(), call.subresource.clone())
}

/// `list of pods in default with resourceVersion=0`.
fn said(call: &Call) -> String {
    format!("{} {}", call.method, call.uri)
}

#[cfg(test)]
mod tests;
