//! What an autoscaler says of itself.

use serde_json::{Value, json};
use trace::Time;

use crate::read;

/// A status under way.
pub(super) struct Status {
    value: Value,
    now: Time,
}

impl Status {
    pub(super) fn of(stored: &Value, now: Time) -> Status {
        Status { value: stored.clone(), now }
    }

    pub(super) fn able(&mut self, is: bool, reason: &str, message: &str) {
        self.condition("AbleToScale", is, reason, message);
    }

    pub(super) fn active(&mut self, is: bool, reason: &str, message: &str) {
        self.condition("ScalingActive", is, reason, message);
    }

    pub(super) fn limited(&mut self, is: bool, reason: &str, message: &str) {
        self.condition("ScalingLimited", is, reason, message);
    }

    fn condition(&mut self, kind: &str, is: bool, reason: &str, message: &str) {
        let status = if is { "True" } else { "False" };
        let now = self.now.rfc3339();
        if !self.value["conditions"].is_array() {
            self.value["conditions"] = json!([]);
        }
        let Some(list) = self.value["conditions"].as_array_mut() else { return };
        let at = list.iter().position(|condition| condition["type"] == kind);
        let since = match at {
            Some(at) if list[at]["status"] == status => list[at]["lastTransitionTime"].clone(),
            _ => json!(now),
        };
        let condition = json!({
            "type": kind, "status": status, "lastTransitionTime": since, "reason": reason,
            "message": message,
        });
        match at {
            Some(at) => list[at] = condition,
            None => list.push(condition),
        }
    }

    pub(super) fn remove(&mut self, kind: &str) {
        if let Some(list) = self.value["conditions"].as_array_mut() {
            list.retain(|condition| condition["type"] != kind);
        }
    }

    /// What the metrics say, one each.
    pub(super) fn metrics(&mut self, metrics: Value) {
        self.value["currentMetrics"] = metrics;
    }

    /// How many there are, and how many there should be where that is known.
    pub(super) fn replicas(&mut self, current: i64, desired: Option<i64>) {
        self.value["currentReplicas"] = json!(current);
        if let Some(desired) = desired {
            self.value["desiredReplicas"] = json!(desired);
        }
        if let Some(fields) = self.value.as_object_mut() {
            fields.remove("observedGeneration");
        }
    }

    pub(super) fn scaled(&mut self) {
        self.value["lastScaleTime"] = json!(self.now.rfc3339());
    }

    /// It, where it is not what is stored.
    pub(super) fn changed(&self, stored: &Value) -> Option<Value> {
        let same = |field: &str| {
            let list = |of: &Value| read::list(of, field).cloned().collect::<Vec<Value>>();
            list(&self.value) == list(stored)
        };
        let number = |field: &str| read::number(&self.value, field) == read::number(stored, field);
        let unchanged = same("conditions")
            && same("currentMetrics")
            && number("currentReplicas")
            && number("desiredReplicas")
            && self.value.get("lastScaleTime") == stored.get("lastScaleTime")
            && self.value.get("observedGeneration") == stored.get("observedGeneration");
        (!unchanged).then(|| {
            let mut value = self.value.clone();
            value["desiredReplicas"] = json!(read::number(&self.value, "desiredReplicas"));
            value
        })
    }
}
