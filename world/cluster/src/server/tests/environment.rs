//! The built-in controllers at work: end states, who wrote, and that a fork anywhere comes to the same end.

use std::{sync::Arc, time::Duration};

use controllers::Controller;
use serde_json::{Value, json};
use trace::{Actor, Commit, Event, GroupResource, ObjectKey, Recorder, Revision, Time};

use super::{Api, START};
use crate::{EnvironmentOptions, Pace, Server, SuffixOrder, World, WorldOptions};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A server with garbage collector and namespace controller, which records.
fn minimal() -> (Api, Recorder) {
    let mut world =
        World::new(WorldOptions { start: START, seed: 1, suffixes: SuffixOrder::Ascending });
    world.start_environment(&EnvironmentOptions {
        controllers: Controller::MINIMAL.to_vec(),
        ..EnvironmentOptions::default()
    });
    let recorder = Recorder::new(Arc::new(|| (START, 0)), None);
    let server = Server::new(world, Some(recorder.clone()));
    server.run_environment().unwrap();
    (Api { server }, recorder)
}

impl Api {
    /// Creates a ConfigMap that names owners of the same namespace; with `!` they wait for it.
    fn map(&self, name: &str, owners: &[&str]) {
        let reference = |owner: &&str| {
            let (owner, blocks) =
                owner.strip_suffix('!').map_or((*owner, false), |without| (without, true));
            let uid = self.get(&format!("{MAPS}/{owner}")).body["metadata"]["uid"].clone();
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid,
                "blockOwnerDeletion": blocks,
            })
        };
        let owners: Vec<Value> = owners.iter().map(reference).collect();
        self.create(MAPS, json!({"metadata": {"name": name, "ownerReferences": owners}}));
    }

    fn delete(&self, path: &str, policy: &str) {
        let options = json!({"propagationPolicy": policy});
        let got = self.call("DELETE", path, Some(options));
        assert!(got.code < 300, "{path}: {}", got.message());
    }

    /// Names of the ConfigMaps, with `~` where one has no owner.
    fn maps(&self) -> Vec<String> {
        let list = self.get(MAPS).body;
        let items = list["items"].as_array().expect("items");
        let name = |item: &Value| {
            let free = item["metadata"]["ownerReferences"].is_null();
            let name = item["metadata"]["name"].as_str().unwrap_or("");
            format!("{}{name}", if free { "~" } else { "" })
        };
        items.iter().map(name).collect()
    }

    fn rest(&self) {
        self.server.run_environment().unwrap();
    }
}

/// Every object, as bytes.
fn objects(server: &Server) -> Vec<String> {
    let world = server.world();
    world.objects().map(|(key, object)| format!("{key} {object}")).collect()
}

fn commits(recorder: &Recorder) -> Vec<String> {
    let told = |commit: &Commit| format!("{} {:?} {}", commit.actor, commit.change, commit.key);
    recorder.with(|history| history.commits().map(told).collect())
}

/// owner ← a ← b, owner ← c (waited for).
fn family(api: &Api) {
    api.map("owner", &[]);
    api.map("a", &["owner"]);
    api.map("b", &["a"]);
    api.map("c", &["owner!"]);
    api.rest();
    assert_eq!(api.maps(), ["a", "b", "c", "~owner"]);
}

#[test]
fn a_family_goes_or_stays_as_the_delete_says() {
    for (policy, left) in
        [("Background", &[][..]), ("Foreground", &[]), ("Orphan", &["~a", "b", "~c"])]
    {
        let (api, _) = minimal();
        family(&api);
        api.delete(&format!("{MAPS}/owner"), policy);
        api.rest();
        assert_eq!(api.maps(), left, "{policy}");
    }
}

#[test]
fn the_owner_goes_last_in_the_foreground_and_first_in_the_background() {
    let order = |policy: &str| {
        let (api, recorder) = minimal();
        family(&api);
        let before = commits(&recorder).len();
        api.delete(&format!("{MAPS}/owner"), policy);
        api.rest();
        let all = commits(&recorder);
        let gone = all[before..].iter().filter_map(|commit| {
            let (who, name) = (commit.split(' ').next()?, commit.rsplit('/').next()?);
            commit.contains("Deleted").then(|| format!("{who} {name}"))
        });
        gone.collect::<Vec<_>>()
    };
    let gc = |name: &str| format!("environment/garbage-collector-controller {name}");
    assert_eq!(order("Background"), ["trommel owner".to_owned(), gc("a"), gc("c"), gc("b")]);
    // `a` has a dependent, so it goes in the foreground as well, but nothing waits for it.
    assert_eq!(order("Foreground"), [gc("c"), gc("owner"), gc("b"), gc("a")]);
}

#[test]
fn who_wrote_shows_in_commits_and_in_managed_fields() {
    let (api, recorder) = minimal();
    api.create("/api/v1/namespaces", json!({"metadata": {"name": "n"}}));
    api.delete("/api/v1/namespaces/n", "Background");
    api.server.live_until(START.plus(Duration::from_secs(6))).unwrap();
    let by = Actor::Environment("namespace-controller".into());
    let written = recorder.with(|history| {
        let mut its = history.commits().filter(|commit| commit.actor == by);
        its.next().map(|commit| commit.object.clone())
    });
    let written = written.expect("the namespace controller wrote");
    let managed = written["metadata"]["managedFields"].as_array().expect("managed fields");
    let of_status = managed.iter().find(|entry| entry["subresource"] == "status");
    assert_eq!(of_status.expect("an entry")["manager"], "kube-controller-manager");
}

#[test]
fn jobs_let_their_pods_go_where_a_delete_does_not_say() {
    let (api, _) = minimal();
    let template = json!({"spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
    }});
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let job = json!({"metadata": {"name": "j"}, "spec": {"template": template}});
    let uid = api.create(jobs, job).body["metadata"]["uid"].clone();
    let owner = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": uid}]);
    api.create(MAPS, json!({"metadata": {"name": "m", "ownerReferences": owner}}));
    api.rest();
    assert_eq!(api.call("DELETE", &format!("{jobs}/j"), None).code, 200);
    api.rest();
    assert_eq!(api.maps(), ["~m"]);
    assert_eq!(api.get(&format!("{jobs}/j")).code, 404);
}

#[test]
fn a_namespace_goes_with_its_content_five_seconds_later() {
    let (api, _) = minimal();
    api.create("/api/v1/namespaces", json!({"metadata": {"name": "n"}}));
    let maps = "/api/v1/namespaces/n/configmaps";
    api.create(maps, json!({"metadata": {"name": "a"}}));
    api.create(maps, json!({"metadata": {"name": "kept", "finalizers": ["x/y"]}}));
    api.delete("/api/v1/namespaces/n", "Background");
    api.rest();
    assert_eq!(api.get(&format!("{maps}/a")).code, 200);
    assert_eq!(api.server.next_timer(), Some(START.plus(Duration::from_secs(5))));

    api.server.live_until(START.plus(Duration::from_secs(60))).unwrap();
    assert_eq!(api.get(&format!("{maps}/a")).code, 404);
    let conditions = api.get("/api/v1/namespaces/n").body["status"]["conditions"].clone();
    let bad = conditions.as_array().expect("conditions").iter();
    let bad: Vec<&Value> =
        bad.filter(|one| one["status"] == "True").map(|one| &one["message"]).collect();
    let expect = [
        "Some resources are remaining: configmaps. has 1 resource instances",
        "Some content in the namespace has finalizers remaining: x/y in 1 resource instances",
    ];
    assert_eq!(bad, expect);

    let patch = json!({"metadata": {"finalizers": null}});
    assert_eq!(api.call("PATCH", &format!("{maps}/kept"), Some(patch)).code, 200);
    api.server.live_until(START.plus(Duration::from_secs(120))).unwrap();
    assert_eq!(api.get("/api/v1/namespaces/n").code, 404);
    assert_eq!(api.server.next_timer(), None);
}

/// What a world looks like when all is over: an hour later.
fn end(world: World) -> Vec<String> {
    let server = Server::new(world, None);
    server.run_environment().unwrap();
    server.live_until(START.plus(Duration::from_secs(3600))).unwrap();
    objects(&server)
}

fn script(api: &Api) {
    family(api);
    api.create("/api/v1/namespaces", json!({"metadata": {"name": "n"}}));
    for name in ["x", "y", "z"] {
        api.create("/api/v1/namespaces/n/secrets", json!({"metadata": {"name": name}}));
    }
    api.delete(&format!("{MAPS}/owner"), "Foreground");
    api.delete("/api/v1/namespaces/n", "Background");
}

#[test]
fn a_fork_at_any_revision_comes_to_the_same_end() {
    let (api, recorder) = minimal();
    script(&api);
    let from = api.server.revision();
    api.rest();
    api.server.live_until(START.plus(Duration::from_secs(3600))).unwrap();
    let (to, whole) = (api.server.revision(), objects(&api.server));
    assert!(to.0 - from.0 >= 10, "{:?}", commits(&recorder));
    for revision in from.0..=to.0 {
        let world = api.server.world_at(Revision(revision)).expect("a world");
        // Only the revisions of what was written: a fork writes nothing twice.
        assert_eq!(end(world), whole, "from revision {revision}");
    }
}

#[test]
fn the_same_world_acts_the_same_to_the_byte() {
    let told = || {
        let (api, recorder) = minimal();
        script(&api);
        api.rest();
        let told = recorder.with(|history| {
            let told = history.records.iter().map(|record| match &record.event {
                Event::Commit(commit) => format!("{} {}", commit.actor, commit.object),
                _ => String::new(),
            });
            told.collect::<Vec<_>>()
        });
        (told, api.server.world().pending())
    };
    assert_eq!(told(), told());
}

#[test]
fn a_controller_that_is_held_does_nothing_until_let_go() {
    let (api, _) = minimal();
    family(&api);
    assert!(api.server.hold_controller("garbage-collector-controller", true));
    assert!(!api.server.hold_controller("no-such-controller", true));
    api.delete(&format!("{MAPS}/owner"), "Background");
    api.rest();
    assert!(api.server.is_environment_quiet());
    assert_eq!(api.maps(), ["a", "b", "c"]);
    assert_ne!(api.server.world().pending(), Value::Null);
    assert!(api.server.hold_controller("garbage-collector-controller", false));
    assert!(!api.server.is_environment_quiet());
    api.rest();
    assert_eq!(api.maps(), [] as [&str; 0]);
    assert_eq!(api.server.world().pending(), Value::Null);
}

/// A server whose garbage collector acts like this, and ConfigMaps of an owner that is gone.
fn paced(pace: Pace) -> Api {
    let mut world =
        World::new(WorldOptions { start: START, seed: 1, suffixes: SuffixOrder::Ascending });
    world.start_environment(&EnvironmentOptions {
        controllers: Controller::MINIMAL.to_vec(),
        paces: vec![(Controller::GarbageCollector, pace)],
        ..EnvironmentOptions::default()
    });
    let api = Api { server: Server::new(world, None) };
    api.rest();
    api.server.live_until(START.plus(Duration::from_secs(60))).unwrap();
    family(&api);
    api.server.live_until(START.plus(Duration::from_secs(120))).unwrap();
    api.delete(&format!("{MAPS}/owner"), "Background");
    api.rest();
    api
}

#[test]
fn one_that_is_held_from_the_beginning_costs_a_world_nothing() {
    let api = paced(Pace::Held);
    assert_eq!(api.maps(), ["a", "b", "c"]);
    assert!(api.server.is_environment_quiet());
    assert_eq!(api.server.next_timer(), None::<Time>);
    assert_eq!(api.server.world().pending(), Value::Null);
}

#[test]
fn one_that_is_slow_begins_later_in_every_fork() {
    let late = Duration::from_secs(30);
    let api = paced(Pace::Slow(late));
    assert_eq!(api.maps(), ["a", "b", "c"]);
    let (now, due) = (api.server.now(), api.server.now().plus(late));
    assert_eq!(api.server.next_timer(), Some(due));
    assert_ne!(api.server.world().pending(), Value::Null, "another world than one without");
    let fork = Api { server: Server::new(api.server.world(), None) };
    for one in [&api, &fork] {
        let later = |time: Time| {
            one.server.live_until(time).unwrap();
            one.rest();
        };
        later(now.plus(late - Duration::from_millis(1)));
        assert_eq!(one.maps(), ["a", "b", "c"]);
        // What hangs on others goes after them, each time that much later.
        later(due);
        assert_eq!(one.maps(), ["b"], "what lost its last owner by then");
        later(due.plus(late));
        assert_eq!(one.maps(), [] as [&str; 0]);
    }
    let all = |server: &Server| -> Vec<String> {
        let world = server.world();
        world.objects().map(|(key, object)| format!("{key} {object}")).collect()
    };
    assert_eq!(all(&api.server), all(&fork.server));
}

#[test]
fn turns_are_taken_in_the_order_that_is_asked_for() {
    let (account, root_ca) = (Controller::ServiceAccount, Controller::RootCa);
    let first = |order: &[Controller]| {
        let mut world =
            World::new(WorldOptions { start: START, seed: 1, suffixes: SuffixOrder::Ascending });
        world.start_environment(&EnvironmentOptions {
            controllers: vec![account, root_ca],
            root_ca: "a certificate".to_owned(),
            order: order.to_vec(),
            ..EnvironmentOptions::default()
        });
        let recorder = Recorder::new(Arc::new(|| (START, 0)), None);
        let api = Api { server: Server::new(world, Some(recorder.clone())) };
        // Both have a key in each of the four namespaces.
        api.rest();
        let by = commits(&recorder)
            .into_iter()
            .filter_map(|one| Some(one.split(' ').next()?.to_owned()));
        by.collect::<Vec<String>>()
    };
    let by = |of: Controller| format!("environment/{}", of.name());
    let (account, root_ca) = (by(account), by(root_ca));
    let in_turn: Vec<&String> = [&account, &root_ca].into_iter().cycle().take(8).collect();
    assert_eq!(first(&[]).iter().collect::<Vec<&String>>(), in_turn, "as their keys came");
    let by_order: Vec<&String> = [[&root_ca; 4], [&account; 4]].concat();
    let order = [Controller::RootCa];
    assert_eq!(first(&order).iter().collect::<Vec<&String>>(), by_order, "those it names first");
}

#[test]
fn custom_objects_are_collected_when_their_type_is_known() {
    let (api, _) = minimal();
    let owner =
        json!([{"apiVersion": "example.com/v1", "kind": "Foo", "name": "f", "uid": "gone"}]);
    api.create(MAPS, json!({"metadata": {"name": "m", "ownerReferences": owner}}));
    api.rest();
    assert_eq!(api.maps(), ["m"], "nobody knows what a Foo is");
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    api.create(crds, super::foos_crd());
    api.rest();
    assert_eq!(api.maps(), [] as [&str; 0]);
    let key = ObjectKey::new(GroupResource::new("", "configmaps"), "default", "m");
    assert!(api.server.world().object(&key).is_none());
}

#[test]
fn without_controllers_there_is_no_environment() {
    let api = Api::new();
    assert!(matches!(api.server.step_environment(), crate::Step::Quiet));
    assert_eq!(api.server.next_timer(), None::<Time>);
    assert!(api.server.is_environment_quiet());
}
