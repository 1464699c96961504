//! script, command.

use super::{Context, Loader, ONE_CLUSTER, context::BINDING};
use crate::{
    fields::{Fields, as_text},
    node::Node,
    operation::{OperationKind, Run},
    place::LoadError,
    tree::compile_map,
};

/// What a program leaves behind for `check` and `outputs`.
const RESULTS: &[&str] = &["stdout", "stderr", "error"];

/// Keys of scripts and commands.
const PROGRAM: &[&str] = &[
    "bindings",
    "timeout",
    "skipLogOutput",
    "skipCommandOutput",
    "workDir",
    "env",
    "check",
    "outputs",
];

impl Loader {
    pub(super) fn script(&mut self, node: &Node, context: &Context) -> Result<(), LoadError> {
        let fields = Fields::of(
            node,
            "a script",
            &[&["shell", "shellArgs", "content"], PROGRAM],
            ONE_CLUSTER,
        )?;
        let shell = fields.text("shell")?.unwrap_or("sh").to_owned();
        let mut args = fields.texts("shellArgs")?;
        if args.is_empty() {
            args.push("-c".to_owned());
        }
        let content = as_text(fields.need("content")?, "content")?;
        args.push(content.to_owned());
        let first_line = content.trim().lines().next().unwrap_or_default();
        self.program(fields, context, "script", shell, args, &format!("{first_line:?}"))
    }

    pub(super) fn command(&mut self, node: &Node, context: &Context) -> Result<(), LoadError> {
        let fields =
            Fields::of(node, "a command", &[&["entrypoint", "args"], PROGRAM], ONE_CLUSTER)?;
        let entrypoint = as_text(fields.need("entrypoint")?, "entrypoint")?.to_owned();
        let args = fields.texts("args")?;
        let what = format!("{entrypoint} {}", args.join(" "));
        self.program(fields, context, "command", entrypoint, args, what.trim_end())
    }

    fn program(
        &mut self,
        fields: Fields,
        context: &Context,
        verb: &str,
        program: String,
        args: Vec<String>,
        what: &str,
    ) -> Result<(), LoadError> {
        let mut context = context.clone();
        context.bindings(&fields)?;
        let timeout = fields.duration("timeout")?.unwrap_or(context.timeouts.exec);
        // About chainsaw's own log.
        for key in ["skipLogOutput", "skipCommandOutput"] {
            fields.flag(key)?;
        }
        let dir = self.dir.join(fields.text("workDir")?.unwrap_or_default());
        let mut env = Vec::new();
        for node in fields.list("env")? {
            let fields = Fields::of(node, "a variable", &[BINDING], &[])?;
            context.compiler(&fields)?;
            let name = context.binding_name(&fields)?;
            env.push((name, context.compile(fields.need("value")?, true)?));
        }
        let check = fields.take("check").map(|e| compile_map(&e.value, "check")).transpose()?;
        if let Some(tree) = &check {
            context.tree_knows(tree, RESULTS)?;
        }
        let outputs = context.outputs(&fields, RESULTS)?;
        let run = Run { program, args, expand: verb == "command", env, dir, check, outputs };
        self.push(&context, verb, what, OperationKind::Run(run), timeout);
        Ok(())
    }
}
