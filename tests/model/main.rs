//! `trommel model`, on the specifications of this repository.

mod clusters;
mod confirm;
mod inputs;
mod kivi;
mod page;

use trommel_tests::{
    house::House,
    product::{Ended, run},
};

const SPECS: &str = "model/specs";

/// A folder with the specifications in `model/specs`.
fn house(test: &str) -> House {
    House::new(&format!("model/{test}"), &[SPECS])
}

/// `trommel model …` beside the specifications.
fn model(house: &House, arguments: &str) -> Ended {
    run(&house.path(SPECS), ["model"].into_iter().chain(arguments.split(' ')))
}

const VIOLATED: &str = "\
violated: LimitedFooObjs is false in state 6
13 states generated, 11 distinct, 1 left on the queue, depth 6

";

const RUN: &str = r#"1: initial state
   barObj  = [created |-> FALSE, name |-> "foo"]
   fooObjs = <<>>
   pc      = "Start"
2: Start
   pc = "CreateObject"
3: CreateObject
   fooObjs = <<[generateName |-> "foo-"]>>
   pc      = "RebootDuringMarkingCreation"
4: RebootDuringMarkingCreation
   pc = "Start"
5: Start
   pc = "CreateObject"
6: CreateObject
   fooObjs = <<[generateName |-> "foo-"], [generateName |-> "foo-"]>>
   pc      = "MarkCreated"
"#;

/// The counts are those of TLC. What was written is read again, in each format.
#[test]
fn a_violation_is_told_and_its_run_is_written() {
    let house = house("violated");
    let ended = model(&house, "check ns.tla --trace run.itf.json --graph ns.dot");
    let next = "next: trommel run CAMPAIGN --schedule run.itf.json --binding FILE\n";
    assert_eq!(ended.expect(100).stdout, format!("{VIOLATED}{RUN}\n{next}"));

    assert_eq!(model(&house, "show run.itf.json").expect(0).stdout, RUN);
    for (from, to) in
        [("run.itf.json", "run.dot"), ("run.dot", "run.ndjson"), ("run.ndjson", "again.itf.json")]
    {
        model(&house, &format!("convert {from} {to}")).expect(0);
    }
    let read = |name: &str| std::fs::read(house.path(SPECS).join(name)).expect("it was written");
    assert_eq!(read("again.itf.json"), read("run.itf.json"));

    let graph = model(&house, "show ns.dot");
    assert!(graph.expect(0).stdout.starts_with("11 states, 12 edges, 1 initial, "), "{graph}");
}

#[test]
fn what_holds_is_told_with_what_was_looked_at() {
    let house = house("held");
    let ended = model(&house, "check ns_fixed_name.tla --trace run.itf.json");
    let says = "held: LimitedFooObjs and no deadlock, in all 10 states\n\
                15 states generated, 10 distinct, 0 left on the queue, depth 5\n";
    assert!(ended.expect(0).stdout.starts_with(says), "{ended}");
    assert!(ended.stderr.contains("run.itf.json is not written"), "{ended}");
    assert!(!house.path(SPECS).join("run.itf.json").exists());
}

#[test]
fn a_limit_leaves_the_verdict_open() {
    let house = house("limit");
    for (limit, why) in [("--states 5", "there are more than 5 states"), ("--memory 1KiB", "1 KiB")]
    {
        let ended = model(&house, &format!("check ns_fixed_name.tla {limit}"));
        assert!(ended.expect(2).stdout.starts_with("unknown: "), "{ended}");
        assert!(ended.stdout.contains(why), "{ended}");
        assert!(ended.stdout.contains("nothing against LimitedFooObjs"), "{ended}");
    }
}

const START: &str = "{\"state\":{\"fooObjs\":[]}}\n";
const CREATED: &str = "{\"action\":{\"name\":\"CreateObject\"},\"state\":{\"fooObjs\":[{\"generateName\":\"foo-\"}]}}\n";
const MARKED: &str = "{\"action\":{\"name\":\"MarkCreated\"},\"state\":{\"barObj\":{\"name\":\"foo\",\"created\":true}}}\n";
/// The Foo is gone, which no step of the model does.
const GONE: &str = "{\"action\":{\"name\":\"MarkCreated\"},\"state\":{\"fooObjs\":[]}}\n";

/// The log shows what an API server sees. What the controller does in between are steps that it never names.
#[test]
fn logs_are_held_against_modules_and_graphs() {
    let house = house("accepts");
    house.write(&format!("{SPECS}/log.ndjson"), &[START, CREATED, MARKED].concat());
    house.write(&format!("{SPECS}/gone.ndjson"), &[START, CREATED, GONE].concat());
    model(&house, "check ns.tla --graph ns.dot").expect(100);
    for of in ["ns.tla", "ns.dot"] {
        let ended = model(&house, &format!("accepts {of} log.ndjson --internal 1"));
        assert!(ended.expect(0).stdout.starts_with("accepted: the 3 events "), "{ended}");
        assert!(ended.stdout.contains("\n4: MarkCreated\n"), "{ended}");

        let ended = model(&house, &format!("accepts {of} gone.ndjson --internal 1"));
        let says = "not accepted: gone.ndjson:3: the model does not allow this\n\
                    logged:  MarkCreated  fooObjs = <<>>\n\
                    allowed: MarkCreated  fooObjs = <<[generateName |-> \"foo-\"]>>\n";
        assert!(ended.expect(100).stdout.starts_with(says), "{ended}");
        assert!(ended.stdout.contains("states that were possible before: 3\n"), "{ended}");

        // Without internal steps the controller can't have started.
        let ended = model(&house, &format!("accepts {of} log.ndjson"));
        assert!(ended.expect(100).stdout.contains("log.ndjson:2: "), "{ended}");
    }
}
