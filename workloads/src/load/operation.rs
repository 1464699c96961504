//! One entry of `try`, `finally`, `cleanup` or `catch`: which operation it is, and the small ones.

use super::{Context, Loader};
use crate::{
    fields::{Fields, as_list},
    node::{Entry, Node},
    operation::{ActVerb, OperationKind, Phase},
    place::LoadError,
};

/// Keys beside the operation.
const ABOUT: &[&str] = &["description", "continueOnError", "compiler"];

/// Operations of chainsaw's, supported or not.
const CHAINSAW: &[&str] = &[
    "apply", "assert", "command", "create", "delete", "describe", "error", "events", "get",
    "patch", "podLogs", "proxy", "script", "sleep", "update", "wait",
];

/// Operations of ours.
const OURS: &[&str] = &["settle", "restart", "concurrently"];

impl Loader {
    pub(super) fn operation(
        &mut self,
        node: &Node,
        context: &mut Context,
    ) -> Result<(), LoadError> {
        let fields = Fields::of(node, "an operation", &[ABOUT, CHAINSAW, OURS], &[])?;
        fields.text("description")?;
        let mut own = context.clone();
        own.continue_on_error = fields.flag("continueOnError")?.unwrap_or(false)
            // A failed clean-up is reported, and the next one still runs.
            || context.phase != Phase::Try;
        own.compiler(&fields)?;
        own.place = node.place.clone();
        let mut actions: Vec<&Entry> = Vec::new();
        for key in CHAINSAW.iter().chain(OURS) {
            actions.extend(fields.take(key));
        }
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
                let what = if key == "settle" { "settle" } else { "restart" };
                Fields::of(node, what, &[], &[])?;
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
        let fields = Fields::of(node, "sleep", &[&["duration"]], &[])?;
        let written = fields.need("duration")?;
        let duration = fields.duration("duration")?.unwrap_or_default();
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
}
