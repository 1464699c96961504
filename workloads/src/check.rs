//! Looks once whether something holds.
//!
//! Nothing here waits: the caller asks again when the cluster has changed or its clock has moved, and gives up
//! when the operation's timeout has passed *by the world's clock*, or earlier, when nothing can change any more.
//!
//! - **assert**: at least one object matches (the named one; else those of the kind, in the namespace, with the
//!   labels). **error**: none matches; no object at all is fine.
//! - **wait**: as `kubectl wait`: *every* object selected, and at least one. `deletion`: there is none.
//! - **the wait after a delete**: no object selected carries a `deletionTimestamp` any more. chainsaw polls until the
//!   name is not found, which never happens, or happens by luck, where a controller makes it anew at once.
//! - A kind that the cluster does not know is not there *yet* (its CRD may come); it never satisfies an
//!   `error` or a deletion, lest a typo passes.

use serde_json::Value;
use trace::{Lack, Unmet};

use crate::{
    act::label_selector,
    client::{Client, ClientError, Resource},
    expression::{Bindings, EvaluationError},
    jsonpath,
    operation::{Check, Expected, Operation, OperationKind, Selector, Target},
    template::Template,
    tree::{Mismatch, Tree},
};

/// What one look found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckOutcome {
    /// It holds.
    Holds,
    /// It does not hold now.
    NotYet {
        /// What was expected and what was found, one line a difference.
        message: String,
        /// The first difference, of the object that comes nearest; none where the check could not be evaluated.
        unmet: Option<Unmet>,
        /// The object that comes nearest, as it is; none if there is none.
        nearest: Option<Value>,
    },
}

/// Why a look could not be taken: no answer from the cluster, or an operation that is no check.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CheckError(pub String);

/// Evaluates an [`OperationKind::Check`] once.
pub async fn check(operation: &Operation, client: &Client) -> Result<CheckOutcome, CheckError> {
    let OperationKind::Check(check) = &operation.kind else {
        return Err(CheckError(format!("{} is no check", operation.title)));
    };
    let outputs = client.outputs().clone();
    let looked = match operation.scope.bindings(&outputs) {
        Ok(bindings) => {
            let look = Look { check, client, bindings, namespace: &operation.scope.namespace };
            look.run().await
        }
        Err(error) => Err(Trouble::Evaluation(error)),
    };
    match looked {
        Ok((found, _)) if found.is_empty() => Ok(CheckOutcome::Holds),
        Ok((found, nearest)) => {
            let unmet = found.first().map(|one| one.unmet.clone());
            Ok(CheckOutcome::NotYet { message: shortened(&found), unmet, nearest })
        }
        Err(Trouble::Evaluation(error)) => Ok(not_yet(&error)),
        Err(Trouble::Client(
            error @ (ClientError::Transport { .. } | ClientError::Malformed { .. }),
        )) => Err(CheckError(error.to_string())),
        Err(Trouble::Client(error)) => Ok(not_yet(&error)),
    }
}

fn not_yet(error: &dyn std::fmt::Display) -> CheckOutcome {
    CheckOutcome::NotYet { message: error.to_string(), unmet: None, nearest: None }
}

enum Trouble {
    Evaluation(EvaluationError),
    Client(ClientError),
}

impl From<EvaluationError> for Trouble {
    fn from(error: EvaluationError) -> Trouble {
        Trouble::Evaluation(error)
    }
}

impl From<ClientError> for Trouble {
    fn from(error: ClientError) -> Trouble {
        Trouble::Client(error)
    }
}

struct Look<'a> {
    check: &'a Check,
    client: &'a Client,
    bindings: Bindings,
    namespace: &'a str,
}

/// One thing that a check lacks, and the line that says so.
struct Difference {
    unmet: Unmet,
    line: String,
}

impl Difference {
    fn new(object: &str, how: Lack, text: &str) -> Difference {
        let unmet = Unmet { object: object.to_owned(), how };
        let colon = if object.is_empty() { "" } else { ": " };
        Difference { unmet, line: format!("{object}{colon}{text}") }
    }
}

/// The objects that a check is about, and how a person would name the selection.
struct Found {
    selection: String,
    objects: Vec<(String, Value)>,
}

impl Found {
    fn none(&self) -> Vec<Difference> {
        vec![Difference::new(&self.selection, Lack::Missing, "there is none")]
    }
}

impl Look<'_> {
    /// Why it does not hold, line by line; nothing if it holds. With the object that comes nearest.
    async fn run(&self) -> Result<(Vec<Difference>, Option<Value>), Trouble> {
        let Some(target) = &self.check.target else {
            let differences = match &self.check.expected {
                Expected::Match(tree) => mismatches("", tree, &Value::Null, &self.bindings)?,
                Expected::NoMatch(tree) => {
                    let holds = tree.mismatches(&Value::Null, &self.bindings)?.is_empty();
                    let text = "the assertion holds, and should not";
                    let one = || Difference::new("", Lack::Present, text);
                    holds.then(one).into_iter().collect()
                }
                _ => Vec::new(),
            };
            return Ok((differences, None));
        };
        let found = match self.find(target).await {
            // The deletion before was answered: the kind was there then, and its objects went with it.
            Err(Trouble::Client(ClientError::UnknownKind { .. }))
                if matches!(self.check.expected, Expected::Gone) =>
            {
                return Ok((Vec::new(), None));
            }
            found => found?,
        };
        let differences = self.judge(&found)?;
        let nearest = if differences.is_empty() { None } else { self.nearest(&found).cloned() };
        Ok((differences, nearest))
    }

    /// Of the objects that were found, the one that differs least.
    fn nearest<'f>(&self, found: &'f Found) -> Option<&'f Value> {
        let Expected::Match(tree) = &self.check.expected else {
            return found.objects.first().map(|(_, object)| object);
        };
        let differences = |object: &Value| {
            tree.mismatches(object, &self.bindings).map_or(usize::MAX, |found| found.len())
        };
        let objects = found.objects.iter().map(|(_, object)| object);
        objects.min_by_key(|object| differences(object))
    }

    fn judge(&self, found: &Found) -> Result<Vec<Difference>, Trouble> {
        let each = |differs: &dyn Fn(&Value) -> Option<(Lack, String)>| -> Vec<Difference> {
            let objects = found.objects.iter();
            let one = |(name, object): &(String, Value)| {
                differs(object).map(|(how, text)| Difference::new(name, how, &text))
            };
            objects.filter_map(one).collect()
        };
        Ok(match &self.check.expected {
            Expected::Match(tree) => self.any_matches(tree, found)?,
            Expected::NoMatch(tree) => {
                let mut differences = Vec::new();
                for (name, object) in &found.objects {
                    if tree.mismatches(object, &self.bindings)?.is_empty() {
                        let text = "matches, and should not";
                        differences.push(Difference::new(name, Lack::Present, text));
                    }
                }
                differences
            }
            Expected::Gone => each(&|object| {
                object.pointer("/metadata/deletionTimestamp")?;
                Some((Lack::Present, still_there(object)))
            }),
            Expected::Absent => each(&|object| Some((Lack::Present, still_there(object)))),
            _ if found.objects.is_empty() => found.none(),
            Expected::Present => Vec::new(),
            Expected::Condition { name, value } => {
                let (name, value) = (self.text(name)?, self.text(value)?);
                let place = || Lack::Field(format!(".status.conditions[{name}]"));
                each(&|object| Some((place(), condition(object, &name, &value)?)))
            }
            Expected::JsonPath { path, value } => {
                let text = self.text(path)?;
                let expected = value.as_ref().map(|value| self.text(value)).transpose()?;
                let place = || Lack::Field(text.clone());
                match jsonpath::Path::parse(&text) {
                    Err(reason) => vec![Difference::new("", place(), &reason)],
                    Ok(path) => each(&|object| {
                        Some((place(), at_path(object, &path, &text, expected.as_deref())?))
                    }),
                }
            }
        })
    }

    /// Nothing if one object matches; else how the nearest ones differ.
    fn any_matches(&self, tree: &Tree, found: &Found) -> Result<Vec<Difference>, Trouble> {
        let mut nearest: Vec<Vec<Difference>> = Vec::new();
        for (name, object) in &found.objects {
            let differences = mismatches(name, tree, object, &self.bindings)?;
            if differences.is_empty() {
                return Ok(Vec::new());
            }
            nearest.push(differences);
        }
        // Few differences first: the object that the author means is the one that nearly matches.
        nearest.sort_by_key(Vec::len);
        match nearest.is_empty() {
            true => Ok(found.none()),
            false => Ok(nearest.into_iter().flatten().collect()),
        }
    }

    async fn find(&self, target: &Target) -> Result<Found, Trouble> {
        let (api_version, kind) = (self.text(&target.api_version)?, self.text(&target.kind)?);
        let resource = self.client.resource(&api_version, &kind).await?;
        let namespace = match self.text(&target.namespace)?.as_str() {
            _ if !resource.namespaced => String::new(),
            "" => self.namespace.to_owned(),
            "*" if matches!(target.selector, Selector::Text(_)) => String::new(),
            own => own.to_owned(),
        };
        let name = self.text(&target.name)?;
        let selection = |what: &str| -> String {
            let parts = [&resource.shown(), namespace.as_str(), what];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
        };
        if !name.is_empty() {
            let selection = selection(&name);
            let objects = match self.client.get(&resource, &namespace, &name).await {
                Ok(object) => vec![(selection.clone(), object)],
                Err(error) if error.is_not_found() => Vec::new(),
                Err(error) => return Err(error.into()),
            };
            return Ok(Found { selection, objects });
        }
        let selector = match &target.selector {
            Selector::Text(selector) => self.text(selector)?,
            Selector::Labels(labels) => {
                let labels = labels.evaluate(&Value::Null, &self.bindings)?;
                labels.as_object().map(label_selector).unwrap_or_default()
            }
        };
        let objects = self.client.list(&resource, &namespace, &selector).await?;
        let objects = objects.into_iter().map(|object| (shown(&resource, &object), object));
        let selection = match selector.is_empty() {
            true => selection(""),
            false => format!("{} with {selector}", selection("")),
        };
        Ok(Found { selection, objects: objects.collect() })
    }

    /// A template that gives text; anything else gives none.
    fn text(&self, template: &Template) -> Result<String, EvaluationError> {
        Ok(match template.evaluate(&Value::Null, &self.bindings)? {
            Value::String(text) => text,
            _ => String::new(),
        })
    }
}

fn mismatches(
    name: &str,
    tree: &Tree,
    object: &Value,
    bindings: &Bindings,
) -> Result<Vec<Difference>, EvaluationError> {
    let found = tree.mismatches(object, bindings)?;
    let difference =
        |one: &Mismatch| Difference::new(name, Lack::Field(one.path.clone()), &one.to_string());
    Ok(found.iter().map(difference).collect())
}

fn still_there(object: &Value) -> String {
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    let names: Vec<&str> = finalizers.into_iter().flatten().filter_map(Value::as_str).collect();
    match (object.pointer("/metadata/deletionTimestamp"), names.is_empty()) {
        (None, _) => "expected nothing, found it, not being deleted".to_owned(),
        (Some(_), true) => "expected nothing, found it, being deleted".to_owned(),
        (Some(_), false) => {
            format!("expected nothing, found it, held by finalizers {}", names.join(", "))
        }
    }
}

/// kubectl compares a condition's type and status without regard to case.
fn condition(object: &Value, name: &str, status: &str) -> Option<String> {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let condition = conditions.into_iter().flatten().find(|condition| {
        condition["type"].as_str().is_some_and(|found| found.eq_ignore_ascii_case(name))
    });
    let found = match condition {
        None => "no such condition".to_owned(),
        Some(condition) => match condition["status"].as_str() {
            Some(found) if found.eq_ignore_ascii_case(status) => {
                return outdated(object, condition);
            }
            found => found.unwrap_or("no status").to_owned(),
        },
    };
    Some(format!("condition {name}: expected {status}, found {found}"))
}

/// A condition of an older generation says nothing about this one (kubectl looks at it too).
fn outdated(object: &Value, condition: &Value) -> Option<String> {
    let observed = condition["observedGeneration"].as_i64()?;
    let generation = object.pointer("/metadata/generation").and_then(Value::as_i64)?;
    let text = || format!("the condition is of generation {observed}, the object of {generation}");
    (observed < generation).then(text)
}

fn at_path(
    object: &Value,
    path: &jsonpath::Path,
    text: &str,
    expected: Option<&str>,
) -> Option<String> {
    let shown = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let found = path.values(object);
    match (&found[..], expected) {
        ([], None) => Some(format!("{text}: expected anything, found nothing")),
        (_, None) => None,
        ([], Some(expected)) => Some(format!("{text}: expected {expected:?}, found nothing")),
        ([only], Some(expected)) if shown(only) == expected => None,
        (found, Some(expected)) => {
            let found: Vec<String> = found.iter().map(|value| shown(value)).collect();
            Some(format!("{text}: expected {expected:?}, found {}", found.join(", ")))
        }
    }
}

fn shown(resource: &Resource, object: &Value) -> String {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
    let (namespace, name) = (text("namespace"), text("name"));
    match namespace.is_empty() {
        true => format!("{}/{name}", resource.shown()),
        false => format!("{}/{namespace}/{name}", resource.shown()),
    }
}

/// Messages are for people: enough lines to see what is wrong, and how many more there are.
fn shortened(differences: &[Difference]) -> String {
    const LINES_MAX: usize = 12;
    let shown = differences.iter().take(LINES_MAX).map(|one| one.line.clone());
    let more = differences.len().saturating_sub(LINES_MAX);
    let more = (more > 0).then(|| format!("… and {more} more"));
    shown.chain(more).collect::<Vec<_>>().join("\n")
}
