//! The clocks of a subject: patched when a program starts, moved when the world's time moves.
//!
//! Subjects' clocks are a day ahead of the machine's at least, because the kernel ends waits with absolute deadlines
//! by its own clock.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    forced,
    launch::Pace,
    timers::Now,
    vdso::{self, Layout, Offsets},
};

/// Whether a subject's clocks show what we want.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClockAbility {
    /// Its clocks, and those of all programs that it starts, are ours.
    Virtual,
    /// Its clocks are ours; programs that it starts live in real time, for this reason.
    FirstProgram(String),
    /// It lives in real time, for this reason.
    Real(String),
}

impl ClockAbility {
    /// Whether the subject's own clock can be moved.
    pub fn is_virtual(&self) -> bool {
        !matches!(self, ClockAbility::Real(_))
    }
}

/// Reads the clocks of one process tree, as its programs see them.
#[derive(Debug, Clone)]
pub struct ClockReader(pub(crate) Arc<Clock>);

impl ClockReader {
    /// Nanoseconds since 1970 by its wall clock; none if that is the machine's.
    pub fn wall(&self) -> Option<i64> {
        self.0.is_ours().then(|| self.0.shown().wall)
    }
}

/// The offsets of one process tree, shared by the thread that sees its execs and the one that moves
/// its time.
#[derive(Debug)]
pub(crate) struct Clock {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    offsets: Offsets,
    ability: ClockAbility,
    /// Whether some program may have timers that are files.
    timer_files: bool,
    /// What the tree does that can't be followed, as phrases.
    blind_spots: BTreeSet<String>,
    /// Whether the kernel lets nobody write over code by file.
    by_force: bool,
}

impl Clock {
    pub fn new(pace: Pace) -> Clock {
        let ability = match (pace, Layout::of_this_kernel()) {
            (Pace::Untouched, _) => ClockAbility::Real("no virtual clock was asked for".into()),
            (_, Err(reason)) => ClockAbility::Real(reason.into()),
            _ => ClockAbility::Virtual,
        };
        let offsets = match (pace, &ability) {
            (Pace::Untouched, _) | (_, ClockAbility::Real(_)) => Offsets::Real,
            (Pace::Real { ahead }, _) => Offsets::Ahead { wall: ahead },
            (Pace::Virtual { ahead }, _) => Offsets::standing(Now::here(), ahead),
        };
        // Without a clock of ours there is no filter that would tell.
        let timer_files = !ability.is_virtual();
        let blind_spots = BTreeSet::new();
        let state = State { offsets, ability, timer_files, blind_spots, by_force: false };
        Clock { state: Mutex::new(state) }
    }

    /// The same, on a kernel that lets nobody write over code by file.
    #[cfg(test)]
    pub fn by_force(pace: Pace) -> Clock {
        let clock = Clock::new(pace);
        clock.state().by_force = true;
        clock
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn ability(&self) -> ClockAbility {
        self.state().ability.clone()
    }

    /// Whether what its clocks show is ours.
    pub fn is_ours(&self) -> bool {
        self.state().ability.is_virtual()
    }

    /// Whether they stand still until we move them.
    pub fn is_virtual(&self) -> bool {
        matches!(self.offsets(), Offsets::Virtual { .. })
    }

    /// From now on the subject lives in real time.
    pub fn give_up(&self, reason: String) {
        let mut state = self.state();
        (state.offsets, state.ability) = (Offsets::Real, ClockAbility::Real(reason));
    }

    /// Some program has made a timer that is a file.
    pub fn look_for_timer_files(&self) {
        self.state().timer_files = true;
    }

    /// Whether there may be timers that are files.
    pub fn has_timer_files(&self) -> bool {
        self.state().timer_files
    }

    /// Something happens in the tree that can't be followed from outside.
    pub fn is_blind_for(&self, spot: String) {
        self.state().blind_spots.insert(spot);
    }

    /// All such things so far, as phrases.
    pub fn blind_spots(&self) -> BTreeSet<String> {
        self.state().blind_spots.clone()
    }

    /// Programs that the subject starts live in real time.
    pub fn first_program_only(&self, reason: String) {
        let mut state = self.state();
        state.timer_files = true; // nobody tells us from now on
        if state.ability == ClockAbility::Virtual {
            state.ability = ClockAbility::FirstProgram(reason);
        }
    }

    pub fn offsets(&self) -> Offsets {
        self.state().offsets
    }

    /// What its clocks show now.
    pub fn shown(&self) -> Now {
        self.offsets().shown(Now::here())
    }

    /// Patches a process that stands still at the end of an exec, stopped by this thread.
    pub fn patch(&self, pid: i32) -> io::Result<()> {
        // The lock is held over the write: an advance comes before it or after it, never in
        // between.
        let mut state = self.state();
        let layout = Layout::of_this_kernel().map_err(io::Error::other)?;
        let base = vdso::base(&fs::read(format!("/proc/{pid}/auxv"))?)
            .ok_or_else(|| io::Error::other("it was started without a vDSO"))?;
        let memory = File::options().read(true).write(true).open(format!("/proc/{pid}/mem"))?;
        if !state.by_force {
            let by_file = |at, bytes: &[u8]| memory.write_all_at(bytes, at);
            match layout.patch(&memory, base, state.offsets, &by_file) {
                Err(error) if forced::is_refusal(&error) => state.by_force = true,
                other => return other,
            }
        }
        forced::patch(layout, pid, &memory, base, state.offsets)
    }

    /// Moves the clocks forward, in our books and in each of the given processes: (memory, start of the
    /// vDSO).
    pub fn advance<'a>(
        &self,
        nanoseconds: i64,
        processes: impl Iterator<Item = (&'a File, u64)>,
    ) -> io::Result<()> {
        let mut state = self.state();
        let layout = Layout::of_this_kernel().map_err(io::Error::other)?;
        let offsets = state.offsets.moved(nanoseconds);
        state.offsets = offsets;
        for (memory, base) in processes {
            // A process that has just ended, or one of another kind, is not there to be moved.
            let is_there = || layout.is_patched(memory, base).unwrap_or(false);
            if is_there()
                && let Err(error) = layout.set(memory, base, offsets)
                && is_there()
            {
                return Err(error);
            }
        }
        Ok(())
    }
}
