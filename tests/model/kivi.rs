//! `trommel model kivi`: Kivi's cases and inputs, by Kivi's own spellings.

use trommel_tests::{
    house::House,
    product::{Ended, run},
};

const EXAMPLES: &str = "examples/kivi";

fn house(test: &str) -> House {
    House::new(&format!("model/kivi-{test}"), &[EXAMPLES])
}

/// `trommel model kivi …` beside the examples.
fn kivi(house: &House, arguments: &str) -> Ended {
    run(&house.path(EXAMPLES), ["model", "kivi"].into_iter().chain(arguments.split(' ')))
}

/// Set-ups and their places are those of Kivi.
#[test]
fn cases_grow_to_their_smallest_violations() {
    let house = house("cases");
    let check = |case: &str, says: &str| {
        let ended = kivi(&house, &format!("-c {case}"));
        let first = ended.expect(100).stdout.lines().next().unwrap_or_default();
        assert!(first.starts_with("violated: ") && first.ends_with(says), "{case}: {ended}");
        assert!(ended.stdout.contains("\nhow: granularity drain, mode parity\n"), "{ended}");
        assert!(ended.stdout.contains("\n[*] replicaset: create Pod "), "{ended}");
    };
    check("c1", "smallest set-up <1, 3>, 3 of 36");
    check("c2", "smallest set-up <1, 2>, 2 of 36");
    check("c3", "smallest set-up <1+2, 3>, 58 of 264");
    check("c4", "smallest set-up <2, 5>, 5 of 20");
    check("c5", "smallest set-up <1+1, 2>, 2 of 192");
    check("c6", "smallest set-up <2, 2>, 2 of 20");
    check("c7", "smallest set-up <1+0, 1>, 2 of 264");
    check("c8", "smallest set-up <1+2, 6>, 70 of 264");
}

/// Of growing clusters (C2 and C5), and of one.
#[test]
fn what_violates_nothing_is_clean() {
    let house = house("clean");
    let check = |arguments: &str, says: &str| {
        let ended = kivi(&house, arguments);
        assert!(ended.expect(0).stdout.starts_with(says), "{arguments}: {ended}");
    };
    let below = "clean, below the confident size (6 nodes of each type, 6 pods of each deployment a node): all 6 \
                 set-ups, up to 1 nodes and 6 pods a node\nheld: ";
    check("-c c2 --cured -s 1", below);
    check("-c c5 -cn -s 1 -f 2", "clean, below the confident size");
    for case in 1..=8 {
        check(&format!("-c c{case} -cn -o"), "clean: this cluster\nheld: ");
    }
}

#[test]
fn kivis_spellings_are_known() {
    let house = house("spellings");
    let check = |arguments: &str, code: i32, says: &str| {
        let ended = kivi(&house, arguments);
        assert_eq!(ended.code, Some(code), "{arguments}: {ended}");
        assert!(ended.stdout.contains(says), "{arguments}: no {says:?} in {ended}");
    };
    check("-c c2 -a -s 1 -ig 1", 100, "2 of 6; 5 of them violate it\n");
    check("--case c2 --scale 1 --all_violation --intents_group 1", 100, "5 of them violate it\n");
    check("-c c2 -s 1 -f 2", 100, "smallest set-up <1, 6>, 1 of 1");
    check("-c c7 -o -l", 100, "violated: no_oscillation_eviction of app\n");
    check("-c c2 -o --cured -r 7", 2, "random runs (-r) do not see all");
    check("-c c2 -o -to 600 -v 6", 100, "[*****] ReplicaSet app-");
    check("-c c2 -to=0", 2, "the time was up; raise --timeout");
    check("-c c2 -o --states 2", 2, "the limit of states was reached; raise --states");
    check("-c c2 -s 2 -si 3", 0, "simulated: one random run of seed 3\n");
    check("-c c1 -o --mode exact --threads 1", 0, "mode exact\n");
    check("-c c2 -o --granularity write --all-ties", 100, "each of equally good nodes\n");
    check("-c c2 -s 1 -a --heat-map map.svg", 100, "violated: ");
    let map = std::fs::read_to_string(house.path(EXAMPLES).join("map.svg")).expect("a picture");
    assert!(map.starts_with("<svg ") && map.contains("C2 &lt;nodes, pods&gt;"), "{map}");
}

/// A configuration directory, and the logs of a cluster, that were written for this repository.
#[test]
fn inputs_are_checked_and_what_kivi_misreads_is_told() {
    let house = house("inputs");
    let ended = kivi(&house, "-p maintenance");
    let says = "violated: replica_num_always_meet_exp of shop: smallest set-up <2, 2>, ";
    assert!(ended.expect(100).stdout.contains(says), "{ended}");
    assert!(ended.stdout.contains("[*] Node type-001 goes out of service -> "), "{ended}");
    let note = "trommel: maintenance/user_input/cluster_configs.json: events_assumption[0].para.p: Kivi looks for it";
    assert!(ended.stderr.contains(note), "{ended}");
    kivi(&house, "-p maintenance -o").expect(100);

    let ended = kivi(&house, "-p logs -log -o");
    assert!(ended.expect(100).stdout.contains("violated: pod_always_schedulable\n"), "{ended}");
    assert!(ended.stdout.contains("at first: shop: 5 of 5 pods, n1: 2, n2: 1, n3: 2\n"), "{ended}");
    let ended = kivi(&house, "-p logs --input_logs");
    let says = "violated: pod_always_schedulable: smallest set-up <";
    assert!(ended.expect(100).stdout.contains(says), "{ended}");
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let house = house("wrong");
    let of = |file: &str| format!("{EXAMPLES}/maintenance/{file}");
    let check = |arguments: &str, code: i32, says: &str| {
        let ended = kivi(&house, arguments);
        assert_eq!(ended.code, Some(code), "{arguments}: {ended}");
        assert!(ended.stderr.contains(says), "{arguments}: no {says:?} in {ended}");
    };
    check("-c c9", 64, "the cases are c1 to c8");
    check("-s 3", 64, "--case");
    check("-c c3 --cured", 64, "--cured is for c1, c2 and c6");
    check("-c c3 -v 7", 64, "1..=6");
    check("-p gone", 64, "cannot read gone: No such file");
    check("-p logs", 64, "for a directory of logs add --log");
    check("-p maintenance -log", 64, "for a configuration directory leave --log out");
    let configs = "user_input/cluster_configs.json";
    let right = std::fs::read_to_string(house.root.join(of(configs))).expect("an example");
    house.write(&of(configs), &right.replace("maxSize\": 3", "maxSzie\": 3"));
    let misspelt = "nodesTypes[0].maxSzie: nothing reads this field: did you mean \"maxSize\"?";
    check("-p maintenance", 100, misspelt);
    house.write(&of(configs), &right.replace("\"cpu\": 8", "\"cpu\": [8]"));
    let wrong = "nodesTypes[0].template.cpu: expected a whole number of processors, or a quantity";
    check("-p maintenance", 64, wrong);
    house.write(&of(configs), "{\n\"nodesTypes\": ]\n}");
    check("-p maintenance", 64, "expected value at line 2 column 15");
    house.write(&of(configs), &right);
    std::fs::remove_file(house.root.join(of("user_input/intents.json"))).expect("it was there");
    check("-p maintenance", 64, "there is no user_input/intents.json, what must hold");
}

#[test]
fn a_uniform_file_is_checked() {
    let house = house("uniform");
    let text = r#"{
      "setup": {
        "nodes": [{"id": 1, "name": "a", "cpu": 64, "memory": 64, "taint": ["k=v:NoExecute"]}],
        "d": [{"id": 1, "name": "web", "specReplicas": 1, "podTemplateId": 1}],
        "podTemplates": [{"cpuRequested": 8, "memRequested": 8, "nodeName": 1}]
      },
      "intents": [{"name": "checkEvictionCycle", "para": {"did": 1}}]
    }"#;
    house.write(&format!("{EXAMPLES}/one.json"), text);
    let ended = kivi(&house, "-p one.json");
    let says = "violated: no_oscillation_eviction of web\n";
    assert!(ended.expect(100).stdout.contains(says), "{ended}");
    assert_eq!(ended.stderr, "");
}
