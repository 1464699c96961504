//! AdmissionReview: what a webhook is asked (`plugin/webhook/request`).

use serde_json::{Map, Value, json};

use super::matching::Resource;
use crate::{cel::Asker, rbac, server::request::Request, verbs::Work};

/// A type by its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gvk {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
}

/// What a write is, for those who judge it (`admission.Attributes`).
#[derive(Debug, Clone)]
pub(crate) struct Attributes<'a> {
    /// `CREATE`, `UPDATE`, `DELETE`.
    pub(crate) operation: &'static str,
    pub(crate) kind: Gvk,
    pub(crate) resource: Resource,
    pub(crate) subresource: String,
    /// Empty for objects in none; a namespace lies in itself.
    pub(crate) namespace: String,
    /// Empty while it is not known yet.
    pub(crate) name: String,
    /// The object before, in the request's version.
    pub(crate) old: Option<&'a Value>,
    pub(crate) user: Value,
    pub(crate) options: Value,
    pub(crate) dry_run: bool,
}

impl<'a> Attributes<'a> {
    /// Of the request at work. `object` is what it is about to write, none for a delete.
    pub(crate) fn of(
        work: &Work<'_>,
        object: Option<&Value>,
        old: Option<&'a Value>,
        options: Value,
        dry_run: bool,
    ) -> Attributes<'a> {
        let (row, route) = (work.kind.row(), work.route);
        let operation = match (object, old) {
            (None, _) => "DELETE",
            (Some(_), None) => "CREATE",
            (Some(_), Some(_)) => "UPDATE",
        };
        let gvk = |group: &str, version: &str, kind: &str| Gvk {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        };
        // Status and the like have the type of their object.
        let kind = match row.subresource(&route.subresource) {
            Some(below) => gvk(&below.group, &below.version, &below.kind),
            None => gvk(&row.group, &row.version, &row.kind),
        };
        let name = match route.name.as_str() {
            "" => object.map_or("", |object| object["metadata"]["name"].as_str().unwrap_or("")),
            name => name,
        };
        let own = route.resource == "namespaces" && route.group.is_empty();
        Attributes {
            operation,
            kind,
            resource: Resource {
                group: row.group.clone(),
                version: row.version.clone(),
                resource: row.resource.clone(),
            },
            subresource: route.subresource.clone(),
            namespace: if own { name.to_owned() } else { route.namespace.clone() },
            name: name.to_owned(),
            old,
            user: work.request.user.info(),
            options,
            dry_run,
        }
    }

    /// What `authorizer.requestResource` checks: the write itself, without a verb (`NewResourceAuthorizerVal`).
    pub(crate) fn asked(&self) -> rbac::Attributes {
        rbac::Attributes {
            group: self.resource.group.clone(),
            resource: self.resource.resource.clone(),
            subresource: self.subresource.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            ..rbac::Attributes::default()
        }
    }

    /// The `request` of an AdmissionReview, without its uid, for a webhook that asked for the type as `form`.
    pub(crate) fn request(
        &self,
        form: &Resource,
        kind: &Gvk,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Value {
        let shown = |resource: &Resource| {
            json!({
                "group": resource.group, "version": resource.version, "resource": resource.resource,
            })
        };
        let mut request = json!({
            "kind": shown_kind(kind),
            "resource": shown(form),
            "requestKind": shown_kind(&self.kind),
            "requestResource": shown(&self.resource),
            "operation": self.operation,
            "userInfo": self.user,
            "object": object,
            "oldObject": old,
            "dryRun": self.dry_run,
            "options": self.options,
        });
        let subresource = &self.subresource;
        for (field, text) in [
            ("subResource", subresource),
            ("requestSubResource", subresource),
            ("name", &self.name),
            ("namespace", &self.namespace),
        ] {
            if !text.is_empty() {
                request[field] = json!(text);
            }
        }
        request
    }
}

impl Work<'_> {
    /// Who sends the request at work, for expressions that ask what they may do.
    pub(crate) fn asker(&self) -> Asker {
        Asker::new(self.live.world.clone(), self.request.user.clone())
    }
}

fn shown_kind(kind: &Gvk) -> Value {
    json!({"group": kind.group, "version": kind.version, "kind": kind.kind})
}

/// `CreateOptions` or `UpdateOptions` of a request, as its query gives them.
pub(crate) fn write_options(request: &Request, kind: &str) -> Value {
    let mut options = Map::new();
    options.insert("kind".to_owned(), json!(kind));
    options.insert("apiVersion".to_owned(), json!("meta.k8s.io/v1"));
    if request.query("dryRun") == "All" {
        options.insert("dryRun".to_owned(), json!(["All"]));
    }
    for field in ["fieldManager", "fieldValidation"] {
        let value = request.query(field);
        if !value.is_empty() {
            options.insert(field.to_owned(), json!(value));
        }
    }
    Value::Object(options)
}
