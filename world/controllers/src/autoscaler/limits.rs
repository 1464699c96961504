//! How fast it scales: stabilization, rates, bounds; and what it must remember for that.

use serde_json::Value;
use trace::Time;

use super::Status;
use crate::{object::Text, quantity, read};

/// For so long the highest recommendation counts (`--horizontal-pod-autoscaler-downscale-stabilization`).
const DOWNSCALE_SECONDS: i64 = 300;
/// How far usage may be from its target (`--horizontal-pod-autoscaler-tolerance`).
const TOLERANCE: f64 = 0.1;

/// `spec.behavior`.
#[derive(Debug, Clone, PartialEq)]
pub struct Behavior {
    /// `scaleUp`.
    pub up: Rules,
    /// `scaleDown`.
    pub down: Rules,
}

/// How it scales in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// `stabilizationWindowSeconds`.
    pub window_seconds: i64,
    /// `selectPolicy`.
    pub select: Text,
    /// `policies`.
    pub policies: Vec<Policy>,
    /// `tolerance`.
    pub tolerance: f64,
}

/// A rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Whether `type` is Percent.
    pub percent: bool,
    /// `value`.
    pub value: i64,
    /// `periodSeconds`.
    pub period_seconds: i64,
}

impl Behavior {
    pub(crate) fn read(behavior: &Value) -> Behavior {
        let policy = |percent, value| Policy { percent, value, period_seconds: 15 };
        Behavior {
            up: Rules::read(&behavior["scaleUp"], 0, vec![policy(false, 4), policy(true, 100)]),
            down: Rules::read(&behavior["scaleDown"], DOWNSCALE_SECONDS, vec![policy(true, 100)]),
        }
    }
}

impl Rules {
    fn read(rules: &Value, window_seconds: i64, policies: Vec<Policy>) -> Rules {
        let window = rules.get("stabilizationWindowSeconds").and_then(Value::as_i64);
        let select = rules.get("selectPolicy").and_then(Value::as_str);
        let tolerance = rules.get("tolerance").and_then(Value::as_str);
        let tolerance = tolerance.and_then(quantity::nanos_of).map(|nanos| nanos as f64 / 1e9);
        let policy = |policy: &Value| Policy {
            percent: policy["type"] == "Percent",
            value: read::number(policy, "value"),
            period_seconds: read::number(policy, "periodSeconds"),
        };
        Rules {
            window_seconds: window.unwrap_or(window_seconds),
            select: select.unwrap_or("Max").into(),
            policies: match rules.get("policies").and_then(Value::as_array) {
                Some(given) => given.iter().map(policy).collect(),
                None => policies,
            },
            tolerance: tolerance.unwrap_or(TOLERANCE),
        }
    }

    fn longest_period_seconds(&self) -> i64 {
        self.policies.iter().map(|policy| policy.period_seconds).max().unwrap_or(0)
    }
}

/// How far below and above its target usage may be.
pub(super) fn tolerances(behavior: Option<&Behavior>) -> (f64, f64) {
    behavior.map_or((TOLERANCE, TOLERANCE), |by| (by.down.tolerance, by.up.tolerance))
}

/// What an autoscaler recommended and did lately.
///
/// Upstream keeps everything; here what can't matter any more is forgotten, so that autoscalers at rest are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Recent {
    /// How many pods it recommended when, oldest first.
    pub recommendations: Vec<(i64, Time)>,
    /// How many pods it added when.
    pub added: Vec<(i64, Time)>,
    /// How many it removed.
    pub removed: Vec<(i64, Time)>,
}

fn before(now: Time, seconds: i64) -> Time {
    Time(now.0.saturating_sub(seconds.saturating_mul(1_000_000_000)))
}

impl Recent {
    /// The first recommendation is how many there are.
    pub(super) fn new(replicas: i64, now: Time) -> Recent {
        Recent { recommendations: vec![(replicas, now)], added: vec![], removed: vec![] }
    }

    /// Adds a recommendation, and forgets those after which there were one as high and one as low: no window that
    /// reaches back to them is without those.
    fn recommend(&mut self, replicas: i64, now: Time) {
        self.recommendations.push((replicas, now));
        let all = std::mem::take(&mut self.recommendations);
        for (at, (value, time)) in all.iter().enumerate() {
            let later = &all[at + 1..];
            let higher = later.iter().any(|(other, _)| other >= value);
            let lower = later.iter().any(|(other, _)| other <= value);
            if !(higher && lower) {
                self.recommendations.push((*value, *time));
            }
        }
    }

    /// `storeScaleEvent`.
    pub(super) fn scaled(&mut self, behavior: Option<&Behavior>, from: i64, to: i64, now: Time) {
        let Some(behavior) = behavior else { return };
        let (events, rules) = match to > from {
            true => (&mut self.added, &behavior.up),
            false => (&mut self.removed, &behavior.down),
        };
        let oldest = before(now, rules.longest_period_seconds());
        events.retain(|(_, at)| *at >= oldest);
        events.push(((to - from).abs(), now));
    }
}

/// Between what it may choose.
pub(super) struct Limits {
    pub(super) current: i64,
    pub(super) least: i64,
    pub(super) most: i64,
    pub(super) now: Time,
}

const WITHIN: (&str, &str) =
    ("DesiredWithinRange", "the desired count is within the acceptable range");
const TOO_FAST_UP: (&str, &str) =
    ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate");
const TOO_FAST_DOWN: (&str, &str) = (
    "ScaleDownLimit",
    "the desired replica count is decreasing faster than the maximum scale rate",
);
const TOO_MANY: (&str, &str) =
    ("TooManyReplicas", "the desired replica count is more than the maximum replica count");
const TOO_FEW: (&str, &str) =
    ("TooFewReplicas", "the desired replica count is less than the minimum replica count");
const READY: (&str, &str) = ("ReadyForNewScale", "recommended size matches current size");
const HIGHER: &str = "recent recommendations were higher than current one, applying the highest recent recommendation";
const LOWER: &str =
    "recent recommendations were lower than current one, applying the lowest recent recommendation";

impl Limits {
    /// Without `spec.behavior` (`normalizeDesiredReplicas`).
    pub(super) fn plain(&self, proposed: i64, recent: &mut Recent, status: &mut Status) -> i64 {
        let cutoff = before(self.now, DOWNSCALE_SECONDS);
        let counted = recent.recommendations.iter().filter(|(_, at)| *at >= cutoff);
        let stable = counted.map(|(value, _)| *value).fold(proposed, i64::max);
        recent.recommend(proposed, self.now);
        let (reason, message) = match stable == proposed {
            true => READY,
            false => {
                branch!(AutoscalerStabilized);
                ("ScaleDownStabilized", HIGHER)
            }
        };
        status.able(true, reason, message);
        let limit = (2 * self.current).max(4);
        let (most, why) = match self.most > limit {
            true => (limit, TOO_FAST_UP),
            false => (self.most, TOO_MANY),
        };
        let (wanted, (reason, message)) = match stable {
            stable if stable < self.least => (self.least, TOO_FEW),
            stable if stable > most => (most, why),
            stable => (stable, WITHIN),
        };
        status.limited(wanted != stable, reason, message);
        wanted
    }

    /// `normalizeDesiredReplicasWithBehaviors`.
    pub(super) fn by(
        &self,
        behavior: &Behavior,
        proposed: i64,
        recent: &mut Recent,
        status: &mut Status,
    ) -> i64 {
        let since = |rules: &Rules| before(self.now, rules.window_seconds);
        let (up_since, down_since) = (since(&behavior.up), since(&behavior.down));
        let (mut up, mut down) = (proposed, proposed);
        for (value, at) in &recent.recommendations {
            up = if *at > up_since { up.min(*value) } else { up };
            down = if *at > down_since { down.max(*value) } else { down };
        }
        let stable = self.current.max(up).min(down);
        recent.recommend(proposed, self.now);
        let (reason, message) = match (stable == proposed, proposed >= self.current) {
            (true, _) => READY,
            (false, true) => ("ScaleUpStabilized", LOWER),
            (false, false) => ("ScaleDownStabilized", HIGHER),
        };
        status.able(true, reason, message);
        let (wanted, (reason, message)) = self.rated(behavior, stable, recent);
        status.limited(wanted != stable, reason, message);
        wanted
    }

    /// `convertDesiredReplicasWithBehaviorRate`.
    fn rated(
        &self,
        behavior: &Behavior,
        stable: i64,
        recent: &Recent,
    ) -> (i64, (&'static str, &'static str)) {
        if stable > self.current {
            let limit = self.rate(&behavior.up, recent, true).max(self.current);
            let (most, why) = match self.most > limit {
                true => (limit, TOO_FAST_UP),
                false => (self.most, TOO_MANY),
            };
            if stable > most {
                branch!(AutoscalerTooFast);
                return (most, why);
            }
        } else if stable < self.current {
            let limit = self.rate(&behavior.down, recent, false).min(self.current);
            let (least, why) = match self.least < limit {
                true => (limit, TOO_FAST_DOWN),
                false => (self.least, TOO_FEW),
            };
            if stable < least {
                branch!(AutoscalerTooFast);
                return (least, why);
            }
        }
        (stable, WITHIN)
    }

    /// As far as the policies let it go now (`calculateScaleUpLimitWithScalingRules`,
    /// `calculateScaleDownLimitWithBehaviors`).
    fn rate(&self, rules: &Rules, recent: &Recent, up: bool) -> i64 {
        if *rules.select == *"Disabled" {
            return self.current;
        }
        let in_period = |events: &[(i64, Time)], seconds: i64| -> i64 {
            let since = before(self.now, seconds);
            events.iter().filter(|(_, at)| *at > since).map(|(count, _)| count).sum()
        };
        let proposed = rules.policies.iter().map(|policy| {
            let seconds = policy.period_seconds;
            let (added, removed) =
                (in_period(&recent.added, seconds), in_period(&recent.removed, seconds));
            let start = self.current - added + removed;
            let share = policy.value as f64 / 100.0;
            match (up, policy.percent) {
                (true, false) => start + policy.value,
                (true, true) => (start as f64 * (1.0 + share)).ceil() as i64,
                (false, false) => start - policy.value,
                (false, true) => (start as f64 * (1.0 - share)) as i64,
            }
        });
        let least_change = *rules.select == *"Min";
        match up != least_change {
            true => proposed.max().unwrap_or(i64::from(i32::MIN)),
            false => proposed.min().unwrap_or(i64::from(i32::MAX)),
        }
    }
}
