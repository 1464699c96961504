//! What the scheduler tells of pods.

use super::{Answered, Note};
use crate::{Request, object::Meta, read};

/// `validation.NoteLengthLimit`, in bytes.
const LONGEST: usize = 1024;
/// What stands for the rest.
const REST: &str = " ...";

/// A pod that is bound, fits nowhere, or has to make room (`handleBindingCycle`, `handleSchedulingFailure`,
/// `PreemptPod`).
pub(super) fn of_pod(of: &Answered<'_>, meta: &Meta) -> Option<Note> {
    if of.refused().is_some() {
        return None;
    }
    let (mut note, action) = match of.request {
        Request::Bind { node, .. } => {
            let pod = format!("{}/{}", of.key.namespace, of.key.name);
            let message = format!("Successfully assigned {pod} to {node}");
            (of.normal(meta, "Scheduled", message), "Binding")
        }
        Request::PatchStatus { key, status, .. } if key == of.key => {
            let mut conditions = read::list(status, "conditions");
            let why = conditions.find(|condition| condition["type"] == "PodScheduled")?;
            let message = shortened(why["message"].as_str().unwrap_or(""));
            (of.warning(meta, "FailedScheduling", message), "Scheduling")
        }
        Request::Delete { key, .. } => {
            let (victim, pod) = (of.before.get(key)?, of.pod(key)?);
            let message = format!("Preempted by pod {} on node {}", meta.uid, pod.node);
            (Note::new((key, &victim.meta), false, "Preempted", message), "Preempting")
        }
        _ => return None,
    };
    note.action = action;
    Some(note)
}

/// `truncateMessage`.
fn shortened(message: &str) -> String {
    if message.len() <= LONGEST {
        return message.to_owned();
    }
    let mut end = LONGEST - REST.len();
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{REST}", &message[..end])
}
