//! Webhooks that can't be reached, or say what they may not.

use super::*;

#[test]
fn where_nobody_listens_the_other_version_is_no_use() {
    let api = Api::new();
    api.create(CRDS, two_versions(by_webhook()));
    api.create(FOOS, foo("a", json!({"x": 1})));
    let of = |version: &str, kind: &str| {
        format!(
            "conversion webhook for example.com/{version}, Kind={kind} failed: Post \
             \"https://127.0.0.1:1/convert?timeout=30s\": dial tcp 127.0.0.1:1: connect: connection refused"
        )
    };
    let path = format!("{FOOS2}/a");
    let (status, scale) = (format!("{path}/status"), format!("{path}/scale"));
    let [path, status, scale] = [path.as_str(), status.as_str(), scale.as_str()];
    let body = || Some(foo2("a", json!({"size": 2})));
    let patch = || Some(json!({"metadata": {"annotations": {"a": "b"}}}));
    let before = api.server.revision();
    for (method, path, body) in [
        ("GET", path, None),
        ("GET", FOOS2, None),
        ("PATCH", path, patch()),
        ("DELETE", path, None),
        ("DELETE", FOOS2, None),
        ("GET", status, None),
        ("PATCH", status, patch()),
        ("GET", scale, None),
        ("PATCH", scale, patch()),
    ] {
        let got = api.call(method, path, body);
        assert_eq!((got.code, got.message()), (500, of("v1", "Foo").as_str()), "{method} {path}");
        assert_eq!(got.reason(), "");
    }
    let mut object = body().expect("one");
    object["metadata"]["resourceVersion"] =
        api.get(&format!("{FOOS}/a")).body["metadata"]["resourceVersion"].clone();
    let got = api.call("PUT", path, Some(object));
    assert_eq!(got.message(), of("v1", "Foo"));
    let got = api.call("POST", FOOS2, Some(foo2("b", json!({"size": 2}))));
    assert_eq!(got.message(), of("v2", "Foo"));
    assert_eq!(api.server.revision(), before, "nothing was done");
    let mut watch = api.watch(&format!("{FOOS2}?watch=1"));
    let error = format!("ERROR 500 Internal error occurred: {}", of("v1", "Foo"));
    assert_eq!(watch.drain(), [error, "end".to_owned()]);
    api.create(FOOS, foo("b", json!({"x": 1})));
    assert_eq!(api.get(FOOS2).message(), of("v2", "FooList"), "of several, a list is converted");
}

#[test]
fn a_write_is_done_even_if_its_answer_cannot_be_told() {
    let (api, converter) = converting();
    converter.answers(|review| match review["request"]["desiredAPIVersion"] == "example.com/v2" {
        true => Err("gone".to_owned()),
        false => Ok(well(review)),
    });
    let got = api.call("POST", FOOS2, Some(foo2("a", json!({"size": 2}))));
    assert_eq!(got.code, 500);
    assert!(got.message().contains("for example.com/v1, Kind=Foo failed"), "{}", got.message());
    assert_eq!(stored(&api, "a")["spec"]["x"], 2);
    assert_eq!(converter.asked().len(), 2);
}

#[test]
fn an_answer_has_to_be_sane() {
    let (api, converter) = converting();
    api.create(FOOS, foo("a", json!({"x": 1})));
    let check = |change: fn(&mut Value), expect: &str| {
        converter.answers(move |review| {
            let mut response = well(review);
            change(&mut response);
            Ok(response)
        });
        let got = api.get(&format!("{FOOS2}/a"));
        let expect = format!("conversion webhook for example.com/v1, Kind=Foo {expect}");
        assert_eq!((got.code, got.message()), (500, expect.as_str()));
    };
    check(|response| response["convertedObjects"] = json!([]), "returned 0 objects, expected 1");
    check(
        |response| response["result"] = json!({"status": "Failure", "message": "custom error"}),
        "failed: custom error",
    );
    check(
        |response| response["result"] = json!({}),
        "failed: response.result.status was '', not 'Success'",
    );
    check(
        |response| response["convertedObjects"][0]["apiVersion"] = json!("example.com/v1"),
        "returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received \
         example.com/v1)",
    );
    check(
        |response| response["convertedObjects"][0]["metadata"]["uid"] = json!("other"),
        &format!(
            "returned invalid object: must have the same UID: {} != other",
            stored(&api, "a")["metadata"]["uid"].as_str().unwrap()
        ),
    );
}

#[test]
fn only_labels_and_annotations_of_the_metadata_change() {
    let (api, converter) = converting();
    let mut object = foo("a", json!({"x": 1}));
    object["metadata"]["labels"] = json!({"old": "label"});
    api.create(FOOS, object);
    converter.converts_and(|object| {
        object["metadata"]["labels"] = json!({"new": "label"});
        object["metadata"]["annotations"] = json!({"new": "annotation"});
        object["metadata"]["generation"] = json!(9);
        object["metadata"]["finalizers"] = json!(["a/b"]);
        object["spec"]["junk"] = json!(true);
    });
    let got = api.get(&format!("{FOOS2}/a")).body;
    let mut expect = stored(&api, "a")["metadata"].clone();
    (expect["labels"], expect["annotations"]) =
        (json!({"new": "label"}), json!({"new": "annotation"}));
    assert_eq!(got["metadata"], expect);
    assert_eq!(got["spec"], json!({"size": 1, "colour": "red"}), "what v2 doesn't know goes");
    assert_eq!(stored(&api, "a")["metadata"]["labels"], json!({"old": "label"}));
}

#[test]
fn calls_are_in_the_history() {
    let recorder = trace::Recorder::new(Arc::new(|| (START, 0)), None);
    let options = WorldOptions { start: START, seed: 1, suffixes: SuffixOrder::Ascending };
    let api = Api { server: Server::new(World::new(options), Some(recorder.clone())) };
    api.create(CRDS, two_versions(by_webhook()));
    let answer: Mutex<Answer> = Mutex::new(Box::new(|review| Ok(well(review))));
    let converter = Arc::new(Converter { answer, calls: Mutex::default() });
    api.server.call_webhooks_by(converter.clone());
    api.create(FOOS, foo("a", json!({})));
    api.create(FOOS, foo("b", json!({})));
    api.get(FOOS2);
    converter.answers(|_| Err("gone".to_owned()));
    api.get(&format!("{FOOS2}/a"));
    let history = recorder.take();
    let told = history.records.iter().filter_map(|record| match &record.event {
        trace::Event::Webhook(webhook) => Some((webhook.about.as_str(), webhook.outcome.clone())),
        _ => None,
    });
    let why = "Post \"https://127.0.0.1:1/convert?timeout=30s\": gone".to_owned();
    let expect = [
        ("2 objects in example.com/v2", trace::WebhookOutcome::Converted { objects: 2 }),
        ("default/a in example.com/v2", trace::WebhookOutcome::Failed(why)),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expect);
}
