//! Cursors: where a workload can be taken up.

use super::*;

const TEST: &str = "\
- apply:
    file: two.yaml
    outputs: [{name: rv, value: (metadata.resourceVersion)}]
- sleep: {duration: 1s}
- patch:
    bindings: [{name: again, value: ($rv)}]
    resource: {apiVersion: example.com/v1, kind: Bar, metadata: {name: bar, labels: {rv: ($again)}}}
- assert: {resource: {apiVersion: example.com/v1, kind: Bar, metadata: {name: bar}}}
";

const TWO: (&str, &str) = (
    "two.yaml",
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n{apiVersion: example.com/v1, kind: Bar, metadata: {name: bar}}\n",
);

fn at(operation: u32, document: u32) -> Cursor {
    Cursor { operation, document }
}

#[test]
fn cursors_go_document_by_document() {
    let (workload, _folder) = load(&test_of(TEST), &[TWO]).unwrap();
    let mut cursors = vec![Cursor::default()];
    while workload.operation(cursors[cursors.len() - 1]).is_some() {
        cursors.push(workload.after(cursors[cursors.len() - 1]));
    }
    assert_eq!(cursors, [at(0, 0), at(0, 1), at(1, 0), at(2, 0), at(3, 0), at(4, 0)]);
    assert_eq!(workload.end(), at(4, 0));
    assert_eq!(workload.after(at(4, 0)), at(4, 0), "nothing comes after the end");
}

#[test]
fn an_output_that_is_needed_can_not_be_skipped() {
    let (workload, _folder) = load(&test_of(TEST), &[TWO]).unwrap();
    for (cursor, resumable) in [
        (at(0, 0), true),
        (at(0, 1), false),
        (at(1, 0), false),
        (at(2, 0), false),
        (at(3, 0), true),
        (at(4, 0), true),
    ] {
        assert_eq!(workload.resumable_from(cursor).is_ok(), resumable, "{cursor}");
    }
    assert_eq!(
        workload.resumable_from(at(2, 0)).unwrap_err().to_string(),
        "step 1: patch bars.example.com/default/bar uses $rv, an output of step 1: apply two.yaml (2 documents), which lies before"
    );
}

#[test]
fn checks_are_passed_over_to_what_is_done_next() {
    let workload = operations(
        "- assert: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}\n- settle: {}\n\
         - error: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}",
    );
    for (cursor, next) in [(at(0, 0), at(1, 0)), (at(1, 0), at(1, 0)), (at(2, 0), at(3, 0))] {
        assert_eq!(workload.next_step(cursor), next, "{cursor}");
    }
    let (workload, _folder) = load(&test_of(TEST), &[TWO]).unwrap();
    assert_eq!(workload.next_step(at(0, 1)), at(0, 1), "within an operation");
    assert_eq!(workload.next_step(at(3, 0)), workload.end());
}

#[tokio::test]
async fn the_rest_is_the_same_from_every_resumable_cursor() {
    let text = "\
- apply: {file: two.yaml}
- patch: {resource: {apiVersion: example.com/v1, kind: Bar, metadata: {name: bar}, spec: {a: 1}}}
- delete: {ref: {apiVersion: v1, kind: ConfigMap, name: a}}
- assert: {resource: {apiVersion: example.com/v1, kind: Bar, metadata: {name: bar}, spec: {a: 1}}}
";
    let (workload, _folder) = load(&test_of(text), &[TWO]).unwrap();
    let (client, whole) = toy();
    let lines = carry_out(&workload, &client, Cursor::default()).await;
    let mut cursor = Cursor::default();
    for done in 0..=lines.len() {
        assert!(workload.resumable_from(cursor).is_ok());
        // The same world, reached up to here; then a new client, which has seen nothing.
        let (before, store) = toy();
        let mut at = Cursor::default();
        while at != cursor {
            let operation = workload.operation(at).unwrap();
            if matches!(operation.kind, OperationKind::Act(_)) {
                act(operation, at.document, &before).await.unwrap();
            }
            at = workload.after(at);
        }
        let after = Client::new(toy::upstream(store.clone()));
        assert_eq!(carry_out(&workload, &after, cursor).await, lines[done..]);
        assert_eq!(store.lock().unwrap().objects, whole.lock().unwrap().objects, "{cursor}");
        cursor = workload.after(cursor);
    }
}

#[test]
fn what_a_cursor_can_not_tell_is_said() {
    let workload = operations(
        "- script: {content: x}\n- concurrently: [{delete: {ref: {apiVersion: v1, kind: ConfigMap, name: a}}}]\n- settle: {}",
    );
    let within: Vec<bool> = workload.operations.iter().map(|o| o.resumable_within()).collect();
    assert_eq!(within, [false, false, true, true], "script, concurrently, its wait, settle");
}
