//! Watches of another version than the stored one.

use futures::channel::oneshot;

use super::*;

#[test]
fn a_watch_tells_all_in_its_version() {
    let (api, converter) = converting();
    api.create(FOOS, foo("a", json!({"x": 1})));
    api.create(FOOS, foo("b", json!({"x": 2})));
    let path = format!("{FOOS2}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    let mut watch = api.watch(&format!("{path}&allowWatchBookmarks=true"));
    let before = api.server.revision();
    let mut sizes = Vec::new();
    for _ in 0..2 {
        let Next::Event(event) = watch.next() else { panic!("an event") };
        assert_eq!(event["object"]["apiVersion"], "example.com/v2");
        sizes.push(event["object"]["spec"]["size"].clone());
    }
    assert_eq!(sizes, [json!(1), json!(2)]);
    assert_eq!(watch.drain(), [format!("BOOKMARK @{before} end")]);
    assert_eq!(converter.asked(), ["2 to example.com/v2"], "the initial events are one call");
    let made = api.create(FOOS, foo("c", json!({"x": 3}))).revision();
    let changed =
        api.call("PATCH", &format!("{FOOS}/a"), Some(json!({"spec": {"x": 4}}))).revision();
    api.call("DELETE", &format!("{FOOS}/b"), None);
    let gone = api.server.revision();
    assert_eq!(
        watch.drain(),
        [format!("ADDED c@{made}"), format!("MODIFIED a@{changed}"), format!("DELETED b@{gone}")]
    );
    let mut late = api.watch(&format!("{FOOS2}?watch=1&resourceVersion={before}"));
    let Next::Event(event) = late.next() else { panic!("an event") };
    assert_eq!((&event["type"], &event["object"]["spec"]["size"]), (&json!("ADDED"), &json!(3)));
    assert_eq!(late.drain().len(), 2);
}

#[test]
fn selectors_look_at_the_version_that_was_asked_for() {
    let (api, converter) = converting();
    converter.converts_and(|object| {
        let even = object["spec"]["size"].as_i64().is_some_and(|size| size % 2 == 0);
        object["metadata"]["labels"] = json!({"even": even.to_string()});
    });
    api.create(FOOS, foo("a", json!({"x": 1})));
    let mut labels = api.watch(&format!("{FOOS2}?watch=1&labelSelector=even%3Dtrue"));
    let mut fields = api.watch(&format!("{FOOS2}?watch=1&fieldSelector=spec.size%3D2"));
    assert_eq!((labels.drain().len(), fields.drain().len()), (0, 0));
    for x in [2, 4, 5] {
        api.call("PATCH", &format!("{FOOS}/a"), Some(json!({"spec": {"x": x}})));
    }
    let kinds = |watch: &mut Watch| -> Vec<String> {
        let seen = watch.drain();
        seen.iter().map(|line| line.split('@').next().unwrap_or("").to_owned()).collect()
    };
    assert_eq!(kinds(&mut labels), ["ADDED a", "MODIFIED a", "DELETED a"]);
    assert_eq!(kinds(&mut fields), ["ADDED a", "DELETED a"]);
}

#[test]
fn a_watch_ends_where_an_object_cannot_be_converted() {
    let (api, converter) = converting();
    converter.answers(|review| {
        let objects = review["request"]["objects"].as_array().expect("objects");
        match objects.iter().any(|object| object["metadata"]["name"] == "bad") {
            true => Ok(json!({
                "uid": review["request"]["uid"], "result": {"status": "Failure", "message": "too bad"},
            })),
            false => Ok(well(review)),
        }
    });
    let first = api.create(FOOS, foo("a", json!({}))).revision();
    api.create(FOOS, foo("bad", json!({})));
    api.create(FOOS, foo("c", json!({})));
    let mut watch = api.watch(&format!("{FOOS2}?watch=1"));
    let expect = [
        format!("ADDED a@{first}"),
        "ERROR 500 Internal error occurred: conversion webhook for example.com/v1, Kind=Foo failed: too bad".to_owned(),
        "end".to_owned(),
    ];
    assert_eq!(watch.drain(), expect, "what comes before it is told");
    let mut other = api.watch(&format!("{FOOS}?watch=1"));
    assert_eq!(other.drain().len(), 3, "the stored version needs nobody");
}

#[test]
fn a_definition_that_changes_changes_who_is_asked() {
    let (api, converter) = converting();
    let mut watch = api.watch(&format!("{FOOS2}?watch=1"));
    let patch = json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}});
    let got = api.call("PATCH", &format!("{CRDS}/foos.example.com"), Some(patch));
    assert_eq!(got.code, 200, "{}", got.message());
    api.create(FOOS, foo("a", json!({"x": 1, "replicas": 1})));
    let Next::Event(event) = watch.next() else { panic!("an event") };
    assert_eq!(event["object"]["spec"], json!({"colour": "red", "replicas": 1}));
    assert_eq!(converter.asked(), [""; 0]);
}

/// A webhook that answers when it is told to.
#[derive(Default)]
struct Slow {
    asked: Mutex<Vec<(Value, oneshot::Sender<()>)>>,
}

impl Caller for Slow {
    fn call(&self, call: WebhookCall) -> BoxFuture<'static, Result<WebhookAnswer, String>> {
        let review: Value = serde_json::from_slice(&call.body).expect("JSON");
        let (sender, told) = oneshot::channel();
        self.asked.lock().expect("nobody panics").push((review.clone(), sender));
        Box::pin(async move {
            told.await.map_err(|_| "gone".to_owned())?;
            let answer = json!({
                "apiVersion": review["apiVersion"], "kind": review["kind"], "response": well(&review),
            });
            Ok(WebhookAnswer { status: 200, is_text: false, body: answer.to_string().into() })
        })
    }
}

#[test]
fn what_waits_for_a_webhook_stays_in_order_and_is_not_on_its_way() {
    let api = Api::new();
    api.create(CRDS, two_versions(by_webhook()));
    let slow = Arc::new(Slow::default());
    api.server.call_webhooks_by(slow.clone());
    let mut watch = api.watch(&format!("{FOOS2}?watch=1"));
    let answer = || slow.asked.lock().unwrap().remove(0).1.send(()).expect("somebody waits");
    let first = api.create(FOOS, foo("a", json!({"x": 1}))).revision();
    assert_eq!(api.server.undelivered(), 1);
    assert_eq!(watch.next(), Next::Idle);
    assert_eq!(api.server.undelivered(), 0, "the webhook has it");
    let second =
        api.call("PATCH", &format!("{FOOS}/a"), Some(json!({"spec": {"x": 2}}))).revision();
    assert_eq!((watch.next(), api.server.undelivered()), (Next::Idle, 0));
    answer();
    // The server works while the webhook thinks: nothing holds its lock.
    assert_eq!(api.get(&format!("{FOOS}/a")).code, 200);
    assert_eq!(watch.drain(), [format!("ADDED a@{first}")]);
    answer();
    assert_eq!(watch.drain(), [format!("MODIFIED a@{second}")]);
    assert_eq!(api.server.undelivered(), 0);
    // Who is asked in vain and goes leaves nothing behind.
    api.create(FOOS, foo("b", json!({})));
    assert_eq!(watch.next(), Next::Idle);
    drop(watch);
    assert!(slow.asked.lock().unwrap().remove(0).1.is_canceled());
    assert_eq!(api.server.undelivered(), 0);
}
