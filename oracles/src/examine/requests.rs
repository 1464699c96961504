//! Requests that were refused.

use std::{collections::HashMap, fmt};

use serde::{Deserialize, Serialize};
use trace::{Answer, Call, CallId, Event, History, Verb};

/// Alike requests that were refused in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refused {
    /// `create`, `update`, …; the method where the path names no type.
    pub verb: String,
    /// `pods`, `deployments.apps/status`; the path where it names no type.
    pub what: String,
    /// HTTP status.
    pub code: u16,
    /// Of the first one, in the API server's words.
    pub message: String,
    /// How often.
    pub count: u32,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refused { verb, what, code, message, count } = self;
        let times = if *count == 1 { String::new() } else { format!(" ({count} times)") };
        write!(f, "{verb} {what} was refused with {code}{times}")?;
        if message.is_empty() { Ok(()) } else { write!(f, ": {message}") }
    }
}

/// What the controller was refused, without what it had to reckon with.
pub fn refused(history: &History) -> Vec<Refused> {
    let calls: HashMap<CallId, &Call> = history
        .calls()
        .filter(|call| call.actor.is_subject())
        .map(|call| (call.id, call))
        .collect();
    let mut all: Vec<Refused> = vec![];
    for record in &history.records {
        let Event::Answer(answer) = &record.event else { continue };
        let Some(call) = calls.get(&answer.call).filter(|call| counts(call, answer)) else {
            continue;
        };
        let (verb, what) = about(call);
        let alike = |other: &&mut Refused| {
            (&other.verb, &other.what, other.code) == (&verb, &what, answer.status)
        };
        match all.iter_mut().find(alike) {
            Some(known) => known.count += 1,
            None => {
                let message = message(answer);
                all.push(Refused { verb, what, code: answer.status, message, count: 1 });
            }
        }
    }
    all
}

/// Whether a refusal says that something is wrong. Discovery asks for what may not be there, a watch may be too old, an
/// object may be gone or be there already.
fn counts(call: &Call, answer: &Answer) -> bool {
    match (answer.status, call.verb) {
        (..400, _) | (409 | 410, _) => false,
        (404, Verb::Get | Verb::Delete | Verb::Other) => false,
        // What is written may be gone by then.
        (404, Verb::Update | Verb::Patch) => false,
        _ => true,
    }
}

fn about(call: &Call) -> (String, String) {
    let Some(resource) = &call.resource else {
        let path = call.uri.split('?').next().unwrap_or_default();
        return (call.method.clone(), path.to_owned());
    };
    let subresource = match call.subresource.as_str() {
        "" => String::new(),
        name => format!("/{name}"),
    };
    (call.verb.to_string(), format!("{resource}{subresource}"))
}

fn message(answer: &Answer) -> String {
    let message = answer.body.json().and_then(|body| body["message"].as_str().map(str::to_owned));
    message.unwrap_or_default()
}
