//! Custom types of others: each CRD of some folders is created on both servers, and then objects of it, made from its
//! schema: the least that is good, and what is bad in one place.
//!
//! `TROMMEL_CRDS=folder:folder` says where (`cargo ci crds` takes those of tests/foreign/definitions). Code, reason and the
//! fields of causes must be the same, and of successes all of the answer. Texts of refusals are counted, not judged.
//! All that differs stands in `target/tests/differential-corpus/differences.txt`, each with the object that was sent.

mod definition;
mod outcome;
mod schema;

use std::{
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::Value;
use trommel_tests::{Need, needs, real::Cluster, root, skip};

use self::{definition::Definition, outcome::Outcome};
use crate::{
    accepted::Accepted,
    arm::{Arm, Arms},
    form::comparable,
    run::run,
    script::{Script, Step},
};

/// Folders with CRDs, as PATH has them.
const FOLDERS: &str = "TROMMEL_CRDS";
/// Objects a version of a type.
const OBJECTS: &str = "TROMMEL_CRDS_OBJECTS";
const OBJECTS_DEFAULT: usize = 100;
/// Types at the same time.
const THREADS: usize = 4;

const COLLECTION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

#[test]
fn custom_types_of_others_get_the_same_answers() {
    let Some(folders) = std::env::var_os(FOLDERS).filter(|folders| !folders.is_empty()) else {
        return skip("TROMMEL_CRDS names no folder with CRDs");
    };
    if !needs(&[Need::Go, Need::Judge]) {
        return;
    }
    let folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    let definitions = definition::all(&folders);
    assert!(!definitions.is_empty(), "no CRD in {folders:?}");
    let home = root().join("target/tests/differential-corpus");
    let cluster = Cluster::start(&home, &[]);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let arms = Arms { real: Arm::real(&cluster), world: Arm::empty_world() };
    let (next, outcome, accepted) =
        (AtomicUsize::new(0), Mutex::new(Outcome::default()), Accepted::read());
    // Those of one name can't be there at the same time.
    let by_name: Vec<&Vec<Definition>> = definitions.values().collect();
    std::thread::scope(|scope| {
        let work = || {
            while let Some(same) = by_name.get(next.fetch_add(1, Ordering::SeqCst)) {
                for definition in *same {
                    let found = runtime.block_on(compare(definition, &arms, &accepted));
                    outcome.lock().unwrap_or_else(PoisonError::into_inner).add(definition, found);
                }
            }
        };
        (0..THREADS).for_each(|_| drop(scope.spawn(work)));
    });
    let outcome = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcome.write(&home);
    outcome.judge();
}

/// One type on both servers, and what its answers were. It is gone afterwards.
async fn compare(definition: &Definition, arms: &Arms, accepted: &Accepted) -> Outcome {
    let (embedded, mut outcome) = (Arm::embedded(&arms.world), Outcome::default());
    for script in [creation(definition), objects(definition)] {
        let namespace = namespace();
        let (real, embedded) =
            tokio::join!(run(&script, &arms.real, &namespace), run(&script, &embedded, &namespace));
        let forms = [comparable(&real.entries), comparable(&embedded.entries)];
        outcome.compare(&script, &forms, accepted);
        if !is_created(&real.entries) || !is_created(&embedded.entries) {
            break;
        }
    }
    remove(definition, &arms.real).await;
    outcome
}

/// Whether the type could be created, by the answers of [`creation`]. Later ones say nothing of it.
fn is_created(entries: &[Value]) -> bool {
    let refused = |entry: &Value| {
        entry["request"].as_str().is_some_and(|request| request.ends_with(COLLECTION))
            && entry["code"] != 201
    };
    !entries.iter().any(refused)
}

/// The CRD as it is, and then without a webhook for conversions, which nobody would answer.
fn creation(definition: &Definition) -> Script {
    let post = |path: &str, body: &Value| Step::new(format!("POST {path}"), Some(body.clone()));
    let dry = format!("{COLLECTION}?dryRun=All");
    let steps = vec![post(&dry, &definition.body), post(COLLECTION, &definition.without_webhook())];
    Script { steps, ..Script::default() }
}

fn objects(definition: &Definition) -> Script {
    let limit = std::env::var(OBJECTS).ok().and_then(|text| text.parse().ok());
    let limit = limit.unwrap_or(OBJECTS_DEFAULT);
    let mut script = Script::default();
    for version in definition.versions() {
        script.steps.push(Step::new(format!("AWAIT {}", version.served), None));
        script.steps.extend(version.verbs());
        script.steps.extend(version.objects(limit));
    }
    script
}

/// So that the next one of this name can be created.
async fn remove(definition: &Definition, real: &Arm) {
    let path = format!("{COLLECTION}/{}", definition.name);
    let steps = ["DELETE", "GONE"].map(|verb| Step::new(format!("{verb} {path}"), None));
    run(&Script { steps: steps.into(), ..Script::default() }, real, &namespace()).await;
}

/// A name that no script has had.
fn namespace() -> String {
    static NAMES: AtomicUsize = AtomicUsize::new(0);
    format!("c{}", NAMES.fetch_add(1, Ordering::SeqCst))
}
