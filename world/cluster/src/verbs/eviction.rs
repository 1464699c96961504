//! `pods/eviction`: a delete that a disruption budget can refuse (`pkg/registry/core/pod/storage/eviction.go`).

use std::{ops::Bound, sync::Arc};

use bytes::Bytes;
use serde_json::{Value, json};
use trace::{Actor, GroupResource, ObjectKey, Verb};

use super::{
    Outcome, Work, object, options::DeleteOptions, selector::Labels, subresources::selector_text,
    subresources::success,
};
use crate::{
    route::Route, server::request::Request, status::Refusal, webhooks::Calls, world::meta,
};

impl Work<'_> {
    pub(super) fn evict(&mut self) -> Result<Outcome, Refusal> {
        let mut body = self.read_object()?;
        let mut options = DeleteOptions::read(self.request, body.get("deleteOptions"))?;
        options.dry_run |= self.request.dry_run();
        if meta(&body, "name") != self.route.name {
            return Err(Refusal::bad_request("name in URL does not match name in Eviction object"));
        }
        self.admit_body(&mut body, options.dry_run)?;
        let mut pod = self.stored()?;
        let phase = pod.pointer("/status/phase").and_then(Value::as_str).unwrap_or("");
        if !matches!(phase, "Succeeded" | "Failed" | "Pending") && !object::is_terminating(&pod) {
            self.spend_budget(&pod, options.dry_run)?;
        }
        let name = self.route.name.clone();
        if !options.dry_run {
            // Nothing is said of a pod that is another than was meant (`addConditionAndDeletePod`).
            self.check_delete_preconditions(&pod, &name, &options)?;
            pod = self.say_why(&pod);
            if options.revision.is_some() {
                options.revision = Some(meta(&pod, "resourceVersion").to_owned());
            }
        }
        self.delete_object(&pod, &pod, &name, &options)?;
        Ok(success(201))
    }

    /// Writes into the pod why it goes (KEP-3329).
    fn say_why(&mut self, pod: &Arc<Value>) -> Arc<Value> {
        let mut new = (**pod).clone();
        let conditions = new.pointer("/status/conditions").and_then(Value::as_array);
        let mut conditions = conditions.cloned().unwrap_or_default();
        let said = |one: &Value| one["type"] == "DisruptionTarget" && one["status"] == "True";
        if conditions.iter().any(said) {
            return pod.clone();
        }
        conditions.retain(|condition| condition["type"] != "DisruptionTarget");
        conditions.push(json!({
            "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting", "lastProbeTime": null,
            "lastTransitionTime": self.now_text(),
        }));
        new["status"]["conditions"] = Value::Array(conditions);
        let key = self.key(&self.route.name);
        self.live.put(&self.request.author, key, new).object.clone()
    }

    /// Takes one allowed disruption from the budget that covers a pod. Errors: 429, 500 for several.
    fn spend_budget(&mut self, pod: &Value, dry_run: bool) -> Result<(), Refusal> {
        let resource = GroupResource::new("policy", "poddisruptionbudgets");
        let root = self.live.world.store.root();
        let covering: Vec<(ObjectKey, Arc<Value>)> = root
            .scan(&resource, &self.route.namespace, Bound::Unbounded)
            .filter(|(_, budget)| {
                let text = budget.pointer("/spec/selector").map(selector_text).unwrap_or_default();
                Labels::parse(&text).is_ok_and(|labels| labels.matches(pod))
            })
            .map(|(key, budget)| (key.clone(), budget.clone()))
            .collect();
        let (key, budget) = match &covering[..] {
            [] => return Ok(()),
            [one] => one.clone(),
            _ => {
                let message = "This pod has more than one PodDisruptionBudget, which the eviction \
                               subresource does not support.";
                return Err(Refusal::unclassified(message));
            }
        };
        let number = |field: &str| budget["status"][field].as_i64().unwrap_or(0);
        // A pod that is not ready costs nothing: always, or (by default) as long as the others suffice (KEP-3017).
        let (healthy, desired) = (number("currentHealthy"), number("desiredHealthy"));
        let always = budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow";
        if !is_ready(pod) && (always || healthy >= desired && desired > 0) {
            return Ok(());
        }
        let (name, allowed) = (&key.name, number("disruptionsAllowed"));
        if number("observedGeneration") < object::generation(&budget) {
            let why =
                format!("The disruption budget {name} is still being processed by the server.");
            return Err(refusal(&why, Some(10)));
        }
        if allowed <= 0 {
            let (needs, has) = (number("desiredHealthy"), number("currentHealthy"));
            let why = format!(
                "The disruption budget {name} needs {needs} healthy pods and has {has} currently"
            );
            return Err(refusal(&why, None));
        }
        if !dry_run {
            self.write_budget(&key, &budget, meta(pod, "name"), allowed - 1);
        }
        Ok(())
    }

    /// As the API server itself does: through the API.
    fn write_budget(&mut self, key: &ObjectKey, budget: &Value, pod: &str, allowed: i64) {
        let mut new = budget.clone();
        let now = self.now_text();
        new["status"]["disruptionsAllowed"] = json!(allowed);
        new["status"]["disruptedPods"][pod] = json!(now);
        if allowed == 0 {
            let conditions = new.pointer("/status/conditions").and_then(Value::as_array);
            let mut conditions = conditions.cloned().unwrap_or_default();
            conditions.retain(|condition| condition["type"] != "DisruptionAllowed");
            conditions.push(json!({
                "type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods",
                "message": "", "lastTransitionTime": now,
                "observedGeneration": object::generation(budget),
            }));
            new["status"]["conditions"] = Value::Array(conditions);
        }
        let route = Route {
            group: "policy".to_owned(),
            version: "v1".to_owned(),
            resource: "poddisruptionbudgets".to_owned(),
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
            subresource: "status".to_owned(),
            ..Route::default()
        };
        let agent = format!("kube-apiserver/{}", self.live.world.release.git_version());
        let actor = Actor::Environment("eviction".into());
        let request = Request::own(actor, &agent, Bytes::from(new.to_string()));
        let Some(kind) = self.live.world.kind("policy", "v1", "poddisruptionbudgets") else {
            return;
        };
        let calls = &mut Calls::exempt(self.calls.began());
        let written = super::carry_out(self.live, &request, &route, kind, Verb::Update, calls);
        debug_assert!(written.is_ok(), "a budget's own status is valid");
    }
}

fn refusal(why: &str, wait_seconds: Option<u32>) -> Refusal {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut refusal = Refusal::too_many_requests(message, wait_seconds);
    let cause = json!([{"reason": "DisruptionBudget", "message": why}]);
    refusal.details.insert("causes".to_owned(), cause);
    refusal
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    let ready = |one: &Value| one["type"] == "Ready" && one["status"] == "True";
    conditions.is_some_and(|all| all.iter().any(ready))
}
