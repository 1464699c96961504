//! Watches (kubernetes-api.md §3): one case a rule.

use serde_json::json;
use trace::Revision;

use super::*;

/// Does `steps` after opening the watch `query` on a server with maps a (created at `first`) and b.
fn check(query: &str, expect: &[&str]) {
    let api = Api::new();
    let first = api.create(MAPS, map("a")).revision();
    api.create(MAPS, map("b"));
    let query = query
        .replace("FIRST", &first.to_string())
        .replace("NOW", &(first + 1).to_string())
        .replace("FUTURE", &(first + 3).to_string());
    let mut watch = api.watch(&format!("{MAPS}?watch=1&{query}"));
    let mut found = watch.drain();
    let mut changed = map("a");
    changed["data"]["k"] = json!("w");
    changed["metadata"]["labels"] = json!({"l": "1"});
    api.call("PUT", &format!("{MAPS}/a"), Some(changed));
    api.call("DELETE", &format!("{MAPS}/b"), None);
    api.call("PATCH", &format!("{MAPS}/a"), Some(json!({"metadata": {"labels": null}})));
    found.push("--".to_owned());
    found.extend(watch.drain());
    let expect: Vec<String> = expect
        .iter()
        .map(|line| {
            (0..9).fold((*line).to_owned(), |line, step| {
                line.replace(&format!("+{step}"), &(first + step).to_string())
            })
        })
        .collect();
    assert_eq!(found, expect, "{query}");
}

#[test]
fn a_watch_starts_where_it_was_asked_to() {
    // +0: a created, +1: b created, then +2: a changed and labelled, +3: b deleted, +4: a unlabelled.
    let live = ["--", "MODIFIED a@+2", "DELETED b@+3", "MODIFIED a@+4"];
    let with = |initial: &[&'static str]| [initial, &live[..]].concat();
    let state = ["ADDED a@+0", "ADDED b@+1"];
    check("", &with(&state));
    check("resourceVersion=0", &with(&state));
    check("resourceVersion=FIRST", &with(&["ADDED b@+1"]));
    check("resourceVersion=NOW", &live);
    check("resourceVersion=FUTURE", &["--", "MODIFIED a@+4"]);
    let list = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    check(
        &format!("{list}&allowWatchBookmarks=true"),
        &with(&[state[0], state[1], "BOOKMARK @+1 end"]),
    );
    check(list, &with(&state));
    check(
        &format!("{list}&resourceVersion=NOW&allowWatchBookmarks=1"),
        &with(&[state[0], state[1], "BOOKMARK @+1 end"]),
    );
    check("sendInitialEvents=false&resourceVersionMatch=NotOlderThan", &live);
    check(
        "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=FIRST",
        &with(&["ADDED b@+1"]),
    );
    let too_new = format!("{list}&resourceVersion=FUTURE");
    check(
        &too_new,
        &["ERROR 504 Timeout: Too large resource version: +3, current: +1", "end", "--", "end"],
    );
}

#[test]
fn selectors_turn_changes_into_arrivals_and_departures() {
    // The labelled state is +2; it leaves at +4 with its last selected content and the new revision.
    check("labelSelector=l%3D1", &["--", "ADDED a@+2", "DELETED a@+4"]);
    check(
        "labelSelector=!l",
        &["ADDED a@+0", "ADDED b@+1", "--", "DELETED a@+2", "DELETED b@+3", "ADDED a@+4"],
    );
    check("fieldSelector=metadata.name%3Db", &["ADDED b@+1", "--", "DELETED b@+3"]);
    check("labelSelector=l&resourceVersion=FIRST", &["--", "ADDED a@+2", "DELETED a@+4"]);
}

#[test]
fn a_departure_shows_the_last_selected_content() {
    let api = Api::new();
    let mut object = map("a");
    object["metadata"]["labels"] = json!({"l": "1"});
    api.create(MAPS, object);
    let mut watch = api.watch(&format!("{MAPS}?watch=1&labelSelector=l"));
    watch.drain();
    let gone = api.call(
        "PATCH",
        &format!("{MAPS}/a"),
        Some(json!({"metadata": {"labels": null}, "data": {"k": "new"}})),
    );
    let Next::Event(event) = watch.next() else { panic!("an event") };
    assert_eq!(event["type"], "DELETED");
    assert_eq!(event["object"]["data"]["k"], "v");
    assert_eq!(event["object"]["metadata"]["resourceVersion"], gone.revision().to_string());
}

#[test]
fn a_deletion_carries_the_last_state_and_its_own_revision() {
    let api = Api::new();
    let created = api.create(MAPS, map("a"));
    let mut watch = api.watch(&format!("{MAPS}?watch=true&resourceVersion={}", created.revision()));
    api.call("DELETE", &format!("{MAPS}/a"), None);
    let Next::Event(event) = watch.next() else { panic!("an event") };
    assert_eq!(event["type"], "DELETED");
    assert_eq!(event["object"]["data"]["k"], "v");
    let revision = (created.revision() + 1).to_string();
    assert_eq!(event["object"]["metadata"]["resourceVersion"], revision);
}

#[test]
fn history_that_is_gone_is_an_error_event() {
    let api = Api::new();
    let first = api.create(MAPS, map("a")).revision();
    let now = api.create(MAPS, map("b")).revision();
    api.server.compact(Revision(now));
    let mut watch = api.watch(&format!("{MAPS}?watch=1&resourceVersion={first}"));
    let expect = format!("ERROR 410 too old resource version: {first} ({now})");
    assert_eq!(watch.drain(), [expect, "end".to_owned()]);
    let mut watch = api.watch(&format!("{MAPS}?watch=1&resourceVersion={now}"));
    assert_eq!(watch.drain(), Vec::<String>::new());
}

#[test]
fn wrong_parameters_are_refused_before_the_stream() {
    let api = Api::new();
    let check = |query: &str, code: u16, message: &str| {
        let got = api.get(&format!("{MAPS}?watch=1&{query}"));
        assert_eq!((got.code, got.message()), (code, message), "{query}");
    };
    check(
        "sendInitialEvents=true",
        422,
        "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires \
         setting resourceVersionMatch to NotOlderThan",
    );
    check(
        "resourceVersionMatch=NotOlderThan",
        422,
        "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is \
         forbidden for watch unless sendInitialEvents is provided",
    );
    check(
        "resourceVersion=abc",
        500,
        "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax",
    );
}

#[test]
fn streams_end_by_world_time_with_a_bookmark() {
    let api = Api::new();
    let mut watch =
        api.watch(&format!("{MAPS}?watch=1&timeoutSeconds=300&allowWatchBookmarks=true"));
    api.server.advance_to(START.plus(std::time::Duration::from_secs(61)));
    assert_eq!(watch.drain(), Vec::<String>::new(), "nothing new to tell");
    api.create("/api/v1/namespaces/default/secrets", json!({"metadata": {"name": "s"}}));
    api.server.advance_to(START.plus(std::time::Duration::from_secs(122)));
    let bookmark = format!("BOOKMARK @{}", api.server.revision());
    assert_eq!(watch.drain(), [bookmark]);
    api.server.advance_to(START.plus(std::time::Duration::from_secs(300)));
    assert_eq!(watch.drain(), ["end"]);
}

#[test]
fn undelivered_counts_what_no_stream_has_pulled() {
    let api = Api::new();
    assert_eq!(api.server.undelivered(), 0);
    let mut watch = api.watch(&format!("{MAPS}?watch=1"));
    api.create(MAPS, map("a"));
    api.create("/api/v1/namespaces/default/secrets", json!({"metadata": {"name": "s"}}));
    assert_eq!(api.server.undelivered(), 1);
    watch.drain();
    assert_eq!(api.server.undelivered(), 0);
    api.create(MAPS, map("b"));
    drop(watch);
    assert_eq!(api.server.undelivered(), 0);
}

#[test]
fn a_waiting_stream_is_woken_by_a_commit_and_by_the_clock() {
    let api = Api::new();
    let mut watch = api.watch(&format!("{MAPS}?watch=1&timeoutSeconds=10"));
    let (waker, woken) = counting_waker();
    let mut context = std::task::Context::from_waker(&waker);
    assert!(watch.body.poll_next_unpin(&mut context).is_pending());
    api.create("/api/v1/namespaces/default/secrets", json!({"metadata": {"name": "s"}}));
    assert_eq!(woken.load(std::sync::atomic::Ordering::SeqCst), 0, "another type");
    api.create(MAPS, map("a"));
    assert_eq!(woken.load(std::sync::atomic::Ordering::SeqCst), 1);
    assert!(watch.body.poll_next_unpin(&mut context).is_ready());
    assert!(watch.body.poll_next_unpin(&mut context).is_pending());
    api.server.advance_to(START.plus(std::time::Duration::from_secs(10)));
    assert_eq!(woken.load(std::sync::atomic::Ordering::SeqCst), 2);
    assert_eq!(watch.drain(), ["end"]);
}

/// A waker that counts.
fn counting_waker() -> (std::task::Waker, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
    struct Count(std::sync::Arc<std::sync::atomic::AtomicUsize>);
    impl std::task::Wake for Count {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
    }
    let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    (std::sync::Arc::new(Count(count.clone())).into(), count)
}

#[test]
fn protobuf_watches_are_framed() {
    let api = Api::new();
    api.create(MAPS, map("a"));
    let accept = "application/vnd.kubernetes.protobuf";
    let body = Full::new(Bytes::new()).map_err(|never| match never {}).boxed_unsync();
    let query =
        "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let request = Request::builder().uri(format!("{MAPS}?{query}")).header("accept", accept);
    let response = api.send(request.body(body).expect("a request"));
    let content_type = response.headers()["content-type"].to_str().expect("text").to_owned();
    assert_eq!(content_type, "application/vnd.kubernetes.protobuf;stream=watch");
    let mut frames = crate::encoding::WatchFrames::new(&content_type);
    let mut body = BodyStream::new(response.into_body());
    while let Some(Some(frame)) = body.next().now_or_never() {
        frames.feed(&frame.expect("a frame").into_data().expect("data"));
    }
    let mut seen = Vec::new();
    while let Some(frame) = frames.next_frame() {
        let (kind, object) = frames.read(&frame).expect("an event");
        seen.push(format!("{kind} {} {}", object["kind"], object["metadata"]["annotations"]));
    }
    let end = "BOOKMARK \"ConfigMap\" {\"k8s.io/initial-events-end\":\"true\"}";
    assert_eq!(seen, ["ADDED \"ConfigMap\" null", end]);
}
