//! Time, of which a state keeps only how long ago things happened.
//!
//! The moment of a state is always [`NOW`]. When time passes, what is stored gets older instead: each time in it is moved
//! back. What lies further back than the horizon is as old as the horizon: no controller asks how long ago it was. So
//! a system that does the same again after a while comes back to the same state.

use std::time::Duration;

use controllers::{autoscaler::Recent, request::Memory};
use serde_json::Value;
use trace::Time;

/// 2026-01-01T00:00:00Z: the moment of each state.
pub const NOW: Time = Time(1_767_225_600_000_000_000);

/// So much time passes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ageing {
    pub by: Duration,
    /// Times before this are moved to it.
    pub oldest: Time,
}

impl Ageing {
    pub(super) fn new(by: Duration, horizon: Duration) -> Ageing {
        let nanos = i64::try_from(horizon.as_nanos()).unwrap_or(i64::MAX);
        Ageing { by, oldest: Time(NOW.0.saturating_sub(nanos)) }
    }

    fn time(self, time: Time) -> Time {
        let nanos = i64::try_from(self.by.as_nanos()).unwrap_or(i64::MAX);
        Time(time.0.saturating_sub(nanos)).max(self.oldest)
    }

    /// An object of which all that happened is longer ago.
    pub(super) fn object(self, value: &Value) -> Value {
        let mut value = value.clone();
        for field in ["creationTimestamp", "deletionTimestamp"] {
            if let Some(found) = value["metadata"].get_mut(field) {
                self.text(found);
            }
        }
        if let Some(status) = value.get_mut("status") {
            self.all(status);
        }
        value
    }

    fn all(self, value: &mut Value) {
        match value {
            Value::String(_) => self.text(value),
            Value::Array(items) => items.iter_mut().for_each(|item| self.all(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.all(field)),
            _ => {}
        }
    }

    fn text(self, value: &mut Value) {
        if let Some(time) = value.as_str().and_then(Time::parse_rfc3339) {
            *value = Value::String(self.time(time).rfc3339());
        }
    }

    /// A memory of which all is longer ago.
    pub(super) fn memory(self, memory: &Memory) -> Memory {
        let list = |list: &[(i64, Time)]| -> Vec<(i64, Time)> {
            list.iter().map(|(count, at)| (*count, self.time(*at))).collect()
        };
        match memory {
            Memory::Scaled(recent) => Memory::Scaled(Box::new(Recent {
                recommendations: list(&recent.recommendations),
                added: list(&recent.added),
                removed: list(&recent.removed),
            })),
            Memory::GoesAt(at) => Memory::GoesAt(at.map(|at| self.time(at))),
            Memory::SilentSince(at) => Memory::SilentSince(at.map(|at| self.time(at))),
            Memory::MissedUntil(at) => Memory::MissedUntil(at.map(|at| self.time(at))),
            Memory::NoSlices => Memory::NoSlices,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_stored_gets_older_down_to_the_horizon() {
        let ageing = Ageing::new(Duration::from_secs(15), Duration::from_secs(20));
        let object = |created: &str, since: &str, note: &str| {
            json!({
                "metadata": {"creationTimestamp": created, "annotations": {"note": note}},
                "status": {"conditions": [{"lastTransitionTime": since}], "phase": "Running"},
            })
        };
        let (now, later) = ("2026-01-01T00:00:00Z", "2025-12-31T23:59:45Z");
        let older = ageing.object(&object(now, now, now));
        assert_eq!(older, object(later, later, now), "annotations stay");
        let oldest = "2025-12-31T23:59:40Z";
        assert_eq!(ageing.object(&older), object(oldest, oldest, now));
        let goes = |seconds: u64| Memory::GoesAt(Some(NOW.plus(Duration::from_secs(seconds))));
        assert_eq!(ageing.memory(&goes(20)), goes(5));
    }
}
