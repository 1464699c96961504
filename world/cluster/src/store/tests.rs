//! The store against a naive model: a list of whole maps.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Put(u8, u8, u8),
    Delete(u8, u8, u8),
    Fork,
    Compact(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0u8..2, 0u8..4, 0u8..4).prop_map(|(r, s, n)| Step::Put(r, s, n)),
        3 => (0u8..2, 0u8..4, 0u8..4).prop_map(|(r, s, n)| Step::Delete(r, s, n)),
        1 => Just(Step::Fork),
        1 => (0u8..255).prop_map(Step::Compact),
    ]
}

const RESOURCES: [&str; 2] = ["foos", "bars"];
// "a-b" sorts before "a" as a namespace because '-' < '/'.
const NAMESPACES: [&str; 4] = ["", "a", "a-b", "b"];
const NAMES: [&str; 4] = ["a", "a-b", "ab", "b"];

fn key(resource: u8, namespace: u8, name: u8) -> ObjectKey {
    let resource = GroupResource::new("example.com", RESOURCES[resource as usize]);
    ObjectKey::new(resource, NAMESPACES[namespace as usize], NAMES[name as usize])
}

type Path = (String, String);

fn path(key: &ObjectKey) -> Path {
    let slash = if key.namespace.is_empty() { "" } else { "/" };
    (key.resource.to_string(), format!("{}{slash}{}", key.namespace, key.name))
}

/// Whole maps, one per revision from 0, and what was done to get there.
#[derive(Debug, Clone)]
struct Model {
    states: Vec<BTreeMap<Path, u64>>,
    done: Vec<(Change, Path)>,
    compacted: usize,
}

impl Model {
    fn now(&self) -> &BTreeMap<Path, u64> {
        &self.states[self.states.len() - 1]
    }

    fn push(&mut self, change: Change, path: Path, value: Option<u64>) {
        let mut state = self.now().clone();
        match value {
            Some(value) => drop(state.insert(path.clone(), value)),
            None => drop(state.remove(&path)),
        }
        self.states.push(state);
        self.done.push((change, path));
    }
}

fn apply(store: &mut Store, model: &mut Model, step: &Step) {
    match *step {
        Step::Put(r, s, n) => {
            let key = key(r, s, n);
            let value = store.next_revision().0;
            let existed = model.now().contains_key(&path(&key));
            let change = if existed { Change::Updated } else { Change::Created };
            model.push(change, path(&key), Some(value));
            let logged = store.put(key, Arc::new(json!(value)));
            assert_eq!(logged.change, change);
            assert_eq!(logged.previous.is_some(), existed);
        }
        Step::Delete(r, s, n) => {
            let key = key(r, s, n);
            let existed = model.now().contains_key(&path(&key));
            let done = store.delete(key.clone(), Arc::new(json!(store.next_revision().0)));
            assert_eq!(done.is_some(), existed);
            if existed {
                model.push(Change::Deleted, path(&key), None);
            }
        }
        Step::Compact(at) => {
            let at = usize::from(at) % model.states.len();
            store.compact(Revision(at as u64));
            model.compacted = model.compacted.max(at);
        }
        Step::Fork => {}
    }
}

fn compare(store: &Store, model: &Model) {
    assert_eq!(store.revision().0 as usize, model.states.len() - 1);
    for (revision, state) in model.states.iter().enumerate() {
        let Ok(root) = store.root_at(Revision(revision as u64)) else {
            assert!(revision < model.compacted);
            continue;
        };
        assert!(revision >= model.compacted);
        let root = root.expect("every revision up to now has a root");
        let found: Vec<(Path, u64)> =
            root.objects().map(|(key, value)| (path(key), value.as_u64().unwrap())).collect();
        let expected: Vec<(Path, u64)> = state.iter().map(|(p, v)| (p.clone(), *v)).collect();
        assert_eq!(found, expected, "objects in etcd's order at {revision}");
    }
    assert!(store.root_at(store.next_revision()).expect("the future is not compacted").is_none());
    for resource in [key(0, 0, 0).resource, key(1, 0, 0).resource] {
        for from in model.compacted..model.states.len() {
            let found: Vec<(u64, Change, Path)> = store
                .log_after(&resource, Revision(from as u64))
                .expect("not compacted")
                .map(|entry| (entry.revision.0, entry.change, path(&entry.key)))
                .collect();
            let expected: Vec<(u64, Change, Path)> = (from..model.done.len())
                .map(|at| (at as u64 + 1, model.done[at].0, model.done[at].1.clone()))
                .filter(|(_, _, (of, _))| *of == resource.to_string())
                .collect();
            assert_eq!(found, expected);
        }
        if model.compacted > 0 {
            assert!(store.log_after(&resource, Revision(model.compacted as u64 - 1)).is_err());
        }
        for namespace in NAMESPACES {
            let found: Vec<String> = store
                .root()
                .scan(&resource, namespace, Bound::Unbounded)
                .map(|(key, _)| path(key).1)
                .collect();
            let expected: Vec<String> = (model.now().keys())
                .filter(|(of, at)| {
                    *of == resource.to_string()
                        && (namespace.is_empty() || at.starts_with(&format!("{namespace}/")))
                })
                .map(|(_, at)| at.clone())
                .collect();
            assert_eq!(found, expected, "scan of {namespace:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn behaves_like_a_list_of_maps(steps in prop::collection::vec(step(), 0..60)) {
        let model = Model { states: vec![BTreeMap::new()], done: vec![], compacted: 0 };
        let mut worlds = vec![(Store::new(Revision(0)), model)];
        for step in &steps {
            if matches!(step, Step::Fork) && worlds.len() < 4 {
                // The original goes on unchanged from here; the fork takes the other steps.
                worlds.push(worlds[worlds.len() - 1].clone());
            }
            let last = worlds.len() - 1;
            let (store, model) = &mut worlds[last];
            apply(store, model, step);
        }
        for (store, model) in &worlds {
            compare(store, model);
        }
    }
}
