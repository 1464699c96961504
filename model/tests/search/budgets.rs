//! Budgets: what was not seen is unknown, and a search that was stopped goes on as if it had not been.

use std::{
    num::NonZeroUsize,
    sync::atomic::{AtomicU32, Ordering},
};

use model::{
    Fairness, Limit, Paused, Property, Report, Search, SearchError, Verdict,
    systems::two_phase_commit::{self, Manager, TwoPhaseCommit},
};

use crate::systems::Drawn;

type Tpc = Report<two_phase_commit::State, two_phase_commit::Action>;

const SYSTEM: TwoPhaseCommit = TwoPhaseCommit { managers: 6 };

fn properties() -> Vec<Property<'static, TwoPhaseCommit>> {
    let mut properties = SYSTEM.properties();
    properties.push(Property::always("not all commit", |state: &two_phase_commit::State| {
        (0..6).any(|rm| state.manager(rm) != Manager::Committed)
    }));
    properties
}

fn assert_unknown(report: &Tpc, why: &Limit) {
    assert_eq!(report.limit.as_ref(), Some(why));
    assert!(!report.verdict("consistent").is_held());
    match report.verdict("consistent") {
        Verdict::Unknown { covered, why: said } => {
            assert_eq!((covered, said), (&report.counts, why));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_not_seen_is_unknown() {
    let properties = SYSTEM.properties();
    let up = || true;
    let check = |set: &dyn Fn(&mut Search<'_, TwoPhaseCommit>), why: Limit| {
        let mut search = Search::new(&SYSTEM, &properties);
        set(&mut search);
        assert_unknown(&search.breadth_first().unwrap(), &why);
        assert_unknown(&search.depth_first().unwrap(), &why);
    };
    check(&|search| search.budgets.states = 1000, Limit::States);
    check(&|search| search.budgets.depth = 5, Limit::Depth);
    check(&|search| search.budgets.memory_bytes = 400_000, Limit::Memory);
    let mut search = Search::new(&SYSTEM, &properties);
    search.budgets.deadline = Some(&up);
    let report = search.breadth_first().unwrap();
    assert_unknown(&report, &Limit::Deadline);
    assert_eq!(report.counts.distinct, 1);
    assert_unknown(&search.depth_first().unwrap(), &Limit::Deadline);
}

#[test]
fn a_depth_budget_sees_all_that_is_nearer() {
    let properties = [Property::always("true", |_| true)];
    let mut search = Search::new(&SYSTEM, &properties);
    search.budgets.depth = 2;
    // The initial state and what one step leads to: one abort, and two for each resource manager.
    assert_eq!(search.breadth_first().unwrap().counts.distinct, 1 + 1 + 2 * 6);
}

fn encode(state: &two_phase_commit::State, into: &mut Vec<u8>) {
    into.extend(state.to_bits().to_le_bytes());
}

fn decode(bytes: &[u8]) -> Option<two_phase_commit::State> {
    let bits = u128::from_le_bytes(bytes.try_into().ok()?);
    two_phase_commit::State::from_bits(bits)
}

#[test]
fn a_search_that_was_stopped_goes_on_as_if_it_had_not_been() {
    let properties = properties();
    let mut search = Search::new(&SYSTEM, &properties);
    search.all_violations = true;
    let whole = search.breadth_first().unwrap();
    for threads in [1, 2] {
        search.threads = NonZeroUsize::new(threads).unwrap();
        search.budgets.states = 1;
        let mut report = search.breadth_first().unwrap();
        let mut pauses = 0;
        while let Some(paused) = report.paused.take() {
            let mut file = Vec::new();
            paused.write(&mut file, encode).unwrap();
            // Each read back is written the same.
            let read = Paused::read(&mut &file[..], decode).unwrap();
            let mut again = Vec::new();
            read.write(&mut again, encode).unwrap();
            assert!(file == again);
            pauses += 1;
            search.budgets.states = report.counts.distinct * 3;
            report = search.resume(read).unwrap();
        }
        assert!(pauses > 5, "{pauses}");
        assert_eq!(report.counts, whole.counts);
        let runs = |report: &Tpc| {
            report.verdicts.iter().map(|(_, verdict)| verdict.run().cloned()).collect::<Vec<_>>()
        };
        assert_eq!(runs(&report), runs(&whole));
    }
}

/// The deadline falls into the middle of a block, which is then taken back.
#[test]
fn a_deadline_leaves_nothing_half_done() {
    let properties = properties();
    let whole = {
        let mut search = Search::new(&SYSTEM, &properties);
        search.all_violations = true;
        search.breadth_first().unwrap()
    };
    for asked in [1, 3, 10, 60, 200] {
        let left = AtomicU32::new(asked);
        let is_up = || {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_err()
        };
        let mut search = Search::new(&SYSTEM, &properties);
        search.all_violations = true;
        search.budgets.deadline = Some(&is_up);
        let mut report = search.breadth_first().unwrap();
        assert_eq!(report.limit, Some(Limit::Deadline));
        search.budgets.deadline = None;
        report = search.resume(report.paused.take().unwrap()).unwrap();
        assert_eq!(report.counts, whole.counts, "{asked}");
    }
}

#[test]
fn liveness_goes_on_too() {
    let edges = (0..60).map(|node| vec![(1, (node + 1) % 60), (0, node)]).collect();
    let system = Drawn { initial: vec![0], edges };
    let fairness = [Fairness::weak("on", |action: &(u8, u8)| action.0 == 1)];
    let check = |settled: u8| {
        let properties = [
            Property::always_eventually("again", |state: &u8| *state == 50),
            Property::eventually_always("settles", |state: &u8| *state != settled),
        ];
        let mut search = Search::new(&system, &properties);
        search.fairness = &fairness;
        search.budgets.states = 20;
        let report = search.breadth_first().unwrap();
        assert!(report.verdicts.iter().all(|(_, v)| matches!(v, Verdict::Unknown { .. })));
        let mut file = Vec::new();
        report.paused.unwrap().write(&mut file, |state, into| into.push(*state)).unwrap();
        search.budgets.states = u64::MAX;
        let read = Paused::read(&mut &file[..], |bytes| bytes.first().copied()).unwrap();
        let report = search.resume(read).unwrap();
        assert!(report.verdict("again").is_held());
        assert!(report.verdict("settles").is_violated());
    };
    check(59);
    check(3);
}

#[test]
fn a_file_that_is_none_is_refused() {
    let nothing = Paused::<u8>::read(&mut &b"something else than a search"[..], |_| Some(0));
    assert_eq!(nothing.unwrap_err().kind(), std::io::ErrorKind::InvalidData);
    let short = Paused::<u8>::read(&mut &b"trommel1"[..], |_| Some(0));
    assert_eq!(short.unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
}

#[test]
fn another_search_does_not_go_on() {
    let properties = SYSTEM.properties();
    let mut search = Search::new(&SYSTEM, &properties);
    search.budgets.states = 1;
    let refused = |search: &Search<'_, TwoPhaseCommit>, paused| search.resume(paused).unwrap_err();
    let mut other = Search::new(&SYSTEM, &properties);
    other.symmetry = true;
    let paused = search.breadth_first().unwrap().paused.unwrap();
    assert_eq!(refused(&other, paused), SearchError::OtherSearch { asked: 3, begun: 3 });
    let fewer = Search::new(&SYSTEM, &properties[..2]);
    let paused = search.breadth_first().unwrap().paused.unwrap();
    assert_eq!(refused(&fewer, paused), SearchError::OtherSearch { asked: 2, begun: 3 });
}
