//! What a user may choose: Kivi's options, and ours.

use std::num::NonZeroUsize;

use crate::cluster::Granularity;

/// How intents are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// As Kivi does: what repeats three times repeats for ever; nodes lose their pods at once.
    #[default]
    Parity,
    /// By infinite runs that are fair, and without counting. What breaks is left to the node controllers.
    Exact,
}

/// What to leave out of a sweep (`-f`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Faster {
    /// Nothing.
    #[default]
    No,
    /// `-f 1`: of numbers of pods above 7, every second.
    EverySecond,
    /// `-f 2`: the number of pods is the largest that a number of nodes allows.
    Largest,
    /// `-f 3`: both are the largest.
    LargestOfAll,
}

/// Kivi's options. `-c`, `-p` and `-log` say what is checked: see [`super::cases`] and [`super::input`]. `-si`:
/// [`super::simulate`]. `-to`: whoever has a clock hands in a deadline. `-v`: [`super::told::Trace::lines`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// `-s`: how large a case is.
    pub scale: u32,
    /// `-cn`: the variant of a case that does not violate its intent.
    pub without_violation: bool,
    /// `-o`: the cluster as it is described, instead of growing ones.
    pub single: bool,
    /// `-a`: go on after the first violation.
    pub all_violations: bool,
    /// `-f`.
    pub faster: Faster,
    /// `-ig`: how many intents are asked in one search; none for all.
    pub intents_per_group: Option<NonZeroUsize>,
    /// `-r`: random runs instead of all; none for all.
    pub random: Option<Random>,
    /// `-l`: ask whether the cluster comes to rest, too.
    pub loops: bool,
    /// `-v`: how much of a run is told, from 1 to 6.
    pub detail: u8,
    /// How much is one step.
    pub granularity: Granularity,
    /// How intents are judged.
    pub mode: Mode,
    /// Each of several nodes that are equally good is tried. Kivi, and parity, take the first.
    pub all_ties: bool,
    /// On how many threads; set-ups of a sweep are spread over them.
    pub threads: NonZeroUsize,
    /// States of one search, at most.
    pub states_max: u64,
}

/// Random runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Random {
    /// The first of the seeds. Kivi draws it; here a run can be had again.
    pub seed: u64,
    /// How many seeds: Kivi's 5.
    pub seeds: u32,
    /// Runs from each.
    pub runs: u64,
    /// States on a run, at most: a cluster with an autoscaler never stops.
    pub depth: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            scale: 3,
            without_violation: false,
            single: false,
            all_violations: false,
            faster: Faster::No,
            intents_per_group: None,
            random: None,
            loops: false,
            detail: 1,
            granularity: Granularity::Write,
            mode: Mode::Parity,
            all_ties: false,
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            states_max: u64::MAX,
        }
    }
}
