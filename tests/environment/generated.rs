//! Scenarios drawn from a seed: a Deployment of any strategy, then scaled, changed, paused, its pods becoming ready
//! or going away one at a time. One event between two rests, so that upstream has one end to come to, whichever of
//! its controllers is faster.

use serde_json::{Value, json};

use crate::scenario::{Scenario, Step, change, image, web};

/// Steps after the creation.
const STEPS: usize = 10;

/// SplitMix64: enough to draw from, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % sides
    }

    fn amount(&mut self) -> Value {
        match self.roll(3) {
            0 => json!(self.roll(3)),
            1 => json!("25%"),
            _ => json!("50%"),
        }
    }

    fn strategy(&mut self) -> Value {
        if self.roll(4) == 0 {
            return json!({"strategy": {"type": "Recreate"}});
        }
        let (surge, mut unavailable) = (self.amount(), self.amount());
        if surge == 0 && unavailable == 0 {
            unavailable = json!(1); // both zero is refused
        }
        let bounds = json!({"maxSurge": surge, "maxUnavailable": unavailable});
        json!({"strategy": {"rollingUpdate": bounds}, "revisionHistoryLimit": self.roll(3)})
    }

    fn step(&mut self) -> Step {
        match self.roll(10) {
            0 | 1 => change(json!({"replicas": self.roll(5)})),
            2 | 3 => image(["v1", "v2", "v3"][self.roll(3) as usize]),
            4 => change(json!({"paused": self.roll(2) == 0})),
            5 => Step::DeleteOnePod,
            _ => Step::ReadyOne,
        }
    }
}

/// The scenario of a seed.
pub fn scenario(seed: u64) -> Scenario {
    let mut dice = Dice(seed);
    let replicas = 1 + dice.roll(4) as u32;
    let mut steps = vec![web(replicas, dice.strategy())];
    steps.extend((0..STEPS).map(|_| dice.step()));
    Scenario { name: format!("generated-{seed}"), steps }
}
