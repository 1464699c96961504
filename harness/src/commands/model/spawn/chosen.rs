//! Which controllers run (`--controllers`), in the words of kube-controller-manager's flag of that name.

use std::collections::BTreeSet;

use controllers::Controller;

/// What of kube-controller-manager does not run here, and why.
const IMPOSSIBLE: [(Controller, &str); 2] = [
    (Controller::AccountToken, "it signs tokens with the API server's own key"),
    (Controller::RequestSigner, "it signs certificates with the key of the cluster's authority"),
];

/// What is no part of kube-controller-manager: runs where it is named only.
const BY_NAME: [Controller; 5] = [
    Controller::Scheduler,
    Controller::Kubelet,
    Controller::NodeLease,
    Controller::Provisioner,
    Controller::Descheduler,
];

/// What `*` stands for.
fn on_by_default() -> impl Iterator<Item = Controller> {
    let all = Controller::FULL.iter().copied();
    all.filter(|of| !BY_NAME.contains(of) && !IMPOSSIBLE.iter().any(|(other, _)| other == of))
}

/// The controllers that a list asks for: `*` for all that are on by default, `NAME` for one, `-NAME` for all but one. What
/// comes later counts; a list of exclusions only begins with `*`.
///
/// # Errors
/// A name that no controller has, or one that can't run here.
pub fn chosen(list: &[String]) -> Result<BTreeSet<Controller>, String> {
    let mut chosen = BTreeSet::new();
    if list.iter().all(|item| item.starts_with('-')) {
        chosen.extend(on_by_default());
    }
    for item in list {
        match item.strip_prefix('-') {
            _ if item == "*" => chosen.extend(on_by_default()),
            Some(name) => {
                chosen.remove(&named(name)?);
            }
            None => {
                let controller = named(item)?;
                if let Some((_, why)) = IMPOSSIBLE.iter().find(|(other, _)| *other == controller) {
                    return Err(format!("{item} can't run here: {why}"));
                }
                chosen.insert(controller);
            }
        }
    }
    // Nobody would hear of nodes whose kubelets hold no leases.
    if chosen.contains(&Controller::Kubelet) {
        chosen.insert(Controller::NodeLease);
    }
    match chosen.is_empty() {
        true => Err("no controller is left".to_owned()),
        false => Ok(chosen),
    }
}

fn named(name: &str) -> Result<Controller, String> {
    Controller::named(name).ok_or_else(|| {
        let known = on_by_default().chain(BY_NAME).map(Controller::short_name);
        let known: Vec<&str> = known.collect();
        format!("no controller is called {name:?}; there are {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(list: &str, expect: Result<&[&str], &str>) {
        let list: Vec<String> = list.split_terminator(',').map(str::to_owned).collect();
        match (chosen(&list), expect) {
            (Ok(found), Ok(expect)) => {
                let found: Vec<&str> = found.into_iter().map(Controller::short_name).collect();
                assert_eq!(found, expect, "{list:?}");
            }
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            (found, expect) => panic!("{list:?}: {found:?}, not {expect:?}"),
        }
    }

    #[test]
    fn lists_are_read_as_upstream_reads_them() {
        check("deployment,replicaset-controller", Ok(&["deployment", "replicaset"]));
        check("deployment,job,-job", Ok(&["deployment"]));
        check("kubelet", Ok(&["kubelet", "node-lease"]));
        check("deploy", Err("no controller is called \"deploy\"; there are garbage-collector, "));
        check("serviceaccount-token", Err("can't run here: it signs tokens"));
        check("job,-job", Err("no controller is left"));
        let names = |list: &[&str]| {
            let list: Vec<String> = list.iter().map(|&item| item.to_owned()).collect();
            chosen(&list).expect("a good list")
        };
        assert_eq!(names(&[]), names(&["*"]));
        assert_eq!(names(&[]).len() - 1, names(&["-job"]).len());
        assert!(names(&["*", "scheduler"]).contains(&Controller::Scheduler));
        assert!(!names(&[]).contains(&Controller::Scheduler));
        assert!(!names(&[]).contains(&Controller::RequestSigner));
    }
}
