//! One run of a cluster, drawn at random from a seed.

use super::{check::CheckError, description::Description, options::Options, setup, told::Trace};
use crate::System;

/// A run of at most so many steps. It says nothing of what must hold.
///
/// # Errors
/// If the description is no cluster.
pub fn simulate(
    of: &Description,
    options: &Options,
    seed: u64,
    steps_max: usize,
) -> Result<Trace, CheckError> {
    let cluster = setup::cluster(of, &[], options)?;
    let mut state = cluster.initial().remove(0);
    let mut trace = Trace::from(of, &cluster, &state);
    let (mut drawn, mut actions) = (seed, Vec::new());
    while trace.steps.len() < steps_max {
        actions.clear();
        cluster.actions(&state, &mut actions);
        if actions.is_empty() {
            trace.loops_to = Some(trace.steps.len());
            break;
        }
        let action = actions.swap_remove((draw(&mut drawn) % actions.len() as u64) as usize);
        let Some(next) = cluster.next(&state, &action) else { continue };
        trace.push((of, &cluster), &action, (&state, &next), options.detail);
        state = next;
    }
    Ok(trace)
}

/// SplitMix64.
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kivi::cases::{Case, Variant};

    #[test]
    fn the_same_seed_gives_the_same_run() {
        let of = Case::C2.at_scale(2, Variant::Violating);
        let run = |seed| simulate(&of, &Options::default(), seed, 40).expect("a run");
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        let told = run(1).lines(1);
        assert!(told.iter().all(|line| line.starts_with("[*] ")), "{told:?}");
        assert!(told.iter().any(|line| line.starts_with("[*] user: applies")), "{told:?}");
    }
}
