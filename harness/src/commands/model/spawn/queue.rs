//! The keys of a controller: a rate-limiting workqueue of client-go (`util/workqueue`), in values.
//!
//! A key waits once, however often it is added; one that is added while it is worked on comes again afterwards.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use trace::{ObjectKey, Time};

/// First back-off of a key whose reconcile failed; each further failure doubles it
/// (`workqueue.DefaultTypedControllerRateLimiter`).
const FIRST_BACKOFF: Duration = Duration::from_millis(5);

/// The most urgent first, then the one that has waited longest.
type Place = (Reverse<i64>, u64);

/// The keys of one controller.
#[derive(Debug, Default)]
pub struct Queue {
    waiting: BTreeMap<Place, ObjectKey>,
    places: BTreeMap<ObjectKey, Place>,
    next_place: u64,
    /// Keys that come at a time; each once, at the earliest of its times.
    timers: BTreeSet<(Time, ObjectKey)>,
    times: BTreeMap<ObjectKey, Time>,
    /// Failures in a row.
    failures: BTreeMap<ObjectKey, u32>,
}

impl Queue {
    /// Adds a key at once, with its urgency ([`controllers::Controller::urgency`]).
    pub fn add(&mut self, key: ObjectKey, urgency: i64) {
        if self.places.contains_key(&key) {
            return;
        }
        let place = (Reverse(urgency), self.next_place);
        self.next_place += 1;
        self.places.insert(key.clone(), place);
        self.waiting.insert(place, key);
    }

    /// Adds a key at a time.
    pub fn add_at(&mut self, key: ObjectKey, at: Time) {
        match self.times.get(&key) {
            Some(earlier) if *earlier <= at => return,
            Some(later) => {
                self.timers.remove(&(*later, key.clone()));
            }
            None => {}
        }
        self.times.insert(key.clone(), at);
        self.timers.insert((at, key));
    }

    /// The keys that are due by now.
    pub fn due(&mut self, now: Time) -> Vec<ObjectKey> {
        let mut due = Vec::new();
        while let Some((at, key)) = self.timers.first().cloned()
            && at <= now
        {
            self.remove_timer(&key);
            due.push(key);
        }
        due
    }

    /// When the next key is due.
    pub fn next_timer(&self) -> Option<Time> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Takes the next key. It is about to see all that a timer was to show it, and says itself when to look again.
    pub fn take(&mut self) -> Option<ObjectKey> {
        let (_, key) = self.waiting.pop_first()?;
        self.places.remove(&key);
        self.remove_timer(&key);
        Some(key)
    }

    fn remove_timer(&mut self, key: &ObjectKey) {
        if let Some(at) = self.times.remove(key) {
            self.timers.remove(&(at, key.clone()));
        }
    }

    /// A key was done.
    pub fn succeeded(&mut self, key: &ObjectKey) {
        self.failures.remove(key);
    }

    /// A key failed: it comes back after its back-off, at most `longest`.
    pub fn failed(&mut self, key: ObjectKey, now: Time, longest: Duration) {
        let failures = self.failures.entry(key.clone()).or_default();
        let backoff = FIRST_BACKOFF * 2_u32.pow((*failures).min(20));
        *failures += 1;
        self.add_at(key, now.plus(backoff.min(longest)));
    }
}

#[cfg(test)]
mod tests {
    use trace::GroupResource;

    use super::*;

    const LONGEST: Duration = Duration::from_secs(1000);

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new(GroupResource::new("", "pods"), "ns", name)
    }

    #[test]
    fn keys_come_once_the_urgent_first() {
        let mut queue = Queue::default();
        for (name, urgency) in [("a", 0), ("b", 0), ("a", 0), ("c", 7)] {
            queue.add(key(name), urgency);
        }
        queue.add_at(key("a"), Time(5));
        let taken: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
        assert_eq!(taken, ["c", "a", "b"].map(key));
        assert_eq!(queue.next_timer(), None, "it has seen all that the timer was to show it");
        queue.add(key("a"), 0);
        assert_eq!(queue.take(), Some(key("a")), "it was added while it was worked on");
    }

    #[test]
    fn the_earliest_timer_counts() {
        let mut queue = Queue::default();
        for at in [9, 3, 6] {
            queue.add_at(key("a"), Time(at));
        }
        assert_eq!(queue.next_timer(), Some(Time(3)));
        assert_eq!(queue.due(Time(2)), []);
        assert_eq!(queue.due(Time(3)), [key("a")]);
        assert_eq!(queue.next_timer(), None);
    }

    #[test]
    fn back_offs_double_up_to_the_longest() {
        let mut queue = Queue::default();
        let mut next = || {
            queue.failed(key("a"), Time(0), LONGEST);
            let at = queue.next_timer().expect("a timer");
            queue.due(at);
            at.since(Time(0))
        };
        let first: Vec<u128> = (0..4).map(|_| next().as_millis()).collect();
        assert_eq!(first, [5, 10, 20, 40]);
        let last = (0..30).map(|_| next()).last();
        assert_eq!(last, Some(LONGEST));
        queue.succeeded(&key("a"));
        queue.failed(key("a"), Time(0), LONGEST);
        assert_eq!(queue.next_timer(), Some(Time(0).plus(FIRST_BACKOFF)));
    }
}
