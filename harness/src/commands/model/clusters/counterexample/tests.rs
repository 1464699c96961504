//! Runs of small scenarios, as counterexamples.

use super::*;

#[test]
fn patches_are_known_by_what_they_left() {
    let stored = json!({"spec": {"replicas": 2, "paused": null}, "status": {}});
    for (patch, is_there) in [
        (json!({"spec": {"replicas": 2}}), true),
        (json!({"spec": {"replicas": 3}}), false),
        (json!({"spec": {"paused": null, "replicas": 2}}), true),
        (json!({"spec": {"paused": true}}), false),
    ] {
        assert_eq!(has(&stored, &patch), is_there, "{patch}");
    }
}

#[test]
fn the_times_of_a_node_are_no_part_of_it() {
    let node = json!({"kind": "Node", "status": {"conditions": [
        {"type": "Ready", "status": "True", "lastHeartbeatTime": "2024-01-01T00:00:00Z"}]}});
    let expect = json!([{"type": "Ready", "status": "True"}]);
    assert_eq!(timeless(&node)["status"]["conditions"], expect);
}
