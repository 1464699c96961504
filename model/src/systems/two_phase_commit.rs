//! Two-phase commit: resource managers agree to commit or abort (Gray and Lamport, "Consensus on Transaction Commit").
//!
//! The steps are those of `TwoPhase.tla` and of stateright's example, so the counts are theirs. Sets are bits: a state
//! takes 16 bytes.

use crate::{Property, System};

/// So many resource managers fit into a state.
pub const MANAGERS_MAX: u32 = 16;

/// The system.
#[derive(Debug, Clone, Copy)]
pub struct TwoPhaseCommit {
    /// How many resource managers there are, at most [`MANAGERS_MAX`].
    pub managers: u32,
}

/// What a resource manager is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Manager {
    /// Has not decided.
    Working,
    /// Will do as it is told.
    Prepared,
    /// Done.
    Committed,
    /// Given up.
    Aborted,
}

/// What the transaction manager is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transaction {
    /// Has not decided.
    Init,
    /// Has said so to all.
    Committed,
    /// Has said so to all.
    Aborted,
}

/// All that decides what can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Two bits for each resource manager.
    managers: u32,
    transaction: Transaction,
    /// One bit for each resource manager that the transaction manager knows to be prepared.
    known: u16,
    /// One bit for each message "prepared" that was sent. The others were sent when the transaction manager decided.
    sent: u16,
}

impl std::hash::Hash for State {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write(&self.to_bits().to_le_bytes()[..9]);
    }
}

impl State {
    /// What resource manager `rm` is at.
    pub fn manager(&self, rm: u32) -> Manager {
        match self.managers >> (2 * rm) & 3 {
            0 => Manager::Working,
            1 => Manager::Prepared,
            2 => Manager::Committed,
            _ => Manager::Aborted,
        }
    }

    /// All of it as one number.
    pub fn to_bits(&self) -> u128 {
        u128::from(self.managers)
            | u128::from(self.known) << 32
            | u128::from(self.sent) << 48
            | (self.transaction as u128) << 64
    }

    /// The state that [`State::to_bits`] made this number of; none if it made none so.
    pub fn from_bits(bits: u128) -> Option<State> {
        let transaction = match bits >> 64 {
            0 => Transaction::Init,
            1 => Transaction::Committed,
            2 => Transaction::Aborted,
            _ => return None,
        };
        let (managers, known, sent) = (bits as u32, (bits >> 32) as u16, (bits >> 48) as u16);
        Some(State { managers, transaction, known, sent })
    }

    fn with(self, rm: u32, manager: Manager) -> State {
        let others = self.managers & !(3 << (2 * rm));
        State { managers: others | (manager as u32) << (2 * rm), ..self }
    }
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The transaction manager tells all to commit.
    TmCommit,
    /// The transaction manager tells all to abort.
    TmAbort,
    /// The transaction manager hears that one is prepared.
    TmRcvPrepared(u32),
    /// One says that it is prepared.
    RmPrepare(u32),
    /// One gives up.
    RmChooseToAbort(u32),
    /// One hears that all commit.
    RmRcvCommitMsg(u32),
    /// One hears that all abort.
    RmRcvAbortMsg(u32),
}

impl System for TwoPhaseCommit {
    type State = State;
    type Action = Action;

    fn initial(&self) -> Vec<State> {
        assert!(self.managers <= MANAGERS_MAX, "at most {MANAGERS_MAX} resource managers");
        vec![State { managers: 0, transaction: Transaction::Init, known: 0, sent: 0 }]
    }

    fn actions(&self, state: &State, into: &mut Vec<Action>) {
        let all = ((1u32 << self.managers) - 1) as u16;
        if state.transaction == Transaction::Init {
            if state.known == all {
                into.push(Action::TmCommit);
            }
            into.push(Action::TmAbort);
        }
        for rm in 0..self.managers {
            if state.transaction == Transaction::Init && state.sent >> rm & 1 == 1 {
                into.push(Action::TmRcvPrepared(rm));
            }
            if state.manager(rm) == Manager::Working {
                into.push(Action::RmPrepare(rm));
                into.push(Action::RmChooseToAbort(rm));
            }
            match state.transaction {
                Transaction::Init => {}
                Transaction::Committed => into.push(Action::RmRcvCommitMsg(rm)),
                Transaction::Aborted => into.push(Action::RmRcvAbortMsg(rm)),
            }
        }
    }

    fn next(&self, state: &State, action: &Action) -> Option<State> {
        Some(match *action {
            Action::TmCommit => State { transaction: Transaction::Committed, ..*state },
            Action::TmAbort => State { transaction: Transaction::Aborted, ..*state },
            Action::TmRcvPrepared(rm) => State { known: state.known | 1 << rm, ..*state },
            Action::RmPrepare(rm) => {
                State { sent: state.sent | 1 << rm, ..state.with(rm, Manager::Prepared) }
            }
            Action::RmChooseToAbort(rm) | Action::RmRcvAbortMsg(rm) => {
                state.with(rm, Manager::Aborted)
            }
            Action::RmRcvCommitMsg(rm) => state.with(rm, Manager::Committed),
        })
    }

    fn label(&self, action: &Action) -> String {
        format!("{action:?}")
    }

    /// Resource managers are alike: sorted by all that is known of each.
    fn canonical(&self, state: &State) -> State {
        let of = |rm: u32| (state.manager(rm), state.known >> rm & 1, state.sent >> rm & 1);
        let mut sorted: Vec<_> = (0..self.managers).map(of).collect();
        sorted.sort_unstable();
        let none = State { managers: 0, known: 0, sent: 0, transaction: state.transaction };
        (0..).zip(sorted).fold(none, |state, (rm, (manager, known, sent))| State {
            known: state.known | known << rm,
            sent: state.sent | sent << rm,
            ..state.with(rm, manager)
        })
    }
}

impl TwoPhaseCommit {
    /// All can abort, all can commit, and none commits while another aborts.
    pub fn properties(&self) -> Vec<Property<'static, TwoPhaseCommit>> {
        let managers = self.managers;
        let all = move |state: &State, at: Manager| (0..managers).all(|rm| state.manager(rm) == at);
        let any = move |state: &State, at: Manager| (0..managers).any(|rm| state.manager(rm) == at);
        vec![
            Property::sometimes("abort agreement", move |state| all(state, Manager::Aborted))
                .symmetric(),
            Property::sometimes("commit agreement", move |state| all(state, Manager::Committed))
                .symmetric(),
            Property::always("consistent", move |state| {
                !(any(state, Manager::Aborted) && any(state, Manager::Committed))
            })
            .symmetric(),
        ]
    }
}
