//! Each row of the table of consistency models, on histories written by hand.

use serde_json::json;
use trace::ObjectKey;

use super::*;

/// A world of ConfigMaps and Secrets of which only versions matter.
struct World {
    objects: Objects,
    history: History,
    of: Consistency,
}

const KINDS: [&str; 2] = ["ConfigMap", "Secret"];

impl World {
    fn new(of: Consistency) -> World {
        let objects = Objects::default();
        let first = Store::of(&objects, []);
        World { history: History::new(first), objects, of }
    }

    /// A write of some version of an object, after reading this.
    fn write(&mut self, read: &Read, kind: &str, name: &str, version: u32) -> Option<Past> {
        let resource = KindId::named(kind).expect("a kind").resource();
        let key = ObjectKey::new(resource, "default", name);
        let value = json!({"metadata": {"resourceVersion": version.to_string()}});
        let base = match self.of {
            Consistency::OptimisticLinear | Consistency::Causal => {
                self.history.store(&self.objects, read)
            }
            _ => self.history.head().clone(),
        };
        let store = base.with(&self.objects, &key, Some(value));
        let (history, kept) = self.history.followed_by(self.of, &self.objects, store, read);
        self.history = history;
        kept
    }

    /// Three writes, each on what is newest.
    fn four(of: Consistency) -> World {
        let mut world = World::new(of);
        for version in 1..=3 {
            world.write(&world.history.latest(), "ConfigMap", "a", version);
        }
        world
    }

    fn reader<'c>(&self, cursor: Option<&'c Cursor>) -> Reader<'c> {
        let kinds = KindSet::of(&KINDS);
        Reader { of: self.of, cursor, lag_max: u16::MAX, one_behind: None, kinds }
    }

    /// What a client sees that has just started, or read this last.
    fn visible(&self, last: Option<&Read>) -> Vec<String> {
        let cursor = last.and_then(|read| self.reader(None).after(&self.history, read));
        let visible = self.reader(cursor.as_ref()).visible(&self.history);
        visible.iter().map(|read| self.told(read)).collect()
    }

    /// Places, or `name=version` of all objects where that is no single place.
    fn told(&self, read: &Read) -> String {
        if let Read::At(place) = read {
            return place.to_string();
        }
        let store = self.history.store(&self.objects, read);
        let of = |id: &Id| {
            let stored = self.objects.get(*id);
            format!("{}={}", stored.key.name, stored.version)
        };
        store.ids().iter().map(of).collect::<Vec<String>>().join(" ")
    }
}

#[test]
fn linear_models_read_what_their_rows_say() {
    let check = |of, last: Option<Place>, expect: &[&str]| {
        let world = World::four(of);
        assert_eq!(world.visible(last.map(Read::At).as_ref()), expect, "{of:?} after {last:?}");
    };
    let all: &[&str] = &["3", "2", "1", "0"];
    for last in [None, Some(0), Some(3)] {
        check(Consistency::Synchronous, last, &["3"]);
    }
    check(Consistency::MonotonicSession, None, &["3"]);
    check(Consistency::ResettableSession, None, all);
    check(Consistency::OptimisticLinear, None, all);
    for of in [
        Consistency::MonotonicSession,
        Consistency::ResettableSession,
        Consistency::OptimisticLinear,
        Consistency::Causal,
    ] {
        check(of, Some(0), &["3", "2", "1"]);
        check(of, Some(2), &["3"]);
        // Nothing is newer: it may read the same again.
        check(of, Some(3), &["3"]);
    }
    check(Consistency::Causal, None, all);
}

#[test]
fn how_far_behind_is_bounded() {
    let world = World::four(Consistency::ResettableSession);
    let visible = |lag_max, one_behind| {
        let reader = Reader { lag_max, one_behind, ..world.reader(None) };
        reader.visible(&world.history).iter().map(|read| world.told(read)).collect::<Vec<_>>()
    };
    assert_eq!(visible(1, None), ["3", "2"]);
    assert_eq!(visible(0, None), ["3"]);
    assert_eq!(visible(u16::MAX, Some(false)), ["3"]);
    assert_eq!(visible(u16::MAX, Some(true)), ["3", "0"]);
}

#[test]
fn an_optimistic_write_takes_the_place_of_what_was_not_read() {
    let mut world = World::four(Consistency::OptimisticLinear);
    let kept = world.write(&Read::At(1), "Secret", "b", 4);
    assert_eq!(kept, Some(Past::up_to(1)), "places 2 and 3 are lost");
    assert_eq!(world.told(&Read::Merged(Past::of(2))), "a=1 b=4");
    assert_eq!(world.visible(Some(&Read::At(1))), ["2"]);
    assert_eq!(world.visible(None), ["2", "1", "0"]);
    assert_eq!(world.write(&Read::At(2), "Secret", "b", 5), None, "the newest was read");
}

#[test]
fn causal_clients_read_concurrent_revisions_and_their_merges() {
    let mut world = World::new(Consistency::Causal);
    world.write(&Read::At(0), "ConfigMap", "a", 1);
    // 2 and 3 both follow 1.
    world.write(&Read::At(1), "ConfigMap", "a", 2);
    world.write(&Read::At(1), "ConfigMap", "a", 3);
    world.write(&Read::At(3), "Secret", "b", 1);
    assert_eq!(world.history.maxima(), Past::of(2).with(4));
    assert_eq!(world.told(&world.history.latest()), "a=3 b=1", "the newer version wins");
    let mut all = world.visible(None);
    all.sort();
    assert_eq!(all, ["0", "1", "2", "3", "4", "a=3", "a=3 b=1"]);
    // Whoever read 2 knows 0, 1 and 2, but not what 2 comes to with others.
    let mut after = world.visible(Some(&Read::At(2)));
    after.sort();
    assert_eq!(after, ["3", "4", "a=3", "a=3 b=1"]);
    // A merge knows what all of its parents know.
    let merged = Read::Merged(Past::of(2).with(4));
    assert_eq!(world.visible(Some(&merged)), ["a=3 b=1"]);
    world.write(&merged, "ConfigMap", "c", 1);
    assert_eq!(world.history.maxima(), Past::of(5));
    assert_eq!(world.visible(Some(&merged)), ["5"]);
    assert_eq!(world.history.beside_another(), Past::of(2).with(3).with(4));
}

#[test]
fn a_merge_brings_back_what_one_branch_deleted() {
    let mut world = World::new(Consistency::Causal);
    world.write(&Read::At(0), "ConfigMap", "a", 1);
    let key =
        ObjectKey::new(KindId::named("ConfigMap").expect("a kind").resource(), "default", "a");
    let without = world.history.at(1).with(&world.objects, &key, None);
    let read = Read::At(1);
    world.history = world.history.followed_by(world.of, &world.objects, without, &read).0;
    world.write(&read, "Secret", "b", 1);
    assert_eq!(
        world.told(&world.history.latest()),
        "b=1 a=1".split(' ').rev().collect::<Vec<_>>().join(" ")
    );
}

#[test]
fn each_type_has_a_cursor_of_its_own() {
    let world = |resettable| {
        let mut world = World::new(Consistency::PerKind { resettable });
        world.write(&world.history.latest(), "ConfigMap", "a", 1);
        world.write(&world.history.latest(), "Secret", "b", 1);
        world
    };
    assert_eq!(world(false).visible(None), ["a=1 b=1"]);
    assert_eq!(world(true).visible(None), ["a=1 b=1", "a=1", "b=1", ""], "in any combination");
    let kinds = KINDS.map(|kind| KindId::named(kind).expect("a kind"));
    // It knows the ConfigMap, and no Secret.
    let last = Read::Kinds([(kinds[0], 1), (kinds[1], 0)].into());
    assert_eq!(world(false).visible(Some(&last)), ["a=1 b=1", "a=1"]);
    let last = Read::Kinds([(kinds[0], 1), (kinds[1], 2)].into());
    assert_eq!(world(false).visible(Some(&last)), ["a=1 b=1"]);
}

#[test]
fn places_move_when_others_go() {
    let history = World::four(Consistency::ResettableSession).history;
    let kept = Past::of(1).with(3);
    let fewer = history.only(kept);
    assert_eq!((fewer.newest(), fewer.at(0) == history.at(1)), (1, true));
    assert_eq!(Cursor::Past(Past::up_to(2)).within(kept), Cursor::Past(Past::of(0)));
    assert_eq!(Past::up_to(127).len(), 128);
    assert_eq!(Past::of(5).with(2).places_newest_first().collect::<Vec<_>>(), [5, 2]);
}
