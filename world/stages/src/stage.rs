//! Which stage an object comes to, and when (`pkg/utils/lifecycle/lifecycle.go`).

use std::time::Duration;

use jaq_json::Val;
use serde_json::Value;
use trace::Time;

use crate::{
    chance::Chance,
    query::{self, Found, Query},
    selector::Selector,
    steps::Step,
    time,
};

/// Heavier is no stage: sums stay numbers.
pub(crate) const WEIGHT_LIMIT: i64 = u32::MAX as i64;

/// A stage, checked.
pub(crate) struct Stage {
    pub(crate) name: String,
    pub(crate) selector: Selector,
    pub(crate) weight: i64,
    pub(crate) weight_from: Option<Query>,
    pub(crate) delay: Option<Delay>,
    pub(crate) steps: Vec<Step>,
}

/// How long it waits.
pub(crate) struct Delay {
    pub(crate) duration: Wait,
    pub(crate) jitter: Option<Wait>,
}

/// A duration, or where in the object it stands.
pub(crate) struct Wait {
    /// Nanoseconds.
    pub(crate) fixed: Option<i64>,
    pub(crate) from: Option<Query>,
}

/// The stage that an object comes to, and after how long. None: it stays as it is.
pub(crate) fn choose(
    stages: &[Stage],
    object: &Value,
    now: Time,
    chance: &dyn Fn() -> Chance,
) -> Option<(usize, Duration)> {
    let input = query::input(object);
    let matching: Vec<usize> =
        (0..stages.len()).filter(|i| stages[*i].selector.matches(object, &input)).collect();
    let (index, mut drawn) = match matching[..] {
        [] => return None,
        [only] => (only, None),
        _ => {
            let mut chance = chance();
            (pick(stages, &matching, &input, &mut chance), Some(chance))
        }
    };
    let stage = &stages[index];
    let draw = |end| drawn.get_or_insert_with(chance).below(end);
    let nanoseconds = stage.delay.as_ref().map_or(0, |delay| delay.nanoseconds(&input, now, draw));
    Some((index, Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0))))
}

/// One of several, by their weights. Those that have none come to their turn where no other has a weight.
fn pick(stages: &[Stage], matching: &[usize], input: &Val, chance: &mut Chance) -> usize {
    let weights: Vec<Option<i64>> = matching.iter().map(|i| stages[*i].weigh(input)).collect();
    let total: i64 = weights.iter().flatten().sum();
    let mut left = matching.iter().zip(&weights);
    if total <= 0 {
        let known: Vec<usize> = left.filter(|(_, w)| w.is_some()).map(|(i, _)| *i).collect();
        let among = if known.is_empty() { matching } else { &known };
        return among[chance.below(among.len() as u64) as usize];
    }
    let mut at = chance.below(total.unsigned_abs()) as i64;
    let drawn = left.find(|(_, weight)| {
        let weight = weight.unwrap_or(0).max(0);
        at -= weight;
        weight > 0 && at < 0
    });
    drawn.map_or(matching[matching.len() - 1], |(index, _)| *index)
}

impl Stage {
    /// None: the object says nothing that is a weight (`int64From.Get`).
    fn weigh(&self, input: &Val) -> Option<i64> {
        let Some(query) = &self.weight_from else { return Some(self.weight) };
        let weight = match query.find(input).first() {
            Some(Found::Text(text)) => text.parse().ok(),
            Some(Found::Number(n)) => Some(*n as i64),
            _ => Some(self.weight),
        };
        weight.map(|weight: i64| weight.clamp(0, WEIGHT_LIMIT))
    }
}

impl Delay {
    fn nanoseconds(&self, input: &Val, now: Time, mut draw: impl FnMut(u64) -> u64) -> i64 {
        let Some(least) = self.duration.nanoseconds(input, now) else { return 0 };
        let most = self.jitter.as_ref().and_then(|jitter| jitter.nanoseconds(input, now));
        match most {
            None => least,
            Some(most) if most <= least => most,
            Some(most) => least + draw(most.abs_diff(least)) as i64,
        }
    }
}

impl Wait {
    /// `durationFrom.Get`.
    fn nanoseconds(&self, input: &Val, now: Time) -> Option<i64> {
        let found = self.from.as_ref().map(|query| query.find(input));
        if let Some(Found::Text(text)) = found.iter().flatten().next() {
            if text.is_empty() {
                return None;
            }
            if let Some(at) = Time::parse_rfc3339(text) {
                return Some(at.0.saturating_sub(now.0));
            }
            if let Some(given) = time::duration(text) {
                return Some(given);
            }
        }
        self.fixed
    }
}
