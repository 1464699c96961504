//! Lists and gets (kubernetes-api.md §4).

use trace::Revision;

use super::*;

fn names(got: &Got) -> Vec<String> {
    let items = got.body["items"].as_array().expect("items");
    items.iter().map(|item| item["metadata"]["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn chunks_are_one_snapshot() {
    let api = Api::new();
    for name in ["a", "b", "c", "d"] {
        api.create(MAPS, map(name));
    }
    let first = api.get(&format!("{MAPS}?limit=2"));
    assert_eq!(names(&first), ["a", "b"]);
    assert_eq!(first.body["metadata"]["remainingItemCount"], 2);
    assert_eq!(first.body["kind"], "ConfigMapList");
    assert!(first.body["items"][0].get("kind").is_none(), "items of built-in lists are bare");
    api.call("DELETE", &format!("{MAPS}/c"), None);
    api.create(MAPS, map("bb"));
    let token = first.body["metadata"]["continue"].as_str().expect("a token").to_owned();
    let second = api.get(&format!("{MAPS}?limit=2&continue={token}"));
    assert_eq!(names(&second), ["c", "d"]);
    assert_eq!(second.revision(), first.revision());
    assert!(second.body["metadata"].get("continue").is_none());

    api.server.compact(Revision(api.server.revision().0));
    let expired = api.get(&format!("{MAPS}?limit=2&continue={token}"));
    assert_eq!((expired.code, expired.reason()), (410, "Expired"));
    let fresh = expired.body["metadata"]["continue"].as_str().expect("a token").to_owned();
    let rest = api.get(&format!("{MAPS}?limit=9&continue={fresh}"));
    assert_eq!(names(&rest), ["bb", "d"], "inconsistent, but on from the same place");
    assert_eq!(api.get(&format!("{MAPS}?continue=nonsense")).code, 400);
}

#[test]
fn revisions_mean_what_they_say() {
    let api = Api::new();
    let first = api.create(MAPS, map("a")).revision();
    let now = api.create(MAPS, map("b")).revision();
    let check = |query: &str, expect: Result<(&[&str], u64), (u16, &str)>| {
        let got = api.get(&format!("{MAPS}?{query}"));
        match expect {
            Ok((objects, revision)) => {
                assert_eq!((got.code, got.revision()), (200, revision), "{query}");
                assert_eq!(names(&got), objects, "{query}");
            }
            Err((code, reason)) => assert_eq!((got.code, got.reason()), (code, reason), "{query}"),
        }
    };
    let both = ["a", "b"];
    let future = now + 1;
    check("", Ok((&both, now)));
    check("resourceVersion=0", Ok((&both, now)));
    check("resourceVersion=0&limit=1", Ok((&both, now)));
    check(&format!("resourceVersion={first}"), Ok((&both, now)));
    check(&format!("resourceVersion={first}&resourceVersionMatch=NotOlderThan"), Ok((&both, now)));
    check(&format!("resourceVersion={first}&resourceVersionMatch=Exact"), Ok((&["a"], first)));
    check(&format!("resourceVersion={first}&limit=5"), Ok((&["a"], first)));
    check(&format!("resourceVersion={future}"), Err((504, "Timeout")));
    check(&format!("resourceVersion={future}&resourceVersionMatch=Exact"), Err((504, "Timeout")));
    check("resourceVersionMatch=Exact", Err((422, "Invalid")));
    check("resourceVersionMatch=Some&resourceVersion=1", Err((422, "Invalid")));
    check("resourceVersionMatch=Exact&resourceVersion=0", Err((422, "Invalid")));
    check("sendInitialEvents=true", Err((422, "Invalid")));
    check("resourceVersion=x", Err((400, "BadRequest")));
    check("fieldSelector=spec.none%3D1", Err((400, "BadRequest")));
    check("labelSelector=a+b", Err((400, "BadRequest")));
    check("fieldSelector=metadata.name%3Db", Ok((&["b"], now)));
    check("labelSelector=none", Ok((&[], now)));
    api.server.compact(Revision(now));
    check(&format!("resourceVersion={first}&resourceVersionMatch=Exact"), Err((410, "Expired")));
    check(&format!("resourceVersion={first}"), Ok((&both, now)));
}

#[test]
fn a_get_from_the_future_is_refused_at_once() {
    let api = Api::new();
    let now = api.create(MAPS, map("a")).revision();
    let got = api.get(&format!("{MAPS}/a?resourceVersion={}", now + 1));
    assert_eq!((got.code, got.reason()), (504, "Timeout"));
    assert_eq!(got.body["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
    assert_eq!(got.body["details"]["retryAfterSeconds"], 1);
    for query in ["", "?resourceVersion=0", &format!("?resourceVersion={now}")] {
        assert_eq!(api.get(&format!("{MAPS}/a{query}")).code, 200);
    }
}

#[test]
fn lists_span_namespaces_in_the_order_of_etcd() {
    let api = Api::new();
    for namespace in ["a", "a-b"] {
        api.create("/api/v1/namespaces", json!({"metadata": {"name": namespace}}));
        api.create(&format!("/api/v1/namespaces/{namespace}/configmaps"), map("m"));
    }
    let got = api.get("/api/v1/configmaps");
    let found: Vec<&str> = got.body["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| item["metadata"]["namespace"].as_str().expect("a namespace"))
        .collect();
    assert_eq!(found, ["a-b", "a"]);
    let got = api.call("DELETE", "/api/v1/namespaces/a/configmaps", None);
    assert_eq!((got.code, names(&got).len()), (200, 1));
    assert_eq!(names(&api.get("/api/v1/configmaps")).len(), 1);
}
