//! Generated scripts: for each type of `objects.yaml` random sequences of verbs, with stale revisions,
//! selectors, finalizers, every kind of patch, and invalid mutations; a difference shrinks to a short script.
//!
//! Custom types are those of `definitions.yaml`, which both servers have.
//!
//! Types are `closed` once all that was generated for them got the same answers; they stay under test
//! from then on. `TROMMEL_DIFFERENTIAL_ALL=1` tries the others too and shows what differs first in each;
//! `TROMMEL_DIFFERENTIAL_CASES` says how many scripts a type gets, `TROMMEL_DIFFERENTIAL_SEED` (a number) draws others,
//! and `TROMMEL_DIFFERENTIAL_ONLY` names collections by parts of their paths, with commas between them.
//!
//! That the search can find something is tested too: with defects planted into the embedded server.
#![allow(clippy::print_stdout)] // what was sent, and how many requests each planted defect took

mod every;
mod mutate;
mod operation;
mod refused;
mod tally;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use proptest::{
    collection::vec,
    prelude::any,
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner},
};
use serde::Deserialize;
use serde_json::Value;
use trommel_tests::{Need, needs, product::yaml, real::Cluster, root};

use crate::{
    accepted::{Accepted, Found, folder},
    arm::{Arm, Arms},
    defects::{DEFECTS, Defect},
    form::comparable,
    run::run,
    script::{Script, Step},
};
use operation::{Seed, script};
use tally::Tally;

/// A type that scripts are generated for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// Its collection.
    pub path: String,
    /// A good object.
    pub body: Value,
    /// Merge patches, good and bad.
    pub edits: Vec<Value>,
    /// Whether it is under test.
    #[serde(default)]
    pub closed: bool,
    /// Whether every place of it is mutated in every run ([`every`]).
    #[serde(default)]
    pub every: bool,
}

const CASES: &str = "TROMMEL_DIFFERENTIAL_CASES";
const ALL: &str = "TROMMEL_DIFFERENTIAL_ALL";
const ONLY: &str = "TROMMEL_DIFFERENTIAL_ONLY";
const SEED: &str = "TROMMEL_DIFFERENTIAL_SEED";

/// Scripts a type in the ordinary run.
const CASES_DEFAULT: u32 = 4;
/// Requests in one script.
const REQUESTS_MAX: usize = 24;
/// Types tried at the same time: their scripts wait for watches most of the time.
const THREADS: usize = 16;
/// Differences shown of one shrunken script.
const SHOWN_AT_MOST: usize = 6;

/// Those that are under test by a question, or all if that is asked for.
fn samples(tested: impl Fn(&Sample) -> bool) -> Vec<Sample> {
    let path = folder().join("objects.yaml");
    let all: Vec<Sample> = serde_json::from_value(yaml(&path))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let only = std::env::var(ONLY).unwrap_or_default();
    let named = |sample: &Sample| {
        let mut words = only.split(',');
        words.any(|word| sample.path.contains(word))
    };
    let wanted = |sample: &Sample| tested(sample) || std::env::var_os(ALL).is_some();
    all.into_iter().filter(|sample| wanted(sample) && named(sample)).collect()
}

/// The custom types that scripts are generated for.
fn definitions() -> Vec<Value> {
    let path = folder().join("definitions.yaml");
    serde_json::from_value(yaml(&path))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The same scripts every time, so that a difference that CI finds is found here too; others if a seed is asked for.
fn rng() -> TestRng {
    let seed = std::env::var(SEED).ok().and_then(|text| text.parse::<u64>().ok());
    let Some(seed) = seed else { return TestRng::deterministic_rng(RngAlgorithm::ChaCha) };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}

/// Both servers, with the custom types.
fn arms(cluster: &Cluster, runtime: &tokio::runtime::Runtime) -> Arms {
    let real = Arm::real(cluster);
    let defining = Arm::embedded(&Arm::empty_world());
    let mut setup = Vec::new();
    for crd in definitions() {
        let spec = &crd["spec"];
        let (group, plural) = (&spec["group"], &spec["names"]["plural"]);
        let text = |value: &Value| value.as_str().expect("a definition is whole").to_owned();
        for version in spec["versions"].as_array().expect("a definition has versions") {
            let served =
                format!("/apis/{}/{}/{}", text(group), text(&version["name"]), text(plural));
            setup.push(Step::new(format!("AWAIT {served}"), None));
        }
        let collection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        setup.insert(0, Step::new(format!("POST {collection}"), Some(crd)));
    }
    let script = Script { setup, ..Script::default() };
    runtime.block_on(run(&script, &real, "definitions"));
    runtime.block_on(run(&script, &defining, "definitions"));
    Arms { real, world: defining.world() }
}

#[test]
fn generated_scripts_get_the_same_answers() {
    if !needs(&[Need::Go, Need::Judge]) {
        return;
    }
    let cluster = Cluster::start(&root().join("target/tests/differential-generated"), &[]);
    let runtime = Arc::new(tokio::runtime::Runtime::new().expect("a runtime"));
    let arms = arms(&cluster, &runtime);
    let (accepted, count, samples) =
        (Accepted::read(), Tally::default(), samples(|sample| sample.closed));
    let next = AtomicUsize::new(0);
    let mut wrong: Vec<String> = std::thread::scope(|scope| {
        let work = || {
            let mut wrong = Vec::new();
            while let Some(sample) = samples.get(next.fetch_add(1, Ordering::SeqCst)) {
                let attempt = Attempt {
                    sample,
                    arms: &arms,
                    accepted: &accepted,
                    count: &count,
                    runtime: &runtime,
                    defect: None,
                };
                wrong.extend(attempt.search());
            }
            wrong
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a thread ends")).collect()
    });
    wrong.sort();
    let head = format!("{} types, {} of them differ; {count}", samples.len(), wrong.len());
    println!("{head}");
    assert!(wrong.is_empty(), "{head}\n\n{}", wrong.join("\n\n"));
    let share = count.share();
    assert!(samples.is_empty() || share >= 25, "too little succeeds to mean anything: {head}");
}

/// Requests until a planted defect must have been found.
const FOUND_WITHIN: usize = 5_000;

#[test]
fn planted_defects_are_found() {
    if !needs(&[Need::Go, Need::Judge]) {
        return;
    }
    let cluster = Cluster::start(&root().join("target/tests/differential-defects"), &[]);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let arms = arms(&cluster, &runtime);
    let (accepted, samples) = (Accepted::read(), samples(|sample| sample.closed));
    let search = |defect| requests_until_found(defect, &samples, &arms, &accepted, &runtime);
    let found: Vec<(&str, Option<usize>)> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            DEFECTS.iter().map(|defect| (defect, scope.spawn(move || search(defect)))).collect();
        let ended = |(defect, thread): (&Defect, std::thread::ScopedJoinHandle<'_, _>)| {
            (defect.name, thread.join().expect("a thread ends"))
        };
        threads.into_iter().map(ended).collect()
    });
    for (name, requests) in &found {
        println!("{name}: {requests:?} requests until it was found");
    }
    assert!(
        found.iter().all(|(_, requests)| requests.is_some()),
        "within {FOUND_WITHIN}: {found:?}"
    );
}

/// One script a type in turn, each drawn anew; those that show something without the defect prove nothing.
fn requests_until_found(
    defect: &'static Defect,
    samples: &[Sample],
    arms: &Arms,
    accepted: &Accepted,
    runtime: &tokio::runtime::Runtime,
) -> Option<usize> {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut drawn = TestRunner::new_with_rng(Config::default(), rng);
    let seeds = vec(any::<Seed>(), 1..REQUESTS_MAX);
    let (with, without) = (Tally::default(), Tally::default());
    for sample in samples.iter().cycle() {
        let seeds = seeds.new_tree(&mut drawn).expect("numbers can be drawn").current();
        let script = script(sample, &seeds);
        let shows = |defect, count| {
            let attempt = Attempt { sample, arms, accepted, count, runtime, defect };
            !attempt.differences(&script).is_empty()
        };
        let found = shows(Some(defect), &with) && !shows(None, &without);
        let requests = with.requests();
        if found || requests >= FOUND_WITHIN {
            return found.then_some(requests);
        }
    }
    None
}

/// The search for a difference in one type.
struct Attempt<'a> {
    sample: &'a Sample,
    arms: &'a Arms,
    accepted: &'a Accepted,
    count: &'a Tally,
    runtime: &'a tokio::runtime::Runtime,
    /// Planted into the embedded server.
    defect: Option<&'static Defect>,
}

impl Attempt<'_> {
    /// The shortest script found whose answers differ.
    fn search(&self) -> Option<String> {
        let cases = std::env::var(CASES).ok().and_then(|text| text.parse().ok());
        let config = Config {
            cases: cases.unwrap_or(CASES_DEFAULT),
            failure_persistence: None,
            max_shrink_iters: 60,
            ..Config::default()
        };
        let seeds = vec(any::<Seed>(), 1..REQUESTS_MAX);
        let outcome = TestRunner::new_with_rng(config, rng()).run(&seeds, |seeds| {
            match self.differences(&script(self.sample, &seeds)) {
                found if found.is_empty() => Ok(()),
                found => Err(TestCaseError::fail(found.join("\n"))),
            }
        });
        match outcome {
            Ok(()) => None,
            Err(TestError::Fail(_, seeds)) => Some(self.report(&seeds)),
            Err(TestError::Abort(why)) => Some(format!("{}: {why}", self.sample.path)),
        }
    }

    fn report(&self, seeds: &[Seed]) -> String {
        let script = script(self.sample, seeds);
        let found = self.differences(&script);
        let steps: Vec<String> = script
            .steps
            .iter()
            .map(|step| {
                let body = step.body.as_ref().map(Value::to_string).unwrap_or_default();
                format!("  - {} {} {body}", step.action, step.kind)
            })
            .collect();
        let shown: Vec<&str> = found.iter().take(SHOWN_AT_MOST).map(String::as_str).collect();
        format!("{}\n{}\n{}", self.sample.path, steps.join("\n"), shown.join("\n"))
    }

    fn differences(&self, script: &Script) -> Vec<String> {
        self.found(script).iter().map(|(_, found)| found.to_string()).collect()
    }

    /// What differs, each with the number of its step.
    fn found(&self, script: &Script) -> Vec<(usize, Found)> {
        static NAMES: AtomicUsize = AtomicUsize::new(0);
        let namespace = format!("g{}", NAMES.fetch_add(1, Ordering::SeqCst));
        let embedded = Arm::embedded(&self.arms.world).with(self.defect);
        let (real, embedded) = self.runtime.block_on(async {
            tokio::join!(
                run(script, &self.arms.real, &namespace),
                run(script, &embedded, &namespace)
            )
        });
        self.count.add(&self.sample.path, &real.entries);
        let (real, embedded) = (comparable(&real.entries), comparable(&embedded.entries));
        let of_step = |step: usize| {
            let (real, embedded) = (&real[step..=step], &embedded[step..=step]);
            let found = self.accepted.judge(real, embedded, &mut Vec::new());
            found.into_iter().map(move |found| (step, found))
        };
        (0..real.len()).flat_map(of_step).collect()
    }
}
