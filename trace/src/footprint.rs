//! What a controller has asked about so far: what it never reads can't steer it.
//!
//! A [`Footprint`] only grows. It is learnt from calls: lists and watches (type, namespace, selectors), gets, and what
//! the subject writes: answers show it (409 says that one is there), and what it made tells worlds apart even if it
//! never looks at it again, because oracles will. What its webhooks were asked about counts as read: they see the
//! object of every such request.
//!
//! Where a text is in doubt the footprint is larger than what is read, never smaller: a selector that is not understood
//! selects all, and a generated name stands for all objects of its type and namespace. A footprint that is too large
//! tells apart worlds that the subject can't; one that is too small would merge worlds that it can.
//!
//! Leases and Events are no part of it: they tell no worlds apart.
//!
//! Discovery reads types, not objects: [`Footprint::covers`] says yes to a CustomResourceDefinition once discovery was
//! read.

mod selector;

use std::collections::BTreeSet;

use serde_json::Value;

use self::selector::Selector;
use crate::{
    call::{Call, Verb},
    history::{Event, History},
    key::{GroupResource, ObjectKey},
    webhook::{Webhook, WebhookOutcome},
};

/// What a controller has asked about. See the module's documentation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Footprint(BTreeSet<Read>);

/// One question, without what is only its form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Read {
    resource: GroupResource,
    /// Empty: all, and cluster-scoped objects.
    namespace: String,
    /// Empty: all.
    name: String,
    selector: Selector,
}

impl Footprint {
    /// Whether nothing has been asked about yet.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what the subject asked about in this run. Whether that was new. `generated` tells generated names.
    pub fn learn(&mut self, history: &History, generated: &dyn Fn(&str) -> bool) -> bool {
        let mut grew = false;
        for record in &history.records {
            let reads: Vec<Read> = match &record.event {
                Event::Call(call) if call.actor.is_subject() => reads(call, generated),
                Event::Webhook(webhook) => asked_about(webhook).iter().map(whole).collect(),
                _ => vec![],
            };
            for read in reads {
                grew |= self.add(read);
            }
        }
        grew
    }

    /// Adds what another footprint has. Whether any of it was new.
    pub fn merge(&mut self, other: &Footprint) -> bool {
        let mut grew = false;
        for read in &other.0 {
            grew |= self.add(read.clone());
        }
        grew
    }

    /// Whether it was new.
    fn add(&mut self, read: Read) -> bool {
        if self.0.iter().any(|known| known.includes(&read)) {
            return false;
        }
        self.0.retain(|known| !read.includes(known));
        self.0.insert(read)
    }

    /// Whether it has a question about this type that the other one does not have.
    pub fn asks_more(&self, other: &Footprint, resource: &GroupResource) -> bool {
        let about = self.0.iter().filter(|read| same_type(&read.resource, resource));
        about.into_iter().any(|read| !other.0.contains(read))
    }

    /// Whether the subject has asked about such an object.
    pub fn covers(&self, key: &ObjectKey, object: &Value) -> bool {
        self.0.iter().any(|read| read.covers(key, object))
    }

    /// Its parts, a line each, for people: `pods in default, app=web`.
    pub fn lines(&self) -> Vec<String> {
        self.0.iter().map(Read::line).collect()
    }
}

impl Read {
    fn includes(&self, other: &Read) -> bool {
        same_type(&self.resource, &other.resource)
            && (self.namespace.is_empty() || self.namespace == other.namespace)
            && (self.name.is_empty() || self.name == other.name)
            && (self.selector.is_everything() || self.selector == other.selector)
    }

    fn covers(&self, key: &ObjectKey, object: &Value) -> bool {
        same_type(&self.resource, &key.resource)
            && (self.namespace.is_empty() || *self.namespace == *key.namespace)
            && (self.name.is_empty() || *self.name == *key.name)
            && self.selector.selects(&object["metadata"]["labels"])
    }

    fn line(&self) -> String {
        let mut line = self.resource.to_string();
        if !self.name.is_empty() {
            line.push_str(&format!(" {}", self.name));
        }
        if !self.namespace.is_empty() {
            line.push_str(&format!(" in {}", self.namespace));
        }
        if !self.selector.is_everything() {
            line.push_str(&format!(", {}", self.selector));
        }
        line
    }
}

/// Stands for every group, where only the plural is known.
const ANY_GROUP: &str = "*";

fn same_type(read: &GroupResource, other: &GroupResource) -> bool {
    read.resource == other.resource && (read.group == other.group || &*read.group == ANY_GROUP)
}

/// The type of the objects that a webhook was sent.
fn asked_about(webhook: &Webhook) -> Option<GroupResource> {
    if let WebhookOutcome::Converted { .. } = webhook.outcome {
        return webhook.name.parse().ok();
    }
    // `CREATE pods default/web`.
    let plural = webhook.about.split(' ').nth(1)?;
    Some(GroupResource::new(ANY_GROUP, plural))
}

/// All of a type.
fn whole(resource: &GroupResource) -> Read {
    let (namespace, name) = (String::new(), String::new());
    Read { resource: resource.clone(), namespace, name, selector: Selector::default() }
}

fn reads(call: &Call, generated: &dyn Fn(&str) -> bool) -> Vec<Read> {
    let Some(resource) = &call.resource else {
        let discovery = ["/api", "/openapi"].iter().any(|root| call.uri.starts_with(root));
        let types = GroupResource::new("apiextensions.k8s.io", "customresourcedefinitions");
        return if discovery { vec![whole(&types)] } else { vec![] };
    };
    if resource.is_bookkeeping() {
        return vec![];
    }
    let mut read = Read { namespace: call.namespace.clone(), ..whole(resource) };
    match call.verb {
        Verb::List | Verb::Watch => {
            let query = call.uri.split_once('?').map_or("", |(_, query)| query);
            for (name, value) in form_urlencoded::parse(query.as_bytes()) {
                match &*name {
                    "labelSelector" | "fieldSelector" if holds_drawn(&value, generated) => {}
                    "labelSelector" => read.selector = Selector::parse(&value),
                    "fieldSelector" => read.by_fields(&value),
                    _ => {}
                }
            }
            // A watch of one object has its name in the path.
            if !call.name.is_empty() {
                read.name.clone_from(&call.name);
            }
        }
        // A name that the server is to choose stands for all.
        Verb::Create => body_name(call).unwrap_or_default().clone_into(&mut read.name),
        Verb::DeleteCollection => {}
        _ => read.name.clone_from(&call.name),
    }
    if generated(&read.name) {
        read.name.clear();
    }
    if generated(&read.namespace) {
        read.namespace.clear();
    }
    vec![read]
}

/// Whether a selector names a generated name or a uid, which the next trial has otherwise: it stands for all.
pub fn holds_drawn(selector: &str, generated: &dyn Fn(&str) -> bool) -> bool {
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    selector.split(|c: char| !in_name(c)).any(|part| generated(part) || is_uid(part))
}

/// `8-4-4-4-12` hexadecimal digits.
fn is_uid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

impl Read {
    /// `metadata.name` and `metadata.namespace` that are asked for exactly; others narrow nothing here.
    fn by_fields(&mut self, selector: &str) {
        for part in selector.split(',') {
            let Some((field, value)) = part.split_once('=') else { continue };
            if field.ends_with('!') {
                continue;
            }
            let value = value.trim_start_matches('=');
            match field {
                "metadata.name" => value.clone_into(&mut self.name),
                "metadata.namespace" => value.clone_into(&mut self.namespace),
                _ => {}
            }
        }
    }
}

/// Of what is to be created; none if the server is to choose.
fn body_name(call: &Call) -> Option<&str> {
    let name = call.body.json()?["metadata"]["name"].as_str()?;
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests;
