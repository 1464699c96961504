//! Calling the webhooks that a write meets (`plugin/webhook/mutating`, `plugin/webhook/validating`), each sort after the
//! policies of that sort.
//!
//! Mutating ones are called before the type's strategy has touched the object, one after the other; validating ones
//! when it is valid and about to be stored, all at once. Of several that refuse, upstream tells the one that was
//! quickest; ours the first in order.
//!
//! On an update of a subresource a mutating webhook sees the parts that the request can't write as they are stored,
//! upstream as the client sent them. Who could notice: a webhook on `status` that looks at a spec which its client
//! has made up.

use serde_json::{Value, json};

use super::{
    calls::Calls,
    change::Change,
    client,
    hook::{Hook, Role},
    matching,
    reply::{self, Verdict},
    review::Attributes,
    shown::Shown,
};
use crate::{
    admission::Again,
    names::Names,
    policies::{self, Policy},
    status::Refusal,
    verbs::Work,
};

impl Work<'_> {
    /// Lets mutating policies and then mutating webhooks change an object that is about to be created or updated; whether
    /// there are any. Errors: what they refuse with; 500 for a webhook that can't be called and must.
    pub(crate) fn mutate(
        &mut self,
        change: Change<'_>,
        object: &mut Value,
        again: &mut Again,
    ) -> Result<bool, Refusal> {
        if !self.meets_mutations() {
            return Ok(false);
        }
        let mut view = change.hide(object);
        let told = |view: &Value| change.reveal(object, view.clone());
        let options = change.options(self);
        if Policy::any(&self.live.world, policies::Role::Mutating) {
            if again.is_second() {
                again.policies.reopen(&told(&view));
            }
            let before = view.clone();
            let about =
                Attributes::of(self, Some(&before), change.old, options.clone(), change.dry_run);
            self.mutate_by_policies(&about, &mut view, again)?;
            again.policies.close(told(&view));
        }
        let hooks = Hook::all(&self.live.world, Role::Mutating);
        if !hooks.is_empty() {
            if again.is_second() {
                again.hooks.reopen(&told(&view));
            }
            let before = view.clone();
            let about = Attributes::of(self, Some(&before), change.old, options, change.dry_run);
            self.mutate_with(&hooks, &about, Some(&mut view), again)?;
            again.hooks.close(told(&view));
        }
        *object = change.reveal(object, view);
        Ok(true)
    }

    /// Asks policies and validating webhooks about an object that is about to be stored.
    pub(crate) fn approve(&mut self, change: Change<'_>, object: &Value) -> Result<(), Refusal> {
        if !self.meets_hooks() {
            return Ok(());
        }
        let hooks = Hook::all(&self.live.world, Role::Validating);
        if hooks.is_empty() && !Policy::any(&self.live.world, policies::Role::Validating) {
            return Ok(());
        }
        let options = change.options(self);
        let about = Attributes::of(self, Some(object), change.old, options, change.dry_run);
        self.judge(&about, Some(object))?;
        self.validate_with(&hooks, &about, Some(object))
    }

    /// Asks all webhooks and policies about a delete.
    pub(crate) fn approve_delete(
        &mut self,
        old: &Value,
        options: Value,
        dry_run: bool,
    ) -> Result<(), Refusal> {
        let about = Attributes::of(self, None, Some(old), options, dry_run);
        let hooks = Hook::all(&self.live.world, Role::Mutating);
        self.mutate_with(&hooks, &about, None, &mut Again::default())?;
        self.judge(&about, None)?;
        let hooks = Hook::all(&self.live.world, Role::Validating);
        self.validate_with(&hooks, &about, None)
    }

    /// Plug-ins and all webhooks on the body of a subresource that is no part of its object. Errors: whatever admission
    /// refuses with.
    pub(crate) fn admit_body(&mut self, body: &mut Value, dry_run: bool) -> Result<(), Refusal> {
        if !self.meets_any_hook() {
            return self.admit(None, body, dry_run);
        }
        if !self.route.namespace.is_empty() {
            body["metadata"]["namespace"] = json!(self.route.namespace);
        }
        self.track_body(body)?;
        self.admit(None, body, dry_run)?;
        let change = Change { old: None, dry_run, sent: None };
        let mut again = Again::default();
        self.mutate(change, body, &mut again)?;
        if again.is_due() {
            self.admit(None, body, dry_run)?;
            again.begin();
            self.mutate(change, body, &mut again)?;
        }
        self.approve(change, body)
    }

    /// An object as it was sent, if those who may change it have to see it.
    pub(crate) fn as_sent(&self, object: &Value) -> Option<Value> {
        self.meets_mutations().then(|| object.clone())
    }

    /// Whether there are any webhooks or policies that could change what is written.
    fn meets_mutations(&self) -> bool {
        let world = &self.live.world;
        let any = Hook::any(world, Role::Mutating) || Policy::any(world, policies::Role::Mutating);
        any && self.meets_hooks()
    }

    /// Whether there are any webhooks or policies that could be asked.
    pub(crate) fn meets_any_hook(&self) -> bool {
        let world = &self.live.world;
        let judged =
            || Hook::any(world, Role::Validating) || Policy::any(world, policies::Role::Validating);
        self.meets_mutations() || (self.meets_hooks() && judged())
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
            let Some(shown) = self.shown((hook, Role::Mutating), about, current)? else { continue };
            if again.is_second() && !again.hooks.wants(&hook.uid) {
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
                again.hooks.changed();
                again.require();
            }
            if hook.is_reinvocable() {
                again.hooks.remember(hook.uid.clone());
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
            if let Some(shown) = self.shown((hook, Role::Validating), about, object)? {
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
                spec["timeoutSeconds"].as_u64().unwrap_or(client::TIMEOUT_SECONDS),
                review.to_string().into(),
            );
            (call, uid)
        });
        Ok(asked.map(|asked| reply::read(hook.name(), role, version, &asked)))
    }
}

/// The refusal of a request whose webhook can't be called and must be.
fn failed(hook: &Hook, why: &str) -> Refusal {
    Refusal::internal(format!("failed calling webhook {:?}: {why}", hook.name()))
}
