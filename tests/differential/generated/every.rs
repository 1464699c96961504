//! Every place of a good object, replaced by everything that does not belong there, and every edit after every
//! other: what random scripts come to slowly, and what hides behind the first difference that they show.
//!
//! Under test are the `every` types of `objects.yaml`; `TROMMEL_DIFFERENTIAL_ALL=1` tries all. What differs is told
//! whole in `target/tests/differential-every/differences.txt`.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::{Value, json};
use trommel_tests::{Need, needs, real::Cluster, root};

use super::{
    Attempt, SHOWN_AT_MOST, Sample, THREADS, arms,
    mutate::{WAYS, mutated, places},
    operation::{Collection, OWN, merge},
    samples,
    tally::Tally,
};
use crate::{
    accepted::Accepted,
    script::{Script, Step},
};

#[test]
fn every_place_mutated_gets_the_same_answers() {
    if !needs(&[Need::Go, Need::Judge]) {
        return;
    }
    let home = root().join("target/tests/differential-every");
    let cluster = Cluster::start(&home, &[]);
    let runtime = Arc::new(tokio::runtime::Runtime::new().expect("a runtime"));
    let arms = arms(&cluster, &runtime);
    let (accepted, count) = (Accepted::read(), Tally::default());
    let samples = samples(|sample| sample.every);
    let all: Vec<(&Sample, Script)> = samples
        .iter()
        .flat_map(|sample| scripts(sample).map(move |script| (sample, script)))
        .collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(BTreeMap::<&str, Vec<String>>::new()));
    std::thread::scope(|scope| {
        let work = || {
            while let Some((sample, script)) = all.get(next.fetch_add(1, Ordering::SeqCst)) {
                let attempt = Attempt {
                    sample,
                    arms: &arms,
                    accepted: &accepted,
                    count: &count,
                    runtime: &runtime,
                    defect: None,
                };
                let found = attempt.found(script).into_iter().map(|(number, found)| {
                    let sent = script.steps[number].body.as_ref();
                    format!("{found}\n    sent: {}", sent.unwrap_or(&Value::Null))
                });
                let mut wrong = wrong.lock().unwrap_or_else(PoisonError::into_inner);
                wrong.entry(&sample.path).or_default().extend(found);
            }
        };
        (0..THREADS).for_each(|_| drop(scope.spawn(work)));
    });
    let mut wrong = wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
    wrong.retain(|_, found| !found.is_empty());
    let told = |most: usize| {
        let of = |(path, found): (&&str, &Vec<String>)| {
            format!("{path}: {}\n{}\n", found.len(), found[..most.min(found.len())].join("\n"))
        };
        wrong.iter().map(of).collect::<Vec<String>>().join("\n")
    };
    std::fs::write(home.join("differences.txt"), told(usize::MAX)).expect("it can be written");
    println!("{} types; {count}", samples.len());
    assert!(wrong.is_empty(), "{} types differ; {count}\n{}", wrong.len(), told(SHOWN_AT_MOST));
}

/// One script for each place of the good object, one for each edit's places, and one for the edits in pairs.
fn scripts(sample: &Sample) -> impl Iterator<Item = Script> {
    let collection = Collection::of(sample);
    let mut all = vec![pairs(&collection)];
    all.extend((0..places(&collection.body("a"))).map(|place| of_place(&collection, place)));
    all.extend(sample.edits.iter().map(|edit| of_edit(&collection, edit)));
    let clear = Step::new(format!("DELETE {}?{OWN}", sample.path), None);
    all.into_iter().map(move |mut steps| {
        steps.push(clear.clone());
        Script { about: sample.path.clone(), steps, ..Script::default() }
    })
}

/// A place replaced in each way: in a new object, in what replaces a good one, and in a patch of a good one.
fn of_place(collection: &Collection<'_>, place: u8) -> Vec<Step> {
    let mut steps = Vec::new();
    for how in 0..WAYS {
        let (created, replaced, patched) =
            (format!("a{how}"), format!("b{how}"), format!("c{how}"));
        steps.push(collection.create(&created, mutated(collection.body(&created), place, how)));
        steps.push(collection.create(&replaced, collection.body(&replaced)));
        let body = mutated(collection.body(&replaced), place, how);
        steps.push(replace(collection, &replaced, body));
        steps.push(collection.create(&patched, collection.body(&patched)));
        let mut body = mutated(collection.body(&patched), place, how);
        body.as_object_mut().map(|fields| fields.remove("metadata"));
        steps.push(Step::new(format!("PATCH {}", collection.item(&patched)), Some(body)));
    }
    steps
}

/// The same for a patch that the type allows, and for a good object with it.
fn of_edit(collection: &Collection<'_>, edit: &Value) -> Vec<Step> {
    let mut steps = Vec::new();
    for place in 0..places(edit) {
        for how in 0..WAYS {
            let (patched, replaced) = (format!("a{place}-{how}"), format!("b{place}-{how}"));
            let edit = mutated(edit.clone(), place, how);
            steps.push(collection.create(&patched, collection.body(&patched)));
            let patch = Some(edit.clone());
            steps.push(Step::new(format!("PATCH {}", collection.item(&patched)), patch));
            steps.push(collection.create(&replaced, collection.body(&replaced)));
            let mut body = collection.body(&replaced);
            merge(&mut body, &edit);
            steps.push(replace(collection, &replaced, body));
        }
    }
    steps
}

/// Each edit by a patch, and then each other by each kind of write.
fn pairs(collection: &Collection<'_>) -> Vec<Step> {
    let edits: Vec<Value> = collection.edits().cloned().collect();
    let mut steps = Vec::new();
    for (i, first) in edits.iter().enumerate() {
        for (j, second) in edits.iter().enumerate() {
            for (how, kind) in ["", "strategic", "put"].into_iter().enumerate() {
                let name = format!("e{i}-{j}-{how}");
                let item = collection.item(&name);
                steps.push(collection.create(&name, collection.body(&name)));
                steps.push(Step::new(format!("PATCH {item}"), Some(first.clone())));
                if kind == "put" {
                    let mut body = collection.body(&name);
                    merge(&mut body, second);
                    steps.push(Step::new(format!("PUT {item}"), Some(body)));
                } else {
                    let kind = kind.to_owned();
                    let patch = Step::new(format!("PATCH {item}"), Some(second.clone()));
                    steps.push(Step { kind, ..patch });
                }
            }
        }
    }
    steps
}

/// A PUT with the revision of the object's creation, without which some types refuse it.
fn replace(collection: &Collection<'_>, name: &str, mut body: Value) -> Step {
    body["metadata"]["resourceVersion"] = json!(format!("{{{name}.metadata.resourceVersion}}"));
    Step::new(format!("PUT {}", collection.item(name)), Some(body))
}
