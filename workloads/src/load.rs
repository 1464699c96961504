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
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::json;

use crate::{
    expression::Expression,
    fields::{Fields, as_list},
    manifest,
    node::{self, Content, Entry, Node},
    operation::{Act, ActVerb, Document, Operation, OperationKind, Phase},
    place::{LoadError, Place},
    scope::Scope,
    template::Template,
    workload::Workload,
};

mod act;
mod check;
mod run;
mod shared;

/// Reads a test file, or the one in a folder.
pub(crate) fn load(path: &Path) -> Result<Workload, LoadError> {
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
        ours: false,
        operations: Vec::new(),
        catches: vec![Vec::new()],
        hasher: blake3::Hasher::new(),
    };
    loader.hash_file(Path::new("test"), &text);
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
    /// `trommel.dev/v1alpha1`: our own operations are allowed.
    ours: bool,
    operations: Vec<Operation>,
    catches: Vec<Vec<Operation>>,
    hasher: blake3::Hasher,
}

/// What an operation inherits.
#[derive(Clone)]
struct Context {
    scope: Scope,
    namespace: String,
    timeouts: Timeouts,
    template: bool,
    propagation: &'static str,
    step: u32,
    step_name: String,
    phase: Phase,
    continue_on_error: bool,
    place: Place,
}

/// chainsaw's defaults, on the world's clock.
#[derive(Clone, Copy)]
struct Timeouts {
    apply: Duration,
    assert: Duration,
    cleanup: Duration,
    delete: Duration,
    error: Duration,
    exec: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        let seconds = Duration::from_secs;
        Timeouts {
            apply: seconds(5),
            assert: seconds(30),
            cleanup: seconds(30),
            delete: seconds(15),
            error: seconds(30),
            exec: seconds(5),
        }
    }
}

const ONE_CLUSTER: &str = "a workload talks to one cluster; remove it";

impl Loader {
    fn test(mut self, test: &Node, file: PathBuf) -> Result<Workload, LoadError> {
        let mut fields = Fields::of(test, "a test")?;
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
        fields.finish()?;
        let (namespace, skip) = self.spec(spec, metadata)?;
        Ok(Workload {
            name,
            file,
            namespace,
            skip,
            operations: self.operations,
            catches: self.catches,
            hash: self.hasher.finalize().to_hex().to_string(),
        })
    }

    fn spec(&mut self, node: &Node, metadata: &Node) -> Result<(String, bool), LoadError> {
        let mut fields = Fields::of(node, "spec")?;
        for key in ["cluster", "clusters"] {
            fields.refuse(key, ONE_CLUSTER)?;
        }
        fields.refuse("scenarios", "write one test for each")?;
        fields.refuse("namespaceTemplate", "apply the namespace in a step")?;
        fields.refuse("namespaceTemplateCompiler", "apply the namespace in a step")?;
        fields.refuse("forceTerminationGracePeriod", "set it in the manifests")?;
        fields
            .refuse("delayBeforeCleanup", "nothing is cleaned up; write a sleep into `cleanup`")?;
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
            scope: Scope::new(namespace_name.clone()),
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
        context.inherit(&mut fields)?;
        if let Some(entry) = namespace.filter(|_| namespace_name != "default") {
            self.ensure_namespace(&context, entry);
        }
        let catch = fields.take("catch");
        let steps = as_list(fields.need("steps")?, "steps")?;
        fields.finish()?;
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
            let mut fields = Fields::of(step, "a step")?;
            let help = "write the steps of the template here";
            fields.refuse("use", help)?;
            for key in ["cluster", "clusters"] {
                fields.refuse(key, ONE_CLUSTER)?;
            }
            let mut context = test.clone();
            context.step = index as u32 + 1;
            context.step_name = fields.text("name")?.unwrap_or_default().to_owned();
            context.place = step.place.clone();
            fields.text("description")?;
            context.inherit(&mut fields)?;
            let attempt = fields.list("try")?;
            let step_catch = fields.list("catch")?;
            let finally = fields.list("finally")?;
            let cleanup = fields.list("cleanup")?;
            fields.finish()?;
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

    fn operation(&mut self, node: &Node, context: &mut Context) -> Result<(), LoadError> {
        let mut fields = Fields::of(node, "an operation")?;
        fields.text("description")?;
        let mut own = context.clone();
        own.continue_on_error = fields.flag("continueOnError")?.unwrap_or(false)
            // A failed clean-up is reported, and the next one still runs.
            || context.phase != Phase::Try;
        own.compiler(&mut fields)?;
        own.place = node.place.clone();
        let mut actions: Vec<&Entry> = Vec::new();
        for key in CHAINSAW.iter().chain(OURS) {
            actions.extend(fields.take(key));
        }
        fields.finish()?;
        let action = match actions[..] {
            [action] => action,
            [] => return Err(node.place.error("an operation that does nothing")),
            [first, second, ..] => {
                let message = format!("`{}` and `{}` in one operation", first.key, second.key);
                return Err(second.place.error(message).help("write two operations"));
            }
        };
        own.place = action.place.clone();
        let first = self.operations.len();
        self.action(action, &own)?;
        for operation in &self.operations[first..] {
            for name in operation.kind.output_names() {
                context.scope.output(name, operation.index);
            }
        }
        Ok(())
    }

    fn action(&mut self, action: &Entry, context: &Context) -> Result<(), LoadError> {
        let (key, node) = (action.key.as_str(), &action.value);
        if OURS.contains(&key) && !self.ours {
            let error = action.place.error(format!("`{key}` is not chainsaw's"));
            return Err(error.help("use `apiVersion: trommel.dev/v1alpha1` for this file"));
        }
        let blocked = !matches!(context.phase, Phase::Try)
            && matches!(key, "apply" | "assert" | "create" | "error" | "patch" | "update");
        if blocked && !self.ours {
            let error = action.place.error(format!("chainsaw has no `{key}` in this block"));
            return Err(error.help("move it to `try`"));
        }
        match key {
            "apply" => self.write(node, context, ActVerb::Apply),
            "create" => self.write(node, context, ActVerb::Create),
            "patch" => self.write(node, context, ActVerb::Patch),
            "update" => self.write(node, context, ActVerb::Update),
            "delete" => self.delete(node, context),
            "assert" => self.assert(node, context, false),
            "error" => self.assert(node, context, true),
            "wait" => self.wait(node, context),
            "script" => self.script(node, context),
            "command" => self.command(node, context),
            "sleep" => self.sleep(node, context),
            "settle" | "restart" => {
                Fields::of(node, if key == "settle" { "settle" } else { "restart" })?.finish()?;
                let (kind, what) = match key {
                    "settle" => (OperationKind::Settle, ""),
                    _ => (OperationKind::Restart, "the controller"),
                };
                self.push(context, key, what, kind, context.timeouts.assert);
                Ok(())
            }
            "concurrently" => self.concurrently(node, context),
            // They change nothing and print what the history holds anyway.
            "describe" | "events" | "get" | "podLogs" if context.phase != Phase::Try => Ok(()),
            "describe" | "events" | "get" | "podLogs" => {
                let error = action.place.error(format!("`{key}` collects, and is not supported"));
                Err(error.help(
                    "the history holds what it would collect; move it to `catch` or `finally`",
                ))
            }
            _ => {
                let error = action.place.error(format!("`{key}` is not supported"));
                Err(error.help("use a script"))
            }
        }
    }

    fn sleep(&mut self, node: &Node, context: &Context) -> Result<(), LoadError> {
        let mut fields = Fields::of(node, "sleep")?;
        let written = fields.need("duration")?;
        let duration = fields.duration("duration")?.unwrap_or_default();
        fields.finish()?;
        let text = written.text().unwrap_or_default();
        self.push(context, "sleep", text, OperationKind::Sleep(duration), duration);
        Ok(())
    }

    fn concurrently(&mut self, node: &Node, context: &Context) -> Result<(), LoadError> {
        let first = self.operations.len();
        for node in as_list(node, "concurrently")? {
            // Each on its own: what runs at the same time can't use each other's outputs.
            self.operation(node, &mut context.clone())?;
        }
        let mut inner = Vec::new();
        let mut gone = Vec::new();
        for mut operation in self.operations.split_off(first) {
            match &operation.kind {
                OperationKind::Act(_) | OperationKind::Run(_) => {
                    operation.index = first as u32;
                    inner.push(operation);
                }
                OperationKind::Check(check) if check.is_after_delete() => gone.push(operation),
                _ => {
                    let error = operation.place.error("only writes and programs run concurrently");
                    return Err(error.help("move it before or after"));
                }
            }
        }
        if inner.is_empty() {
            return Err(node.place.error("`concurrently` is empty"));
        }
        let prefix = context.title("", "").len();
        let names: Vec<String> = inner.iter().map(|op| op.title[prefix..].to_owned()).collect();
        let timeout = inner.iter().map(|op| op.timeout).max().unwrap_or_default();
        let kind = OperationKind::Concurrently(inner);
        self.push(context, "concurrently", &names.join(", "), kind, timeout);
        for mut operation in gone {
            operation.index = self.operations.len() as u32;
            self.operations.push(operation);
        }
        Ok(())
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

/// Operations of chainsaw's, supported or not.
const CHAINSAW: &[&str] = &[
    "apply", "assert", "command", "create", "delete", "describe", "error", "events", "get",
    "patch", "podLogs", "proxy", "script", "sleep", "update", "wait",
];

/// Operations of ours.
const OURS: &[&str] = &["settle", "restart", "concurrently"];

/// An operation and those within it.
pub(crate) fn inner(operation: &Operation) -> Vec<&Operation> {
    match &operation.kind {
        OperationKind::Concurrently(inner) => std::iter::once(operation).chain(inner).collect(),
        _ => vec![operation],
    }
}

impl Context {
    /// The keys that the test and the step have in common.
    fn inherit(&mut self, fields: &mut Fields) -> Result<(), LoadError> {
        self.compiler(fields)?;
        self.timeouts.read(fields)?;
        if let Some(template) = fields.flag("template")? {
            self.template = template;
        }
        if let Some(entry) = fields.take("skipDelete")
            && entry.value.content != Content::Bool(true)
        {
            let error = entry.value.place.error("objects are not deleted at the end");
            return Err(error.help("write a `delete` operation, or `skipDelete: true`"));
        }
        self.propagation(fields)?;
        self.bindings(fields)
    }

    fn compiler(&mut self, fields: &mut Fields) -> Result<(), LoadError> {
        match fields.take("compiler") {
            None => Ok(()),
            Some(entry) if entry.value.text() == Some("jp") => Ok(()),
            Some(entry) => Err(entry
                .value
                .place
                .error("only the JMESPath compiler is supported")
                .help("write `jp`, or leave it out")),
        }
    }

    fn propagation(&mut self, fields: &mut Fields) -> Result<(), LoadError> {
        let Some(entry) = fields.take("deletionPropagationPolicy") else { return Ok(()) };
        let known = ["Orphan", "Background", "Foreground"];
        let found = known.into_iter().find(|name| entry.value.text() == Some(name));
        self.propagation = found.ok_or_else(|| {
            entry.value.place.error("unknown policy").help("Orphan, Background or Foreground")
        })?;
        Ok(())
    }

    /// `bindings: [{name, value}]`.
    fn bindings(&mut self, fields: &mut Fields) -> Result<(), LoadError> {
        for node in fields.list("bindings")? {
            let mut fields = Fields::of(node, "a binding")?;
            self.compiler(&mut fields)?;
            let name = self.binding_name(&mut fields)?;
            let value = Template::compile(fields.need("value")?, true)?;
            fields.finish()?;
            self.scope.bind(name, value)?;
        }
        Ok(())
    }

    fn binding_name(&self, fields: &mut Fields) -> Result<String, LoadError> {
        let node = fields.need("name")?;
        let name = self.known_text(node, "name")?;
        let word = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        word.then_some(name)
            .ok_or_else(|| node.place.error("a binding's name has letters, digits and underscores"))
    }

    /// A string that may be an expression, of bindings that are known before the run.
    fn known_text(&self, node: &Node, key: &str) -> Result<String, LoadError> {
        crate::fields::as_text(node, key)?;
        let template = self.compile(node, true)?;
        let value = template
            .evaluate(&serde_json::Value::Null, &self.scope.known_bindings())
            .map_err(|error| {
                let help = "it must be known before the workload runs: no outputs";
                error.place.error(format!("({}): {}", error.text, error.message)).help(help)
            })?;
        let text = value.as_str().map(str::to_owned);
        text.ok_or_else(|| node.place.error(format!("`{key}` must be a string, and is {value}")))
    }

    /// Compiles a template of which all bindings are known here.
    fn compile(&self, node: &Node, evaluate: bool) -> Result<Template, LoadError> {
        let template = Template::compile(node, evaluate)?;
        let mut result = Ok(());
        template.expressions(&mut |expression: &Expression| {
            if result.is_ok() {
                result = self.scope.knows(expression, &[]);
            }
        });
        result.map(|()| template)
    }

    /// `step 2 "scale down" (finally): patch bars.example.com/default/bar`.
    fn title(&self, verb: &str, what: &str) -> String {
        let mut title = match self.step {
            0 => "set-up".to_owned(),
            step => format!("step {step}"),
        };
        if !self.step_name.is_empty() {
            title.push_str(&format!(" {:?}", self.step_name));
        }
        title.push_str(match self.phase {
            Phase::Try => "",
            Phase::Finally => " (finally)",
            Phase::Cleanup => " (cleanup)",
            Phase::Catch => " (catch)",
        });
        title.push_str(": ");
        title.push_str(verb);
        if !what.is_empty() {
            title.push(' ');
            title.push_str(what);
        }
        title
    }
}

impl Timeouts {
    fn read(&mut self, fields: &mut Fields) -> Result<(), LoadError> {
        let Some(entry) = fields.take("timeouts") else { return Ok(()) };
        let mut fields = Fields::of(&entry.value, "timeouts")?;
        for (key, slot) in [
            ("apply", &mut self.apply),
            ("assert", &mut self.assert),
            ("cleanup", &mut self.cleanup),
            ("delete", &mut self.delete),
            ("error", &mut self.error),
            ("exec", &mut self.exec),
        ] {
            if let Some(duration) = fields.duration(key)? {
                *slot = duration;
            }
        }
        fields.finish()
    }
}
