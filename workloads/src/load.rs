//! Reads a chainsaw `Test` into a flat list of operations.
//!
//! What differs from chainsaw, on purpose:
//! - The namespace is `default` unless `spec.namespace` says otherwise (chainsaw invents one): the same
//!   run twice must give the same world. A namespace that is named is created first, if it is absent.
//! - Nothing is deleted by itself at the end: the world is thrown away, and the end state is what gets compared.
//!   `cleanup` blocks do run, the last step's first; `finally` blocks run right after their step.
//! - `catch` blocks are read and kept for those who ask ([`Workload::catch`]), not run.
//! - Collectors (`describe`, `events`, `get`, `podLogs`) outside of `try` are read over: they only print.
//! - A `delete` is two operations: the deletion, then a check that the objects are gone.
//!   An `assert` or `error` of a file with several documents is one operation each, as chainsaw polls them.
//! - What chainsaw has and we have not is an error that says where and what to do.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::json;

use crate::{
    fields::{Fields, Refused, as_list},
    manifest,
    node::{self, Entry, Node},
    operation::{Act, ActVerb, Document, Operation, OperationKind, Phase},
    place::{LoadError, Place},
    scope::Scope,
    template::Template,
    workload::Workload,
};

mod act;
mod check;
mod context;
mod operation;
mod run;
mod shared;

use context::{Context, INHERITED, Timeouts};

/// Reads a test file, or the one in a folder.
pub(crate) fn load(path: &Path, env: &BTreeMap<String, String>) -> Result<Workload, LoadError> {
    let file = test_file(path)?;
    let text = manifest::read(&file)?;
    let mut documents = node::parse(&file, &text)?;
    let test = match (documents.pop(), documents.first()) {
        (Some(test), None) => test,
        (None, _) => return Err(Place::whole(&file).error("the file is empty")),
        (Some(second), Some(_)) => {
            let error = second.place.error("a second document in a test file");
            return Err(error.help("one file holds one Test"));
        }
    };
    let dir = file.parent().unwrap_or(Path::new("")).to_owned();
    let mut loader = Loader {
        dir,
        env: Arc::new(env.clone()),
        ours: false,
        operations: Vec::new(),
        catches: vec![Vec::new()],
        hasher: blake3::Hasher::new(),
        files: BTreeMap::new(),
    };
    loader.hash_file(Path::new("test"), &text);
    for (name, value) in env {
        loader.hash_file(Path::new(&format!("env:{name}")), value);
    }
    loader.test(&test, file)
}

fn test_file(path: &Path) -> Result<PathBuf, LoadError> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let names = ["chainsaw-test.yaml", "chainsaw-test.yml"];
    let found = names.iter().map(|name| path.join(name)).find(|file| file.is_file());
    found.ok_or_else(|| Place::whole(path).error("the folder has no chainsaw-test.yaml"))
}

/// Everything that gathers while a test is read.
struct Loader {
    dir: PathBuf,
    /// What `env` knows.
    env: Arc<BTreeMap<String, String>>,
    /// `trommel.dev/v1alpha1`: our own operations are allowed.
    ours: bool,
    operations: Vec<Operation>,
    catches: Vec<Vec<Operation>>,
    hasher: blake3::Hasher,
    files: BTreeMap<String, String>,
}

const ONE_CLUSTER: &[Refused] = &[
    ("cluster", "a workload talks to one cluster; remove it"),
    ("clusters", "a workload talks to one cluster; remove it"),
];

/// What of `spec` has no place here.
const NOT_IN_SPEC: &[Refused] = &[
    ONE_CLUSTER[0],
    ONE_CLUSTER[1],
    ("scenarios", "write one test for each"),
    ("namespaceTemplate", "apply the namespace in a step"),
    ("namespaceTemplateCompiler", "apply the namespace in a step"),
    ("forceTerminationGracePeriod", "set it in the manifests"),
    ("delayBeforeCleanup", "nothing is cleaned up; write a sleep into `cleanup`"),
];

/// Keys of `spec`, beside those that it has in common with steps.
const SPEC: &[&str] = &[
    "description",
    "skip",
    "namespace",
    "catch",
    "steps",
    "failFast",
    "concurrent",
    "fastNamespaceDeletion",
];

/// Keys of a step, beside those that it has in common with `spec`.
const STEP: &[&str] = &["name", "description", "try", "catch", "finally", "cleanup"];

const NOT_IN_STEP: &[Refused] =
    &[ONE_CLUSTER[0], ONE_CLUSTER[1], ("use", "write the steps of the template here")];

impl Loader {
    fn test(mut self, test: &Node, file: PathBuf) -> Result<Workload, LoadError> {
        let fields =
            Fields::of(test, "a test", &[&["apiVersion", "kind", "metadata", "spec"]], &[])?;
        let version = fields.need("apiVersion")?;
        self.ours = match version.text() {
            Some("chainsaw.kyverno.io/v1alpha1") => false,
            Some("trommel.dev/v1alpha1") => true,
            _ => {
                let error = version.place.error("unknown apiVersion of a test");
                return Err(error.help("chainsaw.kyverno.io/v1alpha1 or trommel.dev/v1alpha1"));
            }
        };
        let kind = fields.need("kind")?;
        if kind.text() != Some("Test") {
            return Err(kind.place.error("a workload is of kind Test"));
        }
        let metadata = fields.need("metadata")?;
        let name = shared::metadata_name(metadata)?;
        let spec = fields.need("spec")?;
        let (namespace, skip) = self.spec(spec, metadata)?;
        Ok(Workload {
            name,
            file,
            namespace,
            skip,
            operations: self.operations,
            catches: self.catches,
            hash: self.hasher.finalize().to_hex().to_string(),
            files: self.files,
        })
    }

    fn spec(&mut self, node: &Node, metadata: &Node) -> Result<(String, bool), LoadError> {
        let fields = Fields::of(node, "spec", &[SPEC, INHERITED], NOT_IN_SPEC)?;
        // About running many tests, or about deleting what a test created: neither happens here.
        for key in ["failFast", "concurrent", "fastNamespaceDeletion"] {
            fields.flag(key)?;
        }
        fields.text("description")?;
        let skip = fields.flag("skip")?.unwrap_or(false);
        let namespace = fields.take("namespace");
        let named = namespace.map(|e| crate::fields::as_text(&e.value, "namespace")).transpose()?;
        let namespace_name = named.filter(|name| !name.is_empty()).unwrap_or("default").to_owned();
        let mut context = Context {
            scope: Scope::new(namespace_name.clone(), self.env.clone()),
            namespace: namespace_name.clone(),
            timeouts: Timeouts::default(),
            template: true,
            propagation: "Background",
            step: 0,
            step_name: String::new(),
            phase: Phase::Try,
            continue_on_error: false,
            place: node.place.clone(),
        };
        let built_in = [
            ("namespace", json!(namespace_name)),
            ("test", json!({"id": 1, "scenarioId": 1, "metadata": metadata.to_json()})),
        ];
        for (name, value) in built_in {
            context.scope.bind(name.to_owned(), Template::Constant(value))?;
        }
        context.inherit(&fields)?;
        if let Some(entry) = namespace.filter(|_| namespace_name != "default") {
            self.ensure_namespace(&context, entry);
        }
        let catch = fields.take("catch");
        let steps = as_list(fields.need("steps")?, "steps")?;
        self.steps(steps, catch, &context)?;
        Ok((namespace_name, skip))
    }

    fn ensure_namespace(&mut self, context: &Context, entry: &Entry) {
        let name = &context.namespace;
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let document =
            Document { place: entry.place.clone(), template: Template::Constant(object) };
        let act = Act {
            verb: ActVerb::Ensure,
            documents: vec![document],
            expect: Vec::new(),
            outputs: Vec::new(),
            subresource: String::new(),
            dry_run: false,
            propagation: context.propagation,
        };
        let mut context = context.clone();
        context.place = entry.place.clone();
        let title = format!("namespaces/{name}, if absent");
        self.push(&context, "create", &title, OperationKind::Act(act), context.timeouts.apply);
    }

    fn steps(
        &mut self,
        steps: &[Node],
        catch: Option<&Entry>,
        test: &Context,
    ) -> Result<(), LoadError> {
        let mut cleanups = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            let fields = Fields::of(step, "a step", &[STEP, INHERITED], NOT_IN_STEP)?;
            let mut context = test.clone();
            context.step = index as u32 + 1;
            context.step_name = fields.text("name")?.unwrap_or_default().to_owned();
            context.place = step.place.clone();
            fields.text("description")?;
            context.inherit(&fields)?;
            let attempt = fields.list("try")?;
            let step_catch = fields.list("catch")?;
            let finally = fields.list("finally")?;
            let cleanup = fields.list("cleanup")?;
            self.block(attempt, &mut context, Phase::Try)?;
            let mut catches = self.catch(step_catch, &context)?;
            if let Some(entry) = catch {
                let nodes = as_list(&entry.value, "catch")?;
                catches.extend(self.catch(nodes, &context)?);
            }
            self.catches.push(catches);
            self.block(finally, &mut context, Phase::Finally)?;
            cleanups.push((cleanup, context));
        }
        for (nodes, mut context) in cleanups.into_iter().rev() {
            self.block(nodes, &mut context, Phase::Cleanup)?;
        }
        Ok(())
    }

    fn block(
        &mut self,
        nodes: &[Node],
        context: &mut Context,
        phase: Phase,
    ) -> Result<(), LoadError> {
        context.phase = phase;
        nodes.iter().try_for_each(|node| self.operation(node, context))
    }

    /// Catch blocks are read like all others, so that a mistake in them shows at once; but not into the list.
    fn catch(&mut self, nodes: &[Node], context: &Context) -> Result<Vec<Operation>, LoadError> {
        let listed = std::mem::take(&mut self.operations);
        let mut context = context.clone();
        let result = self.block(nodes, &mut context, Phase::Catch);
        let mut catches = std::mem::replace(&mut self.operations, listed);
        for operation in &mut catches {
            operation.index = u32::MAX;
        }
        result.map(|()| catches)
    }

    /// Appends an operation.
    fn push(
        &mut self,
        context: &Context,
        verb: &str,
        what: &str,
        kind: OperationKind,
        timeout: Duration,
    ) {
        let title = context.title(verb, what);
        let timeout = match context.phase {
            Phase::Cleanup if matches!(kind, OperationKind::Check(_) | OperationKind::Act(_)) => {
                timeout.max(context.timeouts.cleanup)
            }
            _ => timeout,
        };
        self.operations.push(Operation {
            index: self.operations.len() as u32,
            place: context.place.clone(),
            step: context.step,
            step_name: context.step_name.clone(),
            title,
            kind,
            timeout,
            phase: context.phase,
            continue_on_error: context.continue_on_error,
            scope: Arc::new(context.scope.clone()),
        });
    }

    fn hash_file(&mut self, name: &Path, text: &str) {
        let name = name.to_string_lossy();
        for part in [name.as_bytes(), text.as_bytes()] {
            self.hasher.update(&(part.len() as u64).to_le_bytes());
            self.hasher.update(part);
        }
    }
}

/// An operation and those within it.
pub(crate) fn inner(operation: &Operation) -> Vec<&Operation> {
    match &operation.kind {
        OperationKind::Concurrently(inner) => std::iter::once(operation).chain(inner).collect(),
        _ => vec![operation],
    }
}
