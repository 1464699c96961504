//! What happened around the perturbation, told in one order from the recorded history.

mod waiting;

use std::collections::HashMap;

use serde_json::Value;
use trace::{
    Answer, Body, Call, CallId, Change, Delivery, DeliveryKind, Event, Fate, History, ProcessEvent,
    ProcessHappening, Record, StepEvent, StepState, Time, Verb, Webhook, WebhookOutcome,
};

use self::waiting::Waiting;
use super::{
    mask,
    model::{Entry, EntryKind},
};

/// Lines of a timeline before the perturbation, and after it. The history keeps all.
const BEFORE_MAX: usize = 60;
const AFTER_MAX: usize = 120;

/// Lines of a body that are drawn.
const DETAIL_LINES_MAX: usize = 120;

/// The entries around the first perturbation (or the first kill, or the end, if there is none).
///
/// Left out: discovery, bookmarks, and calls about Leases and Events with their answers. They say nothing about
/// the work. Time in which nothing else happens is one line.
pub fn around_perturbation(history: &History) -> Vec<Entry> {
    let entries = told(history, true);
    let of_kind = |kind| entries.iter().position(|entry: &Entry| entry.kind == kind);
    let first = of_kind(EntryKind::Perturbation).unwrap_or(entries.len());
    let from = first.saturating_sub(BEFORE_MAX);
    entries.into_iter().skip(from).take(BEFORE_MAX + AFTER_MAX).collect()
}

/// Every entry that tells something of the work.
pub fn all(history: &History) -> Vec<Entry> {
    told(history, false)
}

/// In order; runs of moves of the clock as one, if `folded`.
fn told(history: &History, folded: bool) -> Vec<Entry> {
    let calls: HashMap<CallId, &Call> = history.calls().map(|call| (call.id, call)).collect();
    let start = history.records.first().map_or(Time::default(), |record| record.at);
    let mut entries: Vec<Entry> = Vec::new();
    let mut waiting: Option<Waiting<'_>> = None;
    for record in &history.records {
        let moves = folded && matches!(record.event, Event::Clock { .. });
        let telling = is_telling(record, &calls);
        match &mut waiting {
            Some(waiting) if moves || !telling => waiting.go_on(record),
            None if moves => waiting = Waiting::begin(record),
            _ if telling => {
                entries.extend(waiting.take().map(|waiting| waiting.entry(start)));
                entries.push(entry(record, start, &calls));
            }
            _ => {}
        }
    }
    entries.extend(waiting.map(|waiting| waiting.entry(start)));
    mark_kills(&mut entries);
    entries
}

/// A kill and the record of the perturbation that it was are one thing for a reader: the mark stands where the
/// process died.
fn mark_kills(entries: &mut Vec<Entry>) {
    let mut killed: Option<usize> = None;
    let mut told = Vec::new();
    for index in 0..entries.len() {
        match entries[index].kind {
            EntryKind::Process if entries[index].text == KILLED => killed = Some(index),
            EntryKind::Perturbation => {
                if let Some(killed) = killed.take() {
                    entries[killed].kind = EntryKind::Perturbation;
                    entries[killed].text = entries[index].text.clone();
                    told.push(index);
                }
            }
            _ => {}
        }
    }
    for index in told.into_iter().rev() {
        entries.remove(index);
    }
}

const KILLED: &str = "killed (SIGKILL)";

fn is_telling(record: &Record, calls: &HashMap<CallId, &Call>) -> bool {
    let about_work = |call: &Call| {
        let bookkeeping = call.resource.as_ref().is_some_and(|resource| resource.is_bookkeeping());
        call.verb != Verb::Other && !bookkeeping
    };
    match &record.event {
        Event::Call(call) => about_work(call),
        Event::Answer(answer) => calls.get(&answer.call).is_some_and(|call| about_work(call)),
        Event::Commit(commit) => !commit.is_bookkeeping(),
        Event::Delivery(delivery) => {
            delivery.kind != DeliveryKind::Bookmark
                && calls.get(&delivery.watch).is_some_and(|call| about_work(call))
        }
        _ => true,
    }
}

fn entry(record: &Record, start: Time, calls: &HashMap<CallId, &Call>) -> Entry {
    let (kind, who, text, detail) = match &record.event {
        Event::Call(call) => {
            let body = match call.subresource.as_str() {
                "exec" => proxy::request::parameters(&call.uri, "command").join(" "),
                _ => body_yaml(&call.body),
            };
            (EntryKind::Call, sender(call), call_text(call), body)
        }
        Event::Answer(answer) => {
            let who = calls.get(&answer.call).map_or_else(String::new, |call| sender(call));
            (EntryKind::Answer, who, answer_text(answer, calls), body_yaml(&answer.body))
        }
        Event::Commit(commit) => {
            let did = match commit.change {
                Change::Created => "created",
                Change::Updated => "updated",
                Change::Deleted => "deleted",
            };
            let text =
                format!("revision {}: {} {did} {}", commit.revision, commit.actor, commit.key);
            (EntryKind::Commit, "store".to_owned(), text, object_yaml(&commit.object))
        }
        Event::Delivery(delivery) => {
            let who = calls.get(&delivery.watch).map_or_else(String::new, |call| sender(call));
            let detail = delivery.object.as_deref().map(object_yaml).unwrap_or_default();
            (EntryKind::Delivery, who, delivery_text(delivery, calls), detail)
        }
        Event::Webhook(webhook) => {
            (EntryKind::Call, "store".to_owned(), webhook_text(webhook), String::new())
        }
        Event::Process(event) => process(event),
        Event::Step(step) => (EntryKind::Step, "user".to_owned(), step_text(step), String::new()),
        Event::Settled(settled) => {
            let end = if settled.end { ": the end state" } else { "" };
            let text = format!("settled at revision {}{end}", settled.revision);
            (EntryKind::Step, "trommel".to_owned(), text, settled.pending.join("\n"))
        }
        Event::Clock { from } => {
            let text = format!("clock goes on by {:.3} s", record.at.since(*from).as_secs_f64());
            (EntryKind::Note, "trommel".to_owned(), text, String::new())
        }
        Event::Perturbed { text, .. } => {
            (EntryKind::Perturbation, "trommel".to_owned(), text.clone(), String::new())
        }
        Event::Note { text } => {
            (EntryKind::Note, "trommel".to_owned(), text.clone(), String::new())
        }
    };
    let at = times(record.real_us, record.at.since(start));
    Entry { sequence: record.sequence, at, who, kind, text, detail }
}

/// Real time; and the world's, once its clock was moved.
fn times(real_us: u64, world: std::time::Duration) -> String {
    let real = format!("{:.1} ms", real_us as f64 / 1000.0);
    match world.is_zero() {
        true => real,
        false => format!("{real} · +{:.3} s", world.as_secs_f64()),
    }
}

/// `subject/0#1`: the second start of replica 0.
fn sender(call: &Call) -> String {
    match call.actor.is_subject() {
        true => format!("{}#{}", call.actor, call.incarnation),
        false => call.actor.to_string(),
    }
}

fn call_text(call: &Call) -> String {
    let mut text = call.verb.to_string();
    if let Some(resource) = &call.resource {
        text += &format!(" {resource}");
    }
    for part in
        [&call.namespace, &call.name, &call.subresource].into_iter().filter(|s| !s.is_empty())
    {
        text += &format!("/{part}");
    }
    if let (Verb::Create, Some(body)) = (call.verb, call.body.json()) {
        let meta = &body["metadata"];
        let name = meta["name"].as_str().map(|name| format!(" {name}"));
        let generated = meta["generateName"].as_str().map(|name| format!(" {name}…"));
        text += &name.or(generated).unwrap_or_default();
    }
    text
}

fn answer_text(answer: &Answer, calls: &HashMap<CallId, &Call>) -> String {
    let what = calls.get(&answer.call).map_or_else(String::new, |call| call_text(call));
    let is_write = calls.get(&answer.call).is_some_and(|call| call.is_write());
    let message = answer.body.json().filter(|_| !answer.succeeded());
    let message = message.and_then(|body| body["message"].as_str());
    let revision =
        answer.revision.map(|revision| format!(", revision {revision}")).unwrap_or_default();
    match answer.fate {
        Fate::Answered => {
            let message = message.map(|message| format!(": {message}")).unwrap_or_default();
            format!("{} to {what}{revision}{message}", answer.status)
        }
        Fate::Lost | Fate::Dropped if !is_write => format!("{what} was cut off"),
        Fate::Lost => format!("{what} was applied, but its answer never arrived"),
        Fate::Dropped => format!("{what} was dropped: it never reached the store"),
    }
}

fn webhook_text(webhook: &Webhook) -> String {
    let said = match &webhook.outcome {
        WebhookOutcome::Allowed { patched: false } => "allowed".to_owned(),
        WebhookOutcome::Allowed { patched: true } => "allowed, with a patch".to_owned(),
        WebhookOutcome::Denied(why) => format!("denied: {why}"),
        WebhookOutcome::Converted { objects: 1 } => "converted".to_owned(),
        WebhookOutcome::Converted { objects } => format!("converted {objects} objects"),
        WebhookOutcome::Failed(why) => format!("failed: {why}"),
    };
    let Webhook { actor, name, about, .. } = webhook;
    format!("webhook {name} about {about} of {actor}: {said}")
}

fn delivery_text(delivery: &Delivery, calls: &HashMap<CallId, &Call>) -> String {
    let kind = match delivery.kind {
        DeliveryKind::Added => "ADDED",
        DeliveryKind::Modified => "MODIFIED",
        DeliveryKind::Deleted => "DELETED",
        DeliveryKind::Bookmark => "BOOKMARK",
        DeliveryKind::Error => "ERROR",
    };
    let resource = calls.get(&delivery.watch).and_then(|call| call.resource.as_ref());
    let resource = resource.map(|resource| format!(" {resource}")).unwrap_or_default();
    let name = Some(&delivery.object_name).filter(|name| !name.is_empty());
    let name = name.map(|name| format!("/{name}")).unwrap_or_default();
    let revision = delivery.revision.map(|revision| format!(" at {revision}")).unwrap_or_default();
    format!("sees {kind}{resource}{name}{revision}")
}

fn process(event: &ProcessEvent) -> (EntryKind, String, String, String) {
    let who = format!("{}#{}", event.actor, event.incarnation);
    let mut kind = EntryKind::Process;
    let text = match &event.what {
        ProcessHappening::Started { command, .. } => format!("started: {}", command.join(" ")),
        ProcessHappening::Killed => KILLED.to_owned(),
        ProcessHappening::Exited { code: Some(code), .. } => {
            format!("ended by itself, exit code {code}")
        }
        ProcessHappening::Exited { signal: Some(signal), .. } => {
            format!("ended by signal {signal}")
        }
        ProcessHappening::Exited { .. } => "ended by itself".to_owned(),
        ProcessHappening::Frozen => "frozen".to_owned(),
        ProcessHappening::Thawed => "goes on".to_owned(),
        ProcessHappening::Line { text } => {
            kind = EntryKind::Log;
            text.clone()
        }
    };
    (kind, who, text, String::new())
}

fn step_text(step: &StepEvent) -> String {
    match &step.state {
        StepState::Started => format!("{} begins", step.title),
        StepState::Done => format!("{} is done", step.title),
        StepState::Failed { message, .. } => format!("{} failed: {message}", step.title),
    }
}

fn body_yaml(body: &Body) -> String {
    match body {
        Body::None => String::new(),
        Body::Json(value) => object_yaml(value),
        Body::Opaque { content_type, length } => format!("{length} bytes of {content_type}"),
    }
}

/// An object as a person reads it: YAML without managed fields and secrets, cut at a screen or two.
pub fn object_yaml(value: &Value) -> String {
    let mut value = mask::object(value);
    if let Some(meta) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.remove("managedFields");
    }
    let text = serde_saphyr::to_string(&value).unwrap_or_else(|_| value.to_string());
    let lines: Vec<&str> = text.lines().collect();
    let mut shown = lines[..lines.len().min(DETAIL_LINES_MAX)].join("\n");
    if lines.len() > DETAIL_LINES_MAX {
        shown += &format!("\n… {} more lines", lines.len() - DETAIL_LINES_MAX);
    }
    shown
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use trace::{Actor, ConnectionId, GroupResource, Revision};

    use super::*;

    fn call(id: u64, verb: Verb, resource: &str, body: Body) -> Event {
        Event::Call(Call {
            id: CallId(id),
            actor: Actor::Subject(0),
            incarnation: 1,
            connection: ConnectionId(1),
            verb,
            resource: resource.parse::<GroupResource>().ok(),
            version: "v1".to_owned(),
            namespace: "default".to_owned(),
            name: String::new(),
            subresource: String::new(),
            method: String::new(),
            uri: String::new(),
            content_type: String::new(),
            user_agent: String::new(),
            body,
            raw: None,
        })
    }

    fn answer(call: u64, fate: Fate, status: u16, body: Body) -> Event {
        Event::Answer(Answer {
            call: CallId(call),
            fate,
            status,
            revision: Some(Revision(7)),
            body,
            injected: false,
        })
    }

    fn history(events: Vec<Event>) -> History {
        let record = |(sequence, event)| Record {
            sequence: sequence as u64,
            at: Time(if sequence < 5 { 0 } else { 60_000_000_000 }),
            real_us: sequence as u64 * 1500,
            event,
        };
        History { records: events.into_iter().enumerate().map(record).collect() }
    }

    fn lines(events: Vec<Event>) -> Vec<String> {
        let entries = around_perturbation(&history(events));
        entries
            .iter()
            .map(|e| format!("{} {} {}: {}", e.at, e.who, e.kind.word(), e.text))
            .collect()
    }

    #[test]
    fn one_order_in_plain_words() {
        let foo = Body::Json(Arc::new(json!({"metadata": {"generateName": "foo-"}})));
        let conflict = Body::Json(Arc::new(json!({"message": "already exists"})));
        let line = ProcessHappening::Line { text: "creating".to_owned() };
        let process =
            |what| Event::Process(ProcessEvent { actor: Actor::Subject(0), incarnation: 1, what });
        let told = lines(vec![
            process(line),
            call(1, Verb::Create, "foos.example.com", foo),
            answer(1, Fate::Lost, 201, Body::None),
            Event::Perturbed { index: 0, text: "kill subject/0".to_owned() },
            call(2, Verb::Update, "bars.example.com", Body::None),
            answer(2, Fate::Answered, 409, conflict),
        ]);
        assert_eq!(
            told,
            [
                "0.0 ms subject/0#1 log: creating",
                "1.5 ms subject/0#1 call: create foos.example.com/default foo-…",
                "3.0 ms subject/0#1 answer: create foos.example.com/default foo-… was applied, but its answer never arrived",
                "4.5 ms trommel perturbed: kill subject/0",
                "6.0 ms subject/0#1 call: update bars.example.com/default",
                "7.5 ms · +60.000 s subject/0#1 answer: 409 to update bars.example.com/default, revision 7: already exists",
            ]
        );
    }

    #[test]
    fn the_mark_stands_where_the_process_died() {
        let killed = ProcessHappening::Killed;
        let killed = ProcessEvent { actor: Actor::Subject(0), incarnation: 1, what: killed };
        let told = lines(vec![
            call(1, Verb::Watch, "bars.example.com", Body::None),
            Event::Process(killed),
            answer(1, Fate::Lost, 200, Body::None),
            Event::Perturbed { index: 0, text: "killed after the first create".to_owned() },
        ]);
        assert_eq!(
            told,
            [
                "0.0 ms subject/0#1 call: watch bars.example.com/default",
                "1.5 ms subject/0#1 perturbed: killed after the first create",
                "3.0 ms subject/0#1 answer: watch bars.example.com/default was cut off",
            ]
        );
    }

    #[test]
    fn bookkeeping_and_discovery_are_left_out() {
        let told = lines(vec![
            call(1, Verb::Other, "", Body::None),
            call(2, Verb::Update, "leases.coordination.k8s.io", Body::None),
            answer(2, Fate::Answered, 200, Body::None),
            call(3, Verb::List, "bars.example.com", Body::None),
        ]);
        assert_eq!(told, ["4.5 ms subject/0#1 call: list bars.example.com/default"]);
    }

    #[test]
    fn waiting_is_one_line() {
        let lease = trace::ObjectKey {
            resource: "leases.coordination.k8s.io".parse().expect("a type"),
            namespace: "default".into(),
            name: "a".into(),
        };
        let renewed = Event::Commit(trace::Commit {
            revision: Revision(3),
            key: lease,
            change: Change::Updated,
            actor: Actor::Subject(0),
            call: None,
            object: Arc::new(json!({})),
            heartbeat: false,
        });
        let events = vec![
            Event::Note { text: "a".to_owned() },
            Event::Clock { from: Time(-500_000_000) },
            call(1, Verb::Update, "leases.coordination.k8s.io", Body::None),
            renewed.clone(),
            Event::Clock { from: Time(-1_000_000_000) },
            Event::Note { text: "b".to_owned() },
            renewed,
            Event::Clock { from: Time(59_900_000_000) },
        ];
        let folded = lines(events.clone());
        assert_eq!(
            folded,
            [
                "0.0 ms trommel note: a",
                "6.0 ms trommel note: … 2 × the clock goes on, by 1.500 s in all; 1 write of Leases",
                "7.5 ms · +60.000 s trommel note: b",
                "10.5 ms · +60.000 s trommel note: clock goes on by 0.100 s",
            ]
        );
        assert_eq!(all(&history(events)).len(), 5);
    }

    #[test]
    fn only_the_surroundings_are_drawn() {
        let note = |n: usize| Event::Note { text: format!("n{n}") };
        let mut events: Vec<Event> = (0..500).map(note).collect();
        events[250] = Event::Perturbed { index: 0, text: "kill".to_owned() };
        let entries = around_perturbation(&history(events));
        assert_eq!(entries.len(), BEFORE_MAX + AFTER_MAX);
        assert_eq!(entries[BEFORE_MAX].kind, EntryKind::Perturbation);
    }

    #[test]
    fn secrets_are_not_drawn() {
        let secret = json!({"kind": "Secret", "data": {"p": "aHVudGVyMg=="}, "metadata": {}});
        let yaml = object_yaml(&secret);
        assert!(yaml.contains("(masked)") && !yaml.contains("aHVudGVyMg"), "{yaml}");
    }
}
