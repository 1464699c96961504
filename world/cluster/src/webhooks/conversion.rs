//! Objects of a custom type in another of its versions (`apiextensions-apiserver/pkg/apiserver/conversion`): by a
//! webhook, or without one by nothing but another `apiVersion`.
//!
//! Objects that leave the store lose what the version that they are shown in doesn't know; those that enter it lose
//! what the stored version doesn't know and get its defaults (upstream: when they are read back). Both are passed on
//! as they are where versions agree, and no webhook is asked.
//!
//! Upstream converts what it reads from etcd into a cache for each version: there a webhook hears of every change
//! once, and of one object at a time; ours hears of what is asked for, and of all objects of a list at once. While a
//! webhook fails, upstream's cache ends watches of its version and refuses new ones; ours end with an error. Who could
//! notice: a webhook that takes one object only, or counts its calls.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    calls::{Asked, Calls, Wanted},
    client, converted,
};
use crate::{
    crd::{CustomType, conversion::Converter},
    names::Names,
    server::Live,
    status::Refusal,
    world::{
        kinds::{Kind, convert_built_in},
        meta,
    },
};

/// Who asks, and what has been answered so far.
pub(crate) struct Asking<'a> {
    pub(crate) live: &'a mut Live,
    pub(crate) calls: &'a mut Calls,
}

impl Asking<'_> {
    /// Stored objects as a version shows them. Errors: they can't be converted; or a webhook has to be called first,
    /// as `calls` says then.
    pub(crate) fn leave(
        &mut self,
        kind: &Kind,
        objects: &[Arc<Value>],
    ) -> Result<Vec<Arc<Value>>, Refusal> {
        if !objects.iter().any(|object| kind.needs_webhook(object)) {
            return objects.iter().map(|object| kind.present(object)).collect();
        }
        let converted = self.convert(kind, objects, &kind.api_version())?;
        let pairs = objects.iter().zip(converted);
        let fitted = pairs.map(|(before, after)| match kind.has_version_of(before) {
            true => after,
            false => Arc::new(kind.fit(Arc::unwrap_or_clone(after))),
        });
        Ok(fitted.collect())
    }

    /// An object of a version as it is stored. Errors: as for [`Asking::leave`].
    pub(crate) fn enter(&mut self, kind: &Kind, object: Value) -> Result<Value, Refusal> {
        let stored = kind.storage_api_version.clone();
        let object = match object["apiVersion"] == *stored {
            true => object,
            false => {
                let mut converted = self.convert(kind, &[Arc::new(object)], &stored)?;
                converted.pop().map(Arc::unwrap_or_clone).unwrap_or_default()
            }
        };
        // Every read of a custom object fills in defaults, also those of a status that the write could not set.
        Ok(if kind.is_custom() { kind.fit_stored(object) } else { object })
    }

    /// Objects of a type in another version, and nothing more. Errors: as for [`Asking::leave`].
    pub(crate) fn convert(
        &mut self,
        kind: &Kind,
        objects: &[Arc<Value>],
        to: &str,
    ) -> Result<Vec<Arc<Value>>, Refusal> {
        let Some(custom) = kind.custom_type() else {
            return objects.iter().map(|object| built_in(object, to)).collect();
        };
        check_versions(custom, objects, to)?;
        match &custom.converter {
            None => Ok(objects.iter().map(|object| renamed(object, to)).collect()),
            Some(converter) => self.ask(converter, objects, to),
        }
    }

    fn ask(
        &mut self,
        converter: &Converter,
        objects: &[Arc<Value>],
        to: &str,
    ) -> Result<Vec<Arc<Value>>, Refusal> {
        let differs = |object: &Arc<Value>| object["apiVersion"] != *to && !is_empty(object);
        let sent: Vec<Value> =
            objects.iter().filter(|object| differs(object)).map(unstamped).collect();
        if sent.is_empty() {
            return Ok(objects.iter().map(|object| renamed(object, to)).collect());
        }
        let review = converter.review.ok_or_else(|| {
            Refusal::unclassified("no supported conversion review versions".to_owned())
        })?;
        let Some(asked) = self.reply(converter, review, &sent, to) else {
            return Err(Calls::stopped());
        };
        let answers = converted::read(review, &asked, &sent, to).map_err(Refusal::unclassified)?;
        let mut answers = answers.into_iter();
        let filled = objects.iter().map(|object| match differs(object) {
            true => Arc::new(stamped(answers.next().unwrap_or_default(), object)),
            false => renamed(object, to),
        });
        Ok(filled.collect())
    }

    /// What the webhook answered, if it was asked; else it is wanted.
    fn reply(
        &mut self,
        converter: &Converter,
        review: &str,
        sent: &[Value],
        to: &str,
    ) -> Option<Asked> {
        let question = json!([converter.name, converter.config, review, to, sent]);
        let live = &mut *self.live;
        let mut make = || {
            let uid = Names::opaque(b"review", live.next_answer());
            let body = json!({
                "kind": "ConversionReview", "apiVersion": format!("apiextensions.k8s.io/{review}"),
                "request": {"uid": uid, "desiredAPIVersion": to, "objects": sent},
                "response": {"uid": "", "convertedObjects": null, "result": {"metadata": {}}},
            });
            let told = (converter.name.as_str(), client::CONVERSION, about(sent, to));
            let body = body.to_string().into();
            let (config, seconds) = (&converter.config, client::CONVERSION_SECONDS);
            let call = client::call(&live.world, told, config, seconds, body);
            Wanted::lasting(question.clone(), call, uid)
        };
        match self.calls.are_made() {
            true => self.calls.ask_lasting(&question, make),
            false => Some(make().refused()),
        }
    }
}

fn built_in(object: &Arc<Value>, to: &str) -> Result<Arc<Value>, Refusal> {
    if object["apiVersion"] == *to {
        return Ok(object.clone());
    }
    let mut converted = (**object).clone();
    convert_built_in(&mut converted, to)?;
    Ok(Arc::new(converted))
}

/// Errors: a version that the type does not declare.
fn check_versions(custom: &CustomType, objects: &[Arc<Value>], to: &str) -> Result<(), Refusal> {
    if custom.version(to).is_none() {
        let why = format!("request to convert CR to an invalid group/version: {to}");
        return Err(Refusal::unclassified(why));
    }
    let mut versions = objects.iter().map(|object| object["apiVersion"].as_str().unwrap_or(""));
    match versions.find(|version| custom.version(version).is_none()) {
        None => Ok(()),
        Some(version) => Err(Refusal::unclassified(format!(
            "request to convert CR from an invalid group/version: {version}"
        ))),
    }
}

/// The same object under another version.
fn renamed(object: &Arc<Value>, to: &str) -> Arc<Value> {
    if object["apiVersion"] == *to {
        return object.clone();
    }
    let mut renamed = (**object).clone();
    renamed["apiVersion"] = Value::from(to);
    Arc::new(renamed)
}

/// Nothing but a type: what upstream's own checks convert.
fn is_empty(object: &Value) -> bool {
    let fields = object.as_object();
    fields.is_some_and(|fields| {
        fields.len() == 2 && fields.contains_key("kind") && fields.contains_key("apiVersion")
    })
}

/// An object as a webhook sees it: what is in etcd has no revision of its own.
fn unstamped(object: &Arc<Value>) -> Value {
    let mut sent = (**object).clone();
    sent["metadata"].as_object_mut().map(|fields| fields.remove("resourceVersion"));
    sent
}

/// What became of an object, with the revision that it had.
fn stamped(mut converted: Value, object: &Value) -> Value {
    if let Some(revision) = object["metadata"].get("resourceVersion") {
        converted["metadata"]["resourceVersion"] = revision.clone();
    }
    converted
}

/// What is converted, for people.
fn about(sent: &[Value], to: &str) -> String {
    match sent {
        [one] => {
            let (namespace, name) = (meta(one, "namespace"), meta(one, "name"));
            let slash = if namespace.is_empty() { "" } else { "/" };
            format!("{namespace}{slash}{name} in {to}")
        }
        many => format!("{} objects in {to}", many.len()),
    }
}
