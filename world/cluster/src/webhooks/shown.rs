//! Whether a webhook is about a write, and in which form it sees it (`plugin/webhook/generic`, `matchconditions`).

use serde_json::Value;

use super::{
    hook::{Hook, Role},
    matching,
    review::{Attributes, Gvk},
};
use crate::{
    cel::{Question, Variables},
    status::Refusal,
    verbs::Work,
    world::kinds::Kind,
};

/// The form of an object in which a webhook asked for it.
pub(crate) struct Shown {
    pub(crate) kind: Gvk,
    /// None where the form is the request's.
    pub(crate) other: Option<Kind>,
    pub(crate) object: Option<Value>,
    pub(crate) old: Option<Value>,
    pub(crate) form: matching::Resource,
}

impl Work<'_> {
    /// What a webhook is to see, if it is about this write at all. Errors: it can't be told.
    pub(super) fn shown(
        &mut self,
        (hook, role): (&Hook, Role),
        about: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<Option<Shown>, Refusal> {
        let (world, spec) = (&self.live.world, &hook.spec);
        let Some(selected) = matching::is_selected(world, spec, about, object) else {
            return Ok(None);
        };
        let equivalent = spec["matchPolicy"] != "Exact";
        let Some(form) = matching::form(world, &spec["rules"], equivalent, about, &self.kind)
        else {
            return Ok(None);
        };
        selected?;
        let shown = self.converted(form, about, object);
        let shown = shown.map_err(|refusal| unconverted(role, refusal))?;
        let conditions = spec["matchConditions"].as_array().filter(|list| !list.is_empty());
        let Some(conditions) = conditions else { return Ok(Some(shown)) };
        // Whatever form of the type it asked for, conditions see that of the request (`matcher.Match`).
        let form = &about.resource;
        let request = about.request(form, &shown.kind, shown.object.as_ref(), shown.old.as_ref());
        let mut variables = Variables::of(&request);
        variables.authorize(&self.asker(), about.asked());
        let fails = !hook.ignores_failures();
        match hold(conditions, &variables, Question::compile) {
            Ok(true) => Ok(Some(shown)),
            Ok(false) => Ok(None),
            Err(why) if fails => {
                let (resource, name) = (self.kind.served(), about.name.as_str());
                Err(Refusal::forbidden(&resource, name, &why))
            }
            Err(_) => Ok(None),
        }
    }

    /// The objects in the version that a webhook asked for. Errors: 500 if they can't be converted; or the run can't go
    /// on without calls.
    pub(crate) fn converted(
        &mut self,
        form: matching::Resource,
        about: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<Shown, Refusal> {
        let as_they_are = |form| Shown {
            kind: about.kind.clone(),
            other: None,
            object: object.cloned(),
            old: about.old.cloned(),
            form,
        };
        if form == about.resource {
            return Ok(as_they_are(form));
        }
        let other = self.live.world.kind(&form.group, &form.version, &form.resource);
        let other = other.ok_or_else(Refusal::no_such_path)?;
        let row = other.row();
        if row.subresource(&about.subresource).is_some_and(|below| below.kind != row.kind) {
            // The bodies of such subresources are the same in all versions.
            return Ok(as_they_are(form));
        }
        let kind =
            Gvk { group: row.group.clone(), version: row.version.clone(), kind: row.kind.clone() };
        let to = other.api_version();
        let object = object.map(|object| self.convert(object, &to));
        // Both are asked for at once.
        let old = about.old.map(|old| self.convert(old, &to));
        let (object, old) = (object.transpose()?, old.transpose()?);
        Ok(Shown { kind, other: Some(other), object, old, form })
    }
}

/// Upstream wraps what is wrong with a conversion, for mutating webhooks twice.
fn unconverted(role: Role, refusal: Refusal) -> Refusal {
    let once = Refusal::internal(refusal.message);
    if role == Role::Mutating { Refusal::internal(once.message) } else { once }
}

/// Whether all conditions hold. Errors: some can't be evaluated, and none is false.
pub(crate) fn hold(
    conditions: &[Value],
    variables: &Variables,
    compile: fn(&str) -> Result<Question, String>,
) -> Result<bool, String> {
    let mut errors = Vec::new();
    for condition in conditions {
        let source = condition["expression"].as_str().unwrap_or("");
        match compile(source).and_then(|question| question.holds(variables)) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(why) => errors.push(format!("expression '{source}' resulted in error: {why}")),
        }
    }
    match errors.is_empty() {
        true => Ok(true),
        false => Err(crate::rbac::aggregate(&errors)),
    }
}
