//! `trommel model confirm`: counterexamples on the real kube-controller-manager and kube-scheduler, which the judge has.

use trommel_tests::{
    Need,
    house::House,
    needs,
    product::{Ended, run},
    real::program,
};

const EXAMPLES: &str = "examples/counterexamples";

/// `trommel model confirm` of an example, as it is or changed.
fn confirm(test: &str, file: &str, change: impl Fn(String) -> String) -> Ended {
    let house = House::new(&format!("model/confirm-{test}"), &[EXAMPLES]);
    let path = house.path(EXAMPLES).join(file);
    let text = std::fs::read_to_string(&path).expect("an example");
    std::fs::write(&path, change(text)).expect("a file of the house");
    let named = |name: &str| format!("--program={name}={}", program(name).display());
    let programs = [named("kube-controller-manager"), named("kube-scheduler")];
    let arguments = ["model", "confirm", file].into_iter().chain(programs.iter().map(|one| &**one));
    run(&house.path(EXAMPLES), arguments)
}

#[test]
fn what_the_real_programs_do_as_well() {
    if !needs(&[Need::Go, Need::Judge]) {
        return;
    }
    let ended = confirm("taint", "c7-node-name-against-taint.yaml", |text| text);
    ended.expect(0);
    assert!(
        ended.stdout.starts_with("agrees\nno_oscillation_eviction of web: violated"),
        "{ended:?}"
    );
    let ended = confirm("apply", "c2-apply-under-autoscaler.yaml", |text| text);
    ended.expect(0);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert!(lines[1].ends_with("1 pods, after there were 2"), "{ended:?}");
    assert_eq!(lines[2], "writes: all 6 of the model's, of 4 objects");
}

/// From manifests to two incidents of the real programs, without a word of the user about models.
#[test]
fn what_a_folder_violates() {
    if !needs(&[Need::Go, Need::Judge]) {
        return;
    }
    let house = House::new("model/confirm-folder", &["examples/stuck-rollout"]);
    let named = |name: &str| format!("--program={name}={}", program(name).display());
    let programs = [named("kube-controller-manager"), named("kube-scheduler")];
    let from = "examples/stuck-rollout/broken";
    let nodes = "cpu=4,memory=8Gi,min=3,max=3";
    let arguments = ["model", "check", "--from", from, "--nodes", nodes, "--confirm"];
    let programs = programs.iter().map(|one| &**one);
    let ended = run(&house.root, arguments.into_iter().chain(programs));
    let told = &ended.expect(100).stdout;
    assert_eq!(told.matches("on the real programs: agrees\n").count(), 2, "{told}");
    assert!(told.contains("writes: all 2 of the model's, of 2 objects"), "{told}");
}

/// A model that forgets the taint's key: nobody is evicted, and the first write that never comes is named.
#[test]
fn what_the_real_programs_do_not() {
    if !needs(&[Need::Go, Need::Judge]) {
        return;
    }
    let tolerate = |text: String| {
        text.replace(
            "nodeName: node-1\n",
            "nodeName: node-1\n            tolerations: [{operator: Exists}]\n",
        )
    };
    let ended = confirm("tolerated", "c7-node-name-against-taint.yaml", tolerate);
    ended.expect(100);
    let part = "write 3 of the model, delete of Pod default/web-* pod-1, was not made; web-";
    assert!(ended.stdout.contains(part), "{ended:?}");
}
