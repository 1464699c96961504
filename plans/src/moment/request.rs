//! Requests that mean the same to a model, which knows less of them than a recorded run.

use std::fmt;

use serde::{Deserialize, Serialize};
use trace::{Call, GroupResource, Verb};

use super::{NamePattern, Named};

/// Requests of the subject, as far as somebody cares to say.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestMatch {
    /// What they ask for.
    pub verb: Verbs,
    /// On which type.
    pub resource: GroupResource,
    /// `status`, …; empty for the object itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subresource: String,
    /// In which namespace; none: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// On which object; none: any. A create with `generateName: foo-` has the name `foo-*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<NamePattern>,
}

/// One verb, or several where clients differ: `update`, `[update, patch]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged, expecting = "a verb (create, update, patch, delete, …) or a list of verbs")]
pub enum Verbs {
    /// This one.
    One(Verb),
    /// Any of these.
    Several(Vec<Verb>),
}

impl Verbs {
    fn all(&self) -> &[Verb] {
        match self {
            Verbs::One(verb) => std::slice::from_ref(verb),
            Verbs::Several(verbs) => verbs,
        }
    }
}

impl RequestMatch {
    /// Whether `call` is such a request.
    pub fn matches(&self, call: &Call) -> bool {
        self.verb.all().contains(&call.verb)
            && call.resource.as_ref() == Some(&self.resource)
            && call.subresource == self.subresource
            && self.namespace.as_ref().is_none_or(|namespace| *namespace == call.namespace)
            && self.name.as_ref().is_none_or(|pattern| match Named::by(call) {
                Some(Named::Given(name)) => pattern.matches(name),
                Some(Named::Prefix(prefix)) => pattern.0.strip_suffix('*') == Some(prefix),
                None => false,
            })
    }

    /// Whether each request that `other` matches is such a request, too.
    pub fn covers(&self, other: &RequestMatch) -> bool {
        let verbs = self.verb.all();
        let covers_name = |pattern: &NamePattern| match &other.name {
            Some(name) => pattern.covers(name),
            None => false,
        };
        other.verb.all().iter().all(|verb| verbs.contains(verb))
            && self.resource == other.resource
            && self.subresource == other.subresource
            && (self.namespace.is_none() || self.namespace == other.namespace)
            && self.name.as_ref().is_none_or(covers_name)
    }
}

impl fmt::Display for RequestMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verbs: Vec<String> = self.verb.all().iter().map(Verb::to_string).collect();
        write!(f, "{} of {}", verbs.join(" or "), self.resource)?;
        if let Some(namespace) = self.namespace.as_ref().filter(|namespace| !namespace.is_empty()) {
            write!(f, "/{namespace}")?;
        }
        if let Some(name) = &self.name {
            write!(f, "/{}", name.0)?;
        }
        if !self.subresource.is_empty() {
            write!(f, " ({})", self.subresource)?;
        }
        Ok(())
    }
}

/// Where on its way a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnItsWay {
    /// The subject has sent it, and it reaches no API server.
    Sent,
    /// It was carried out, and the subject has not heard.
    CarriedOut,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use trace::Body;

    use super::*;
    use crate::fixture::call;

    #[test]
    fn what_is_not_said_may_be_anything() {
        let parsed = |text: serde_json::Value| -> RequestMatch {
            serde_json::from_value(text).expect("a request")
        };
        let any = parsed(json!({"verb": "create", "resource": "pods"}));
        let some = parsed(
            json!({"verb": ["create", "patch"], "resource": "pods", "namespace": "default", "name": "a-*"}),
        );
        let other =
            parsed(json!({"verb": "create", "resource": "pods", "subresource": "eviction"}));
        let mut create = call(1, Verb::Create, "pods", 1);
        create.body = Body::Json(Arc::new(json!({"metadata": {"generateName": "a-"}})));
        let matched = |request: &RequestMatch, call: &Call| request.matches(call);
        assert!(matched(&any, &create) && matched(&some, &create) && !matched(&other, &create));
        create.body = Body::Json(Arc::new(json!({"metadata": {"name": "b-1"}})));
        assert!(matched(&any, &create) && !matched(&some, &create));
        assert!(!matched(&any, &call(1, Verb::Update, "pods", 1)));
        assert_eq!(some.to_string(), "create or patch of pods/default/a-*");
    }

    #[test]
    fn what_covers_matches_all_of_the_other() {
        let parsed = |verb: &str, name: &str| -> RequestMatch {
            let verb: serde_json::Value = serde_json::from_str(verb).expect("a verb");
            let mut request = json!({"verb": verb, "resource": "pods"});
            if !name.is_empty() {
                request["name"] = name.into();
            }
            serde_json::from_value(request).expect("a request")
        };
        let check = |one: (&str, &str), other: (&str, &str), expect: bool| {
            let covers = parsed(one.0, one.1).covers(&parsed(other.0, other.1));
            assert_eq!(covers, expect, "{one:?} {other:?}");
        };
        let (one, list, both) = (r#""create""#, r#"["create"]"#, r#"["create", "patch"]"#);
        check((one, ""), (list, "a"), true);
        check((both, ""), (one, ""), true);
        check((one, ""), (both, ""), false);
        check((one, "a"), (one, ""), false);
        check((one, "a"), (one, "a"), true);
        check((one, "a-*"), (one, "a-1"), true);
        check((one, "a-*"), (one, "a-b-*"), true);
        check((one, "a-*"), (one, "a-*"), true);
        check((one, "a-1"), (one, "a-*"), false);
        check((one, "a-*"), (one, "a*"), false);
    }
}
