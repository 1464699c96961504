//! Subresources that are no part of their object: scale, binding, eviction, token.

use std::sync::Arc;

use serde_json::{Value, json};
use trace::GroupResource;

use super::{Outcome, Work, object, patch::refused};
use crate::{
    admission::Again,
    patch::{self, PatchType},
    schema::{FieldError, FieldErrorKind, Schema},
    status::Refusal,
    webhooks::Change,
    world::meta,
};

/// Where an object keeps what `Scale` shows.
struct ScalePaths {
    spec: String,
    status: String,
    /// Absent where the type has none.
    selector: Option<String>,
}

/// `.spec.replicas` as a JSON pointer.
fn pointer(path: &str) -> String {
    path.replace('.', "/")
}

impl Work<'_> {
    fn scale_paths(&self) -> ScalePaths {
        let at = |name: &str| self.scale_path(name).map(pointer);
        match self.kind.is_custom() {
            true => ScalePaths {
                spec: at("specReplicasPath").unwrap_or_default(),
                status: at("statusReplicasPath").unwrap_or_default(),
                selector: at("labelSelectorPath"),
            },
            false => ScalePaths {
                spec: "/spec/replicas".to_owned(),
                status: "/status/replicas".to_owned(),
                selector: Some("/spec/selector".to_owned()),
            },
        }
    }

    /// Whether a custom object says nothing of how many there should be. Zero is something (`ScaleREST`).
    fn lacks_replicas(&self, object: &Value) -> bool {
        self.kind.is_custom() && object.pointer(&self.scale_paths().spec).is_none()
    }

    /// A path of a custom type's `scale`, as it is written.
    fn scale_path(&self, name: &str) -> Option<&str> {
        self.kind.custom()?.scale.as_ref()?.get(name)?.as_str()
    }

    /// What is said of a custom object that [lacks](Work::lacks_replicas) replicas.
    fn of_replicas(&self, what: &str) -> String {
        let path = self.scale_path("specReplicasPath").unwrap_or_default();
        format!("the spec replicas field {path:?} {what}")
    }

    fn scale_of(&self, object: &Value) -> Value {
        let paths = self.scale_paths();
        let number = |path: &str| object.pointer(path).and_then(Value::as_i64);
        let mut metadata = json!({});
        for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
            if let Some(value) = object["metadata"].get(field) {
                metadata[field] = value.clone();
            }
        }
        let mut status = json!({"replicas": number(&paths.status).unwrap_or(0)});
        if let Some(selector) = paths.selector.and_then(|path| object.pointer(&path)) {
            let text = selector_text(selector);
            if !text.is_empty() {
                status["selector"] = json!(text);
            }
        }
        let mut spec = json!({});
        if let Some(replicas) = number(&paths.spec).filter(|replicas| *replicas != 0) {
            spec["replicas"] = json!(replicas);
        }
        json!({
            "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": spec,
            "status": status,
        })
    }

    pub(super) fn get_scale(&mut self) -> Result<Outcome, Refusal> {
        let stored = self.stored()?;
        let object = self.present(&stored)?;
        if self.lacks_replicas(&object) {
            return Err(Refusal::internal(self.of_replicas("does not exist")));
        }
        Ok(Outcome::object(200, Arc::new(self.scale_of(&object))))
    }

    pub(super) fn update_scale(&mut self) -> Result<Outcome, Refusal> {
        let body = self.read_object()?;
        let dry_run = self.request.dry_run();
        let old = self.stored()?;
        self.write_scale(&old, &body, dry_run)
    }

    pub(super) fn patch_scale(
        &mut self,
        old: &Arc<Value>,
        kind: PatchType,
        patch: &Value,
        dry_run: bool,
    ) -> Result<Outcome, Refusal> {
        let shown = self.present(old)?;
        let scale = self.scale_of(&shown);
        let schema = Schema::builtin("autoscaling", "v1", "Scale");
        let new = patch::patch(kind, &scale, patch, schema.as_ref()).map_err(refused)?;
        if self.lacks_replicas(&shown) && new.pointer("/spec/replicas").is_none() {
            return Err(Refusal::bad_request(self.of_replicas("cannot be empty")));
        }
        self.write_scale(old, &new, dry_run)
    }

    fn write_scale(
        &mut self,
        old: &Arc<Value>,
        scale: &Value,
        dry_run: bool,
    ) -> Result<Outcome, Refusal> {
        let shown = self.present(old)?;
        let before = self.scale_of(&shown);
        let mut scale = scale.clone();
        let change = Change { old: Some(&before), dry_run, sent: None };
        let mut again = Again::default();
        self.mutate(change, &mut scale, &mut again)?;
        if again.is_due() {
            again.begin();
            self.mutate(change, &mut scale, &mut again)?;
        }
        let scale = &scale;
        let replicas = scale.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(0);
        if replicas < 0 {
            let detail = "must be greater than or equal to 0";
            let kind = FieldErrorKind::Invalid;
            let value = Value::from(replicas);
            let error = FieldError::with_value("spec.replicas", kind, &value, detail);
            let name = &self.route.name;
            return Err(Refusal::invalid("autoscaling", "Scale", name, &[error]));
        }
        self.approve(change, scale)?;
        let mut new = (*shown).clone();
        let path = self.scale_paths().spec;
        set_pointer(&mut new, &path, json!(replicas));
        // A Scale that nobody manages is not tracked (`skipNonAppliedManager`).
        self.applied |= !is_managed(&shown, &path);
        new["metadata"]["resourceVersion"] = json!(meta(scale, "resourceVersion"));
        let outcome = self.replace(old, new, dry_run)?;
        Ok(self.show_scale(outcome))
    }

    /// The Scale of an object that is about to be answered.
    pub(super) fn show_scale(&self, outcome: Outcome) -> Outcome {
        let super::Payload::Object(object) = outcome.payload else { return outcome };
        Outcome::object(200, Arc::new(self.scale_of(&object)))
    }

    /// `pods/binding`: what a scheduler does.
    pub(super) fn bind(&mut self) -> Result<Outcome, Refusal> {
        let mut body = self.read_object()?;
        let dry_run = self.request.dry_run();
        if meta(&body, "name") != self.route.name {
            let why = "name in URL does not match name in Binding object";
            return Err(Refusal::bad_request(why));
        }
        self.admit_body(&mut body, dry_run)?;
        let errors = binding_errors(&body);
        if !errors.is_empty() {
            return Err(Refusal::unclassified(crate::rbac::aggregate(&errors)));
        }
        let old = self.stored()?;
        self.check_uid(&old, &body)?;
        let node = body.pointer("/target/name").and_then(Value::as_str).unwrap_or("").to_owned();
        let bound = old.pointer("/spec/nodeName").and_then(Value::as_str).unwrap_or("");
        let binding = GroupResource::new("", "pods/binding");
        let conflict = |why: String| Refusal::conflict(&binding, &self.route.name, &why);
        if object::is_terminating(&old) {
            return Err(conflict(format!(
                "pod {} is being deleted, cannot be assigned to a host",
                self.route.name
            )));
        }
        if !bound.is_empty() {
            return Err(conflict(format!(
                "pod {} is already assigned to node {bound:?}",
                self.route.name
            )));
        }
        let gates = old.pointer("/spec/schedulingGates").and_then(Value::as_array);
        if gates.is_some_and(|gates| !gates.is_empty()) {
            let why = format!("pod {} has non-empty .spec.schedulingGates", self.route.name);
            return Err(conflict(why));
        }
        let mut new = (*old).clone();
        new["spec"]["nodeName"] = json!(node);
        if let Some(status) = new["status"].as_object_mut() {
            status.remove("nominatedNodeName");
        }
        for part in ["annotations", "labels"] {
            let given = body["metadata"][part].as_object().into_iter().flatten();
            for (key, value) in given.filter(|(_, value)| value.is_string()) {
                new["metadata"][part][key] = value.clone();
            }
        }
        let mut conditions = new
            .pointer("/status/conditions")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        conditions.retain(|condition| condition["type"] != "PodScheduled");
        conditions.push(json!({
            "type": "PodScheduled", "status": "True", "lastProbeTime": null,
            "lastTransitionTime": self.now_text(),
        }));
        new["status"]["conditions"] = Value::Array(conditions);
        if !dry_run {
            self.live.put(&self.request.author, self.key(&self.route.name), new);
        }
        Ok(success(201))
    }
}

/// What is wrong with a Binding (`ValidatePodBinding`).
fn binding_errors(binding: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    let text = |field: &str| binding["target"][field].as_str().unwrap_or("");
    if !matches!(text("kind"), "" | "Node") {
        let (kind, value) = (FieldErrorKind::NotSupported, &binding["target"]["kind"]);
        let known = "supported values: \"Node\", \"<empty>\"";
        errors.push(FieldError::with_value("target.kind", kind, value, known).to_string());
    }
    if text("name").is_empty() {
        errors.push(FieldError::required("target.name").to_string());
    }
    errors
}

/// The `Status` of a subresource that has nothing to show.
pub(super) fn success(code: u16) -> Outcome {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code,
    });
    Outcome::object(code, Arc::new(status))
}

/// Whether somebody manages the field at a path.
fn is_managed(object: &Value, path: &str) -> bool {
    let fields = path.replace('/', "/f:");
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    entries.into_iter().flatten().any(|entry| entry["fieldsV1"].pointer(&fields).is_some())
}

fn set_pointer(object: &mut Value, path: &str, value: Value) {
    let mut at = object;
    for step in path.split('/').filter(|step| !step.is_empty()) {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[step];
    }
    *at = value;
}

/// A label selector as text: `a=b,c in (d,e),!f`. A text stays as it is; a plain map is what
/// ReplicationControllers have.
pub(crate) fn selector_text(selector: &Value) -> String {
    let Some(fields) = selector.as_object() else {
        return selector.as_str().unwrap_or("").to_owned();
    };
    let labels = match fields.contains_key("matchLabels") || fields.contains_key("matchExpressions")
    {
        true => fields.get("matchLabels").and_then(Value::as_object),
        false => Some(fields),
    };
    let equal = labels
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("")));
    let expressions = fields.get("matchExpressions").and_then(Value::as_array);
    let others = expressions.into_iter().flatten().map(|expression| {
        let text = |name: &str| expression[name].as_str().unwrap_or("");
        let values: Vec<&str> = expression["values"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        match text("operator") {
            "In" => format!("{} in ({})", text("key"), values.join(",")),
            "NotIn" => format!("{} notin ({})", text("key"), values.join(",")),
            "DoesNotExist" => format!("!{}", text("key")),
            _ => text("key").to_owned(),
        }
    });
    equal.chain(others).collect::<Vec<_>>().join(",")
}
