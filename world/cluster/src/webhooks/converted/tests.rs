//! Answers that are no conversion, each with upstream's word for it.

use serde_json::{Value, json};

use super::*;
use crate::webhooks::WebhookAnswer;

fn object(version: &str, name: &str) -> Value {
    json!({
        "apiVersion": format!("e.io/{version}"), "kind": "Foo",
        "metadata": {"name": name, "namespace": "n", "uid": "u", "labels": {"a": "b"}},
    })
}

fn answer(review: &str, objects: Value) -> Value {
    json!({
        "apiVersion": format!("apiextensions.k8s.io/{review}"), "kind": "ConversionReview",
        "response": {"uid": "r", "result": {"status": "Success"}, "convertedObjects": objects},
    })
}

fn read_as(review: &str, answer: &Value, sent: &[Value]) -> Result<Vec<Value>, String> {
    let body = answer.to_string().into();
    let answer = Ok(WebhookAnswer { status: 200, is_text: false, body });
    read(review, &Asked { uid: "r".to_owned(), answer }, sent, "e.io/v2")
}

#[test]
fn objects_come_back_in_order() {
    let sent = [object("v1", "a"), object("v1", "b")];
    let objects = [object("v2", "a"), object("v2", "b")];
    let found = read_as("v1", &answer("v1", json!(objects)), &sent).unwrap();
    assert_eq!(found, objects);
}

#[test]
fn of_the_older_form_type_and_uid_do_not_count() {
    let sent = [object("v1", "a")];
    let mut answered = answer("v1", json!([object("v2", "a")]));
    answered["response"]["uid"] = json!("other");
    answered["apiVersion"] = json!("v1");
    assert!(read_as("v1beta1", &answered, &sent).is_ok());
    let by = "conversion webhook for e.io/v1, Kind=Foo failed:";
    assert_eq!(
        read_as("v1", &answered, &sent).unwrap_err(),
        format!(
            "{by} expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /v1, \
             Kind=ConversionReview"
        )
    );
    answered["apiVersion"] = json!("apiextensions.k8s.io/v1");
    assert_eq!(
        read_as("v1", &answered, &sent).unwrap_err(),
        format!("{by} expected response.uid=\"r\", got \"other\"")
    );
    assert_eq!(
        read_as("v1beta1", &json!({"kind": "ConversionReview"}), &sent).unwrap_err(),
        format!("{by} no response provided")
    );
}

#[test]
fn each_wrong_object_has_its_word_alone_and_in_a_list() {
    let check = |wrong: Value, alone: &str, listed: &str| {
        let sent = [object("v1", "a")];
        let found = read_as("v1", &answer("v1", json!([wrong])), &sent).unwrap_err();
        let alone = alone.replace("BY", "conversion webhook for e.io/v1, Kind=Foo returned");
        assert_eq!(found, alone);
        let sent = [object("v1", "0"), object("v1", "a")];
        let both = json!([object("v2", "0"), wrong]);
        let found = read_as("v1", &answer("v1", both), &sent).unwrap_err();
        assert_eq!(
            found,
            format!("conversion webhook for e.io/v2, Kind=FooList returned {listed}")
        );
    };
    let invalid = |why: &str| {
        (format!("BY invalid object: {why}"), format!("invalid converted object at index 1: {why}"))
    };
    let metadata = |why: &str| {
        (
            format!("BY invalid metadata: {why}"),
            format!("invalid metadata in object at index 1: {why}"),
        )
    };
    let with = |path: &str, value: Value| {
        let mut object = object("v2", "a");
        *object.pointer_mut(path).expect("it is there") = value;
        object
    };
    check(
        json!({"apiVersion": "e.io/v2"}),
        "Object 'Kind' is missing in '{\"apiVersion\":\"e.io/v2\"}'",
        "invalid converted object at index 1: Object 'Kind' is missing in '{\"apiVersion\":\"e.io/v2\"}'",
    );
    check(
        with("/kind", json!("Bar")),
        "BY invalid object at index 0: invalid kind (expected Foo, received Bar)",
        "invalid converted object at index 1: invalid kind (expected Foo, received Bar)",
    );
    for (path, why) in [
        ("/metadata/name", "must have the same name: a != z"),
        ("/metadata/namespace", "must have the same namespace: n != z"),
        ("/metadata/uid", "must have the same UID: u != z"),
    ] {
        let (alone, listed) = invalid(why);
        check(with(path, json!("z")), &alone, &listed);
    }
    for (value, why) in [
        (json!("x"), "invalid metadata.labels of type string in converted object"),
        (json!({"a": 1}), "metadata.labels[a] must be a string, but is int64 in converted object"),
    ] {
        let (alone, listed) = metadata(why);
        check(with("/metadata/labels", value), &alone, &listed);
    }
    let mut annotated = object("v2", "a");
    annotated["metadata"]["annotations"] = json!({"": "x"});
    let found = read_as("v1", &answer("v1", json!([annotated])), &[object("v1", "a")]).unwrap_err();
    let expect = "conversion webhook for e.io/v1, Kind=Foo returned invalid metadata: [metadata.annotation: Invalid value: ";
    assert!(found.starts_with(expect), "{found}");
}

#[test]
fn labels_may_go_and_come() {
    let mut after = object("v2", "a");
    after["metadata"] = json!({
        "name": "a", "namespace": "n", "uid": "u", "annotations": {"c": "d"}, "finalizers": ["e/f"],
    });
    let found = read_as("v1", &answer("v1", json!([after])), &[object("v1", "a")]).unwrap();
    let expect = json!({"name": "a", "namespace": "n", "uid": "u", "annotations": {"c": "d"}});
    assert_eq!(found[0]["metadata"], expect);
}
