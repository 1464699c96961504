//! Sends one document of the user's.
//!
//! chainsaw's semantics, call by call:
//! - **apply**: GET; absent → POST; present → merge patch of the document *with the found resourceVersion*,
//!   so a write in between is a conflict, and all is done again. (chainsaw calls this apply; it is neither
//!   server-side apply nor kubectl's three-way patch: a key left out of the document stays.)
//! - **create**: POST. chainsaw sends a GET first, and then can't expect the 409; we can (`expect` with `$error`).
//! - **patch**: GET, then the same merge patch, also of a subresource. **update**: GET, then PUT with the found
//!   resourceVersion.
//! - **delete**: by name, else everything of the kind with these labels; what is not there is no error.
//!   The wait for the end of it is the next operation.
//!
//! Every write asks for strict field validation, as chainsaw does: an unknown field is an error.
//!
//! `expect` is judged on what the API answered, or on the document where it refused, with `$error` bound to
//! the API's message or null. What a later attempt may mend (chainsaw's table: anything for apply; conflicts, timeouts,
//! throttling and unavailability for the rest) says so in [`ActError::may_pass`]; conflicts are tried again here. So
//! does, for every verb, a webhook that can't be called: it is down as long as a killed controller is, and a user
//! who is told so tries again.

use serde_json::{Map, Value, json};
use trace::{GroupResource, ObjectKey};

use crate::{
    client::{Client, ClientError, Resource},
    expression::{Bindings, EvaluationError},
    operation::{Act, ActVerb, Operation, OperationKind},
};

/// What a document did.
#[derive(Debug, Clone, PartialEq)]
pub struct ActOutcome {
    /// The objects that were written or deleted; none where a refusal was expected.
    pub objects: Vec<ObjectKey>,
}

/// Why a document did not do what it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ActError {
    /// In words, with the object and the API's own message.
    pub message: String,
    /// Whether sending it again later, within the operation's timeout, may help.
    pub may_pass: bool,
}

/// How often a conflict is answered by reading again and writing again. Each time somebody else wrote.
const ATTEMPTS_MAX: usize = 32;

/// Sends document number `document` of an [`OperationKind::Act`].
pub async fn act(
    operation: &Operation,
    document: u32,
    client: &Client,
) -> Result<ActOutcome, ActError> {
    let fixed = |message: String| ActError { message, may_pass: false };
    let OperationKind::Act(act) = &operation.kind else {
        return Err(fixed(format!("{} sends no documents", operation.title)));
    };
    let Some(document) = act.documents.get(document as usize) else {
        return Err(fixed(format!("{} has no document {document}", operation.title)));
    };
    let bindings = operation.scope.bindings(&client.outputs());
    let bindings = bindings.map_err(|error| fixed(error.to_string()))?;
    let object = document.template.evaluate(&Value::Null, &bindings);
    let object = object.map_err(|error| fixed(error.to_string()))?;
    let identity = Identity::of(&object).map_err(|what| {
        fixed(format!("{}: after evaluation the object has no {what}", document.place))
    })?;
    let resource = client.resource(&identity.api_version, &identity.kind).await;
    let resource = resource.map_err(|error| act.error(&identity.shown(), &error))?;
    let namespace = match &*identity.namespace {
        _ if !resource.namespaced => String::new(),
        "" => operation.scope.namespace.clone(),
        own => own.to_owned(),
    };
    let mut object = object;
    if resource.namespaced {
        object["metadata"]["namespace"] = namespace.as_str().into();
    }
    let writing = Writing { operation, act, client, resource, namespace, object, bindings };
    match act.verb {
        ActVerb::Delete => writing.delete(&identity.name).await,
        _ => writing.write(&identity.name).await,
    }
}

/// What a document says it is about.
struct Identity {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
}

impl Identity {
    fn of(object: &Value) -> Result<Identity, &'static str> {
        let text = |pointer: &str| {
            object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let identity = Identity {
            api_version: text("/apiVersion"),
            kind: text("/kind"),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
        };
        match () {
            () if identity.api_version.is_empty() => Err("apiVersion"),
            () if identity.kind.is_empty() => Err("kind"),
            () => Ok(identity),
        }
    }

    fn shown(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }
}

/// One document on its way.
struct Writing<'a> {
    operation: &'a Operation,
    act: &'a Act,
    client: &'a Client,
    resource: Resource,
    namespace: String,
    object: Value,
    bindings: Bindings,
}

impl Writing<'_> {
    async fn write(&self, name: &str) -> Result<ActOutcome, ActError> {
        let mut answer = self.attempt(name).await;
        for _ in 1..ATTEMPTS_MAX {
            match &answer {
                Err(ClientError::Refused { code: 409, reason, .. })
                    if reason == "Conflict" || self.act.verb == ActVerb::Apply =>
                {
                    answer = self.attempt(name).await;
                }
                _ => break,
            }
        }
        let written = answer.as_ref().ok().map(|answer| self.key(answer));
        self.judge(&answer, name)?;
        if let Err(ClientError::Refused { .. }) | Ok(_) = &answer {
            self.keep_outputs(&answer)?;
        }
        Ok(ActOutcome { objects: written.into_iter().collect() })
    }

    async fn attempt(&self, name: &str) -> Result<Value, ClientError> {
        let query = match self.act.dry_run {
            true => "?fieldValidation=Strict&dryRun=All",
            false => "?fieldValidation=Strict",
        };
        let (client, resource, namespace) = (self.client, &self.resource, &*self.namespace);
        let create = client.create(resource, namespace, &self.object, query);
        match self.act.verb {
            ActVerb::Create | ActVerb::Delete => create.await,
            ActVerb::Ensure => match create.await {
                Err(error) if error.code() == 409 => Ok(self.object.clone()),
                answer => answer,
            },
            ActVerb::Apply => match client.get(resource, namespace, name).await {
                Ok(found) => self.patch(name, &found, query).await,
                Err(error) if error.is_not_found() => create.await,
                Err(error) => Err(error),
            },
            ActVerb::Patch => {
                let found = client.get(resource, namespace, name).await?;
                self.patch(name, &found, query).await
            }
            ActVerb::Update => {
                let found = client.get(resource, namespace, name).await?;
                let object = at_version_of(&self.object, &found);
                client.replace(resource, namespace, name, &object, query).await
            }
        }
    }

    async fn patch(&self, name: &str, found: &Value, query: &str) -> Result<Value, ClientError> {
        let patch = at_version_of(&self.object, found);
        let target = (name, self.act.subresource.as_str());
        self.client.merge_patch(&self.resource, &self.namespace, target, &patch, query).await
    }

    async fn delete(&self, name: &str) -> Result<ActOutcome, ActError> {
        let objects = match self.to_delete(name).await {
            Ok(objects) => objects,
            Err(error) if error.is_not_found() => Vec::new(),
            Err(error) => return Err(self.act.error(&self.shown(name), &error)),
        };
        let options = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": self.act.propagation,
        });
        let mut deleted = Vec::new();
        for object in objects {
            let key = self.key(&object);
            let (client, resource) = (self.client, &self.resource);
            let answer = match client.delete(resource, &key.namespace, &key.name, &options).await {
                Err(error) if error.is_not_found() => Ok(object),
                Ok(_) => {
                    deleted.push(key.clone());
                    Ok(object)
                }
                Err(error) => Err(error),
            };
            self.judge(&answer, &key.name)?;
        }
        Ok(ActOutcome { objects: deleted })
    }

    /// The objects that a delete means. A name alone needs no look first, unless an expectation wants to see it.
    async fn to_delete(&self, name: &str) -> Result<Vec<Value>, ClientError> {
        if name.is_empty() {
            let labels = self.object.pointer("/metadata/labels").and_then(Value::as_object);
            let selector = labels.map(label_selector).unwrap_or_default();
            return self.client.list(&self.resource, &self.namespace, &selector).await;
        }
        if self.act.expect.is_empty() {
            return Ok(vec![self.object.clone()]);
        }
        self.client.get(&self.resource, &self.namespace, name).await.map(|object| vec![object])
    }

    /// Whether the answer is what it should be: by `expect` where one of them is about this object.
    fn judge(&self, answer: &Result<Value, ClientError>, name: &str) -> Result<(), ActError> {
        let object = answer.as_ref().unwrap_or(&self.object);
        let bindings = self.bindings_with_error(answer);
        let fail = |message: String| ActError {
            message: format!("{}: {message}", self.shown(name)),
            may_pass: self.act.verb == ActVerb::Apply,
        };
        let broken = |error: EvaluationError| fail(error.to_string());
        let mut matched = false;
        let mut mismatches = Vec::new();
        for expectation in &self.act.expect {
            if let Some(matching) = &expectation.matching
                && !matching.mismatches(object, &Bindings::new()).map_err(broken)?.is_empty()
            {
                continue;
            }
            matched = true;
            mismatches.extend(expectation.check.mismatches(object, &bindings).map_err(broken)?);
        }
        match (matched, answer) {
            (false, Ok(_)) => Ok(()),
            (false, Err(error)) => Err(self.act.error(&self.shown(name), error)),
            (true, _) if mismatches.is_empty() => Ok(()),
            (true, answer) => {
                let lines: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
                let outcome = match answer {
                    Ok(_) => "it succeeded".to_owned(),
                    Err(error) => format!("it was refused: {error}"),
                };
                Err(fail(format!("not as expected ({outcome}): {}", lines.join("; "))))
            }
        }
    }

    fn keep_outputs(&self, answer: &Result<Value, ClientError>) -> Result<(), ActError> {
        let object = answer.as_ref().unwrap_or(&self.object);
        let bindings = self.bindings_with_error(answer);
        keep_outputs(self.operation, &self.act.outputs, object, bindings, self.client)
            .map_err(|error| ActError { message: error.to_string(), may_pass: false })
    }

    fn bindings_with_error(&self, answer: &Result<Value, ClientError>) -> Bindings {
        let error = match answer {
            Ok(_) => Value::Null,
            Err(ClientError::Refused { message, .. }) => message.as_str().into(),
            Err(error) => error.to_string().into(),
        };
        let mut bindings = self.bindings.clone();
        bindings.insert("error".to_owned(), error);
        bindings
    }

    fn key(&self, object: &Value) -> ObjectKey {
        let text = |pointer: &str| {
            object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let group = self.resource.api_version.split_once('/').map_or("", |(group, _)| group);
        let namespace = text("/metadata/namespace");
        let name = text("/metadata/name");
        ObjectKey::new(GroupResource::new(group, &self.resource.plural), &namespace, &name)
    }

    fn shown(&self, name: &str) -> String {
        let namespace = if self.namespace.is_empty() { "" } else { "/" };
        format!("{}{namespace}{}/{name}", self.resource.shown(), self.namespace)
    }
}

impl Act {
    fn error(&self, object: &str, error: &ClientError) -> ActError {
        let refused_for_now = matches!(
            error,
            ClientError::Refused { reason, .. }
                if ["Conflict", "ServerTimeout", "TooManyRequests", "ServiceUnavailable"]
                    .contains(&reason.as_str())
        );
        let may_pass =
            self.verb == ActVerb::Apply || refused_for_now || webhook_is_down(&error.to_string());
        ActError { message: format!("{object}: {error}"), may_pass }
    }
}

/// Whether a refusal says that a webhook could not be called, in the API server's words.
pub fn webhook_is_down(refusal: &str) -> bool {
    refusal.contains("failed calling webhook")
        || (refusal.contains("conversion webhook for ") && refusal.contains(" failed: Post "))
}

/// Evaluates outputs and keeps them in the client for later operations.
pub(crate) fn keep_outputs(
    operation: &Operation,
    outputs: &[crate::scope::Output],
    input: &Value,
    mut bindings: Bindings,
    client: &Client,
) -> Result<(), EvaluationError> {
    for output in outputs {
        if let Some(matching) = &output.matching
            && !matching.mismatches(input, &bindings)?.is_empty()
        {
            continue;
        }
        let value = output.value.evaluate(input, &bindings)?;
        bindings.insert(output.name.clone(), value.clone());
        let mut kept = client.outputs();
        kept.entry(operation.index).or_default().insert(output.name.clone(), value);
    }
    Ok(())
}

/// The object with the resourceVersion of another: a write that fails if somebody wrote in between.
fn at_version_of(object: &Value, found: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"]["resourceVersion"] = found["metadata"]["resourceVersion"].clone();
    object
}

/// `a=b,c=d`.
pub(crate) fn label_selector(labels: &Map<String, Value>) -> String {
    let pair = |(key, value): (&String, &Value)| match value {
        Value::String(text) => format!("{key}={text}"),
        other => format!("{key}={other}"),
    };
    labels.iter().map(pair).collect::<Vec<_>>().join(",")
}
