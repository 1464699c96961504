//! Whole workloads against a toy API.

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::{Value, json};
use trace::Cursor;

use crate::{
    CheckOutcome, Client, OperationKind, Programs, RunContext, Workload, act, apply_manifests,
    check, run,
    toy::{self, toy},
};

const BAR: &str = "/apis/example.com/v1/namespaces/default/bars/bar";

/// Writes a test file (and others) into a folder and reads it.
fn load(test: &str, files: &[(&str, &str)]) -> Result<(Workload, tempfile::TempDir), String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("chainsaw-test.yaml"), test).unwrap();
    for (name, text) in files {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let prefix = format!("{}/", folder.path().display());
    let env = BTreeMap::from([("WHO".to_owned(), "me".to_owned())]);
    match Workload::load(folder.path(), &env) {
        Ok(workload) => Ok((workload, folder)),
        Err(error) => Err(error.to_string().replace(&prefix, "")),
    }
}

/// A test with these operations in one step's `try`, in our dialect.
fn test_of(operations: &str) -> String {
    let operations: String = operations.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "apiVersion: trommel.dev/v1alpha1\nkind: Test\nmetadata: {{name: t}}\nspec:\n  steps:\n  - try:\n{operations}"
    )
}

fn operations(text: &str) -> Workload {
    load(&test_of(text), &[]).unwrap().0
}

/// Carries out every operation once and says what came of each.
async fn carry_out(workload: &Workload, client: &Client, from: Cursor) -> Vec<String> {
    let mut lines = Vec::new();
    let mut cursor = from;
    while let Some(operation) = workload.operation(cursor) {
        let result = match &operation.kind {
            OperationKind::Act(_) => match act(operation, cursor.document, client).await {
                Ok(outcome) => {
                    let keys: Vec<String> =
                        outcome.objects.iter().map(ToString::to_string).collect();
                    keys.join(", ")
                }
                Err(error) if error.may_pass => format!("may pass: {error}"),
                Err(error) => format!("failed: {error}"),
            },
            OperationKind::Check(_) => match check(operation, client).await {
                Ok(CheckOutcome::Holds) => "holds".to_owned(),
                Ok(CheckOutcome::NotYet { message, .. }) => format!("not yet: {message}"),
                Err(error) => format!("failed: {error}"),
            },
            _ => String::new(),
        };
        lines.push(format!("{cursor} {} -> {result}", operation.title));
        cursor = workload.after(cursor);
    }
    // Where the folder is must not show in snapshots.
    let folder = format!("{}/", workload.file.parent().unwrap().display());
    lines.into_iter().map(|line| line.replace(&folder, "")).collect()
}

async fn outcome(text: &str, client: &Client) -> String {
    carry_out(&operations(text), client, Cursor::default()).await.join("\n")
}

fn bar(spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Bar", "metadata": {"name": "bar", "namespace": "default"}, "spec": spec})
}

/// Trials run on several threads, and their tasks may be spawned.
#[test]
fn all_of_it_can_be_sent_to_another_thread() {
    fn send<T: Send>(_: &T) {}
    fn share<T: Send + Sync>() {}
    share::<Workload>();
    share::<Client>();
    let (client, _) = toy();
    let workload = operations("- sleep: {duration: 1s}");
    let operation = &workload.operations[0];
    send(&act(operation, 0, &client));
    send(&check(operation, &client));
    let context = RunContext {
        kubeconfig: PathBuf::new(),
        env: vec![],
        client: client.clone(),
        timeout: None,
        programs: Programs::default(),
    };
    send(&run(operation, &context));
    send(&apply_manifests(&client, &[]));
}

mod acts;
mod checks;
mod loading;
mod resuming;
mod runs;
