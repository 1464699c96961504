//! Calling the webhooks that a write meets (`plugin/webhook/mutating`, `plugin/webhook/validating`).
//!
//! Mutating ones are called before the type's strategy has touched the object, one after the other; validating ones
//! when it is valid and about to be stored, all at once. Of several that refuse, upstream tells the one that was
//! quickest; ours the first in order.
//!
//! On an update of a subresource a mutating webhook sees the parts that the request can't write as they are stored,
//! upstream as the client sent them. Who could notice: a webhook on `status` that looks at a spec which its client
//! has made up.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Value, json};

use super::{
    calls::Calls,
    client,
    hook::{Hook, Role},
    matching,
    reply::{self, Verdict},
    review::{Attributes, Gvk, write_options},
};
use crate::{
    cel::{Question, Variables},
    names::Names,
    patch::{PatchType, patch},
    status::Refusal,
    verbs::Work,
    world::meta,
};

/// Which webhooks are called once more because something changed after them (`reinvocationPolicy: IfNeeded`).
#[derive(Debug, Default)]
pub(crate) struct Again {
    is_second: bool,
    due: bool,
    /// Those that were called and want to hear of later changes.
    called: BTreeSet<String>,
    /// Those to call in the second round.
    wanted: BTreeSet<String>,
    /// What the first round made of the object.
    output: Value,
}

impl Again {
    /// Whether there has to be a second round.
    pub(crate) fn is_due(&self) -> bool {
        self.due && !self.is_second
    }

    /// Begins it; `object` is what the built-in plug-ins have made of it since.
    pub(crate) fn begin(&mut self, object: &Value) {
        self.is_second = true;
        if self.output != *object {
            self.changed();
        }
    }

    fn changed(&mut self) {
        self.wanted.append(&mut self.called);
    }
}

/// A write as admission sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change<'a> {
    /// The object before; none for a new one.
    pub(crate) old: Option<&'a Value>,
    pub(crate) dry_run: bool,
    /// The object as it was sent, where mutating webhooks are to see it.
    pub(crate) sent: Option<&'a Value>,
}

/// What is given to a new object after mutating webhooks have seen it.
const GIVEN_LATER: [&str; 3] = ["uid", "creationTimestamp", "generation"];
/// What an update takes from the stored object after mutating webhooks have seen it.
const KEPT_LATER: [&str; 6] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
];

impl Change<'_> {
    fn options(&self, work: &Work<'_>) -> Value {
        let kind = if self.old.is_some() { "UpdateOptions" } else { "CreateOptions" };
        write_options(work.request, kind)
    }

    /// The object as mutating webhooks see it.
    fn hide(&self, object: &Value) -> Value {
        let mut view = object.clone();
        let Some(sent) = self.sent else { return view };
        match self.old {
            None => {
                let unnamed = meta(sent, "name").is_empty();
                let later = GIVEN_LATER.into_iter().chain(unnamed.then_some("name"));
                later.for_each(|field| set(&mut view["metadata"], field, None));
            }
            Some(_) => {
                for field in KEPT_LATER {
                    set(&mut view["metadata"], field, sent["metadata"].get(field));
                }
            }
        }
        set(&mut view, "status", sent.get("status"));
        view
    }

    /// What they made of it, with what they did not see.
    fn reveal(&self, object: &Value, mut view: Value) -> Value {
        if self.sent.is_none() || self.old.is_some() {
            return view;
        }
        let unnamed = meta(&view, "name").is_empty();
        for field in GIVEN_LATER.into_iter().chain(unnamed.then_some("name")) {
            set(&mut view["metadata"], field, object["metadata"].get(field));
        }
        set(&mut view, "status", object.get("status"));
        view
    }
}

fn set(object: &mut Value, field: &str, value: Option<&Value>) {
    match (value, object.as_object_mut()) {
        (Some(value), Some(fields)) => drop(fields.insert(field.to_owned(), value.clone())),
        (None, Some(fields)) => drop(fields.remove(field)),
        (_, None) => {}
    }
}

/// The form of an object in which a webhook asked for it.
struct Shown {
    kind: Gvk,
    /// None where the form is the request's.
    other: Option<crate::world::kinds::Kind>,
    object: Option<Value>,
    old: Option<Value>,
    form: matching::Resource,
}

impl Work<'_> {
    /// Lets mutating webhooks change an object that is about to be created or updated; whether there are any. Errors: what they refuse
    /// with; 500 for one that can't be called and must.
    pub(crate) fn mutate(
        &mut self,
        change: Change<'_>,
        object: &mut Value,
        again: &mut Again,
    ) -> Result<bool, Refusal> {
        if !self.meets_hooks() {
            return Ok(false);
        }
        let hooks = Hook::all(&self.live.world, Role::Mutating);
        if !hooks.is_empty() {
            let mut view = change.hide(object);
            let options = change.options(self);
            let about = Attributes::of(self, Some(&view), change.old, options, change.dry_run);
            self.mutate_with(&hooks, &about, Some(&mut view), again)?;
            *object = change.reveal(object, view);
        }
        again.output = object.clone();
        Ok(!hooks.is_empty())
    }

    /// Asks validating webhooks about an object that is about to be stored.
    pub(crate) fn approve(&mut self, change: Change<'_>, object: &Value) -> Result<(), Refusal> {
        if !self.meets_hooks() {
            return Ok(());
        }
        let hooks = Hook::all(&self.live.world, Role::Validating);
        if hooks.is_empty() {
            return Ok(());
        }
        let options = change.options(self);
        let about = Attributes::of(self, Some(object), change.old, options, change.dry_run);
        self.validate_with(&hooks, &about, Some(object))
    }

    /// Asks all webhooks about a delete.
    pub(crate) fn approve_delete(
        &mut self,
        old: &Value,
        options: Value,
        dry_run: bool,
    ) -> Result<(), Refusal> {
        let about = Attributes::of(self, None, Some(old), options, dry_run);
        let hooks = Hook::all(&self.live.world, Role::Mutating);
        self.mutate_with(&hooks, &about, None, &mut Again::default())?;
        let hooks = Hook::all(&self.live.world, Role::Validating);
        self.validate_with(&hooks, &about, None)
    }

    /// All webhooks on the body of a subresource that is no part of its object.
    pub(crate) fn admit_body(&mut self, body: &mut Value, dry_run: bool) -> Result<(), Refusal> {
        if !self.meets_any_hook() {
            return Ok(());
        }
        if !self.route.namespace.is_empty() {
            body["metadata"]["namespace"] = json!(self.route.namespace);
        }
        self.track_body(body)?;
        let change = Change { old: None, dry_run, sent: None };
        let mut again = Again::default();
        self.mutate(change, body, &mut again)?;
        if again.is_due() {
            again.begin(body);
            self.mutate(change, body, &mut again)?;
        }
        self.approve(change, body)
    }

    /// An object as it was sent, if mutating webhooks may have to see it.
    pub(crate) fn as_sent(&self, object: &Value) -> Option<Value> {
        (self.meets_hooks() && Hook::any(&self.live.world, Role::Mutating)).then(|| object.clone())
    }

    /// Whether there are any webhooks that could be asked.
    pub(crate) fn meets_any_hook(&self) -> bool {
        let any = |role| Hook::any(&self.live.world, role);
        self.meets_hooks() && (any(Role::Mutating) || any(Role::Validating))
    }

    fn meets_hooks(&self) -> bool {
        let row = self.kind.row();
        self.calls.are_made() && !matching::is_exempt(&row.group, &row.kind)
    }

    fn mutate_with(
        &mut self,
        hooks: &[Hook],
        about: &Attributes<'_>,
        mut object: Option<&mut Value>,
        again: &mut Again,
    ) -> Result<(), Refusal> {
        for hook in hooks {
            let current = object.as_deref();
            let Some(shown) = self.shown(hook, about, current)? else { continue };
            if again.is_second && !again.wanted.contains(&hook.uid) {
                continue;
            }
            let Some(verdict) = self.call(hook, Role::Mutating, about, &shown)? else {
                return Err(Calls::stopped());
            };
            let changed = match verdict {
                Ok(verdict) => {
                    self.warnings.extend(verdict.warnings);
                    let patch = verdict.decision.map_err(|refusal| *refusal)?;
                    match patch {
                        Some(patch) => self.change(hook, &shown, &patch, object.as_deref_mut())?,
                        None => false,
                    }
                }
                Err(_) if hook.ignores_failures() => false,
                Err(why) => return Err(failed(hook, &why)),
            };
            if changed {
                again.changed();
                again.due = true;
            }
            if hook.is_reinvocable() {
                again.called.insert(hook.uid.clone());
            }
        }
        Ok(())
    }

    fn validate_with(
        &mut self,
        hooks: &[Hook],
        about: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Refusal> {
        let mut asked = Vec::new();
        for hook in hooks {
            if let Some(shown) = self.shown(hook, about, object)? {
                asked.push((hook, shown));
            }
        }
        let mut verdicts = Vec::new();
        for (hook, shown) in &asked {
            verdicts.push((hook, self.call(hook, Role::Validating, about, shown)));
        }
        if self.calls.is_wanting() {
            return Err(Calls::stopped());
        }
        let mut first = Ok(());
        for (hook, verdict) in verdicts {
            let judged = match verdict {
                Ok(Some(Ok(verdict))) => {
                    self.warnings.extend(verdict.warnings);
                    verdict.decision.map(drop).map_err(|refusal| *refusal)
                }
                Ok(Some(Err(why))) if !hook.ignores_failures() => Err(failed(hook, &why)),
                Ok(_) => Ok(()),
                Err(refusal) => Err(refusal),
            };
            first = first.and(judged);
        }
        first
    }

    /// What a webhook is to see, if it is about this write at all. Errors: it can't be told.
    fn shown(
        &mut self,
        hook: &Hook,
        about: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<Option<Shown>, Refusal> {
        let (world, spec) = (&self.live.world, &hook.spec);
        let selector = &spec["namespaceSelector"];
        let inside = matching::in_selected_namespace(world, selector, about, object);
        if matches!(inside, Ok(false))
            || !matching::is_selected_object(&spec["objectSelector"], object, about.old)
        {
            return Ok(None);
        }
        let equivalent = spec["matchPolicy"] != "Exact";
        let Some(form) = matching::form(world, &spec["rules"], equivalent, about, &self.kind)
        else {
            return Ok(None);
        };
        inside?;
        let shown = self.converted(form, about, object)?;
        let conditions = spec["matchConditions"].as_array().filter(|list| !list.is_empty());
        let Some(conditions) = conditions else { return Ok(Some(shown)) };
        let request =
            about.request(&shown.form, &shown.kind, shown.object.as_ref(), shown.old.as_ref());
        let variables = Variables::of(&request);
        let fails = !hook.ignores_failures();
        match hold(conditions, &variables) {
            Ok(true) => Ok(Some(shown)),
            Ok(false) => Ok(None),
            Err(why) if fails => {
                let (resource, name) = (self.kind.served(), about.name.as_str());
                Err(Refusal::forbidden(&resource, name, &why))
            }
            Err(_) => Ok(None),
        }
    }

    /// The objects in the version that a webhook asked for.
    fn converted(
        &self,
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
        let present = |object: &Value| -> Result<Value, Refusal> {
            let shown = other.present(&Arc::new(object.clone()))?;
            Ok(Arc::unwrap_or_clone(shown))
        };
        let object = object.map(present).transpose()?;
        let old = about.old.map(present).transpose()?;
        Ok(Shown { kind, other: Some(other), object, old, form })
    }

    /// What a webhook says, or why it can't be known; none if it has to be called first. Errors: it must not be
    /// called.
    fn call(
        &mut self,
        hook: &Hook,
        role: Role,
        about: &Attributes<'_>,
        shown: &Shown,
    ) -> Result<Option<Result<Verdict, String>>, Refusal> {
        if about.dry_run && !hook.takes_dry_runs() {
            let name = hook.name();
            return Err(Refusal::bad_request(format!(
                "admission webhook {name:?} does not support dry run"
            )));
        }
        let Some(version) = hook.review_version() else {
            let why = "could not create admission objects: webhook does not accept known AdmissionReview versions \
                       (v1, v1beta1)";
            return Ok(Some(Err(why.to_owned())));
        };
        let request =
            about.request(&shown.form, &shown.kind, shown.object.as_ref(), shown.old.as_ref());
        let question = json!([hook.uid, request, hook.spec["clientConfig"]]);
        let subject = shown.object.as_ref().or(shown.old.as_ref());
        let told =
            client::about(about.operation, &about.resource.resource, &about.namespace, subject);
        let live = &mut *self.live;
        let asked = self.calls.ask(question, || {
            let uid = Names::opaque(b"review", live.next_answer());
            let mut request = request;
            request["uid"] = json!(uid);
            let review = json!({
                "kind": "AdmissionReview", "apiVersion": format!("admission.k8s.io/{version}"),
                "request": request,
            });
            let spec = &hook.spec;
            let call = client::call(
                &live.world,
                (hook.name(), role.name(), told),
                &spec["clientConfig"],
                spec["timeoutSeconds"].as_u64(),
                review.to_string().into(),
            );
            (call, uid)
        });
        Ok(asked.map(|asked| reply::read(hook.name(), role, version, &asked)))
    }

    /// Applies a webhook's patch; whether it changed anything. Errors: 500.
    fn change(
        &mut self,
        hook: &Hook,
        shown: &Shown,
        operations: &Value,
        object: Option<&mut Value>,
    ) -> Result<bool, Refusal> {
        let (Some(object), Some(before)) = (object, &shown.object) else {
            return Err(internal(format!(
                "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
                hook.name()
            )));
        };
        let schema = shown.other.as_ref().unwrap_or(&self.kind).schema();
        let patched = patch(PatchType::Json, before, operations, schema.as_ref());
        let mut patched = patched.map_err(|error| internal(error.to_string()))?;
        let whole = self.has_own_body();
        if let Some(schema) = schema.filter(|_| whole) {
            if let Some(why) = schema.decode_error(&patched) {
                return Err(internal(why));
            }
            // Of a custom object unknown fields go when it is stored, and other webhooks still see them.
            if !self.kind.is_custom() {
                schema.prune(&mut patched);
            }
            schema.default(&mut patched);
            schema.internalize(&mut patched);
            crate::encoding::canonical(&mut patched)
                .map_err(|error| internal(error.to_string()))?;
        }
        let changed = patched != *before;
        *object = match &shown.other {
            Some(_) => Arc::unwrap_or_clone(self.kind.present(&Arc::new(patched))?),
            None => patched,
        };
        Ok(changed)
    }

    /// Removes what webhooks have put into a custom object and its schema doesn't know.
    pub(crate) fn prune_patched(&self, object: &mut Value) {
        if let Some(custom) = self.kind.custom().filter(|_| self.meets_any_hook()) {
            custom.schema.prune(object);
        }
    }

    /// Whether what is written has the type of its object (and not of a subresource of its own, like a Scale).
    fn has_own_body(&self) -> bool {
        let row = self.kind.row();
        row.subresource(&self.route.subresource).is_none_or(|below| below.kind == row.kind)
    }
}

/// Whether all conditions hold. Errors: some can't be evaluated, and none is false.
pub(crate) fn hold(conditions: &[Value], variables: &Variables) -> Result<bool, String> {
    let mut errors = Vec::new();
    for condition in conditions {
        let source = condition["expression"].as_str().unwrap_or("");
        match Question::compile(source).and_then(|question| question.holds(variables)) {
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

/// The refusal of a request whose webhook can't be called and must be.
fn failed(hook: &Hook, why: &str) -> Refusal {
    internal(format!("failed calling webhook {:?}: {why}", hook.name()))
}

/// `apierrors.NewInternalError`: the message stands in the causes too.
pub(crate) fn internal(message: String) -> Refusal {
    let mut refusal = Refusal::internal(&message);
    refusal.details.insert("causes".to_owned(), json!([{"message": message}]));
    refusal
}
