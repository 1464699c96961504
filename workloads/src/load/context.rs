//! What operations inherit from the test and their step, and how they are named.

use std::time::Duration;

use crate::{
    expression::Expression,
    fields::Fields,
    node::{Content, Node},
    operation::Phase,
    place::{LoadError, Place},
    scope::Scope,
    template::Template,
};

/// Keys that tests and steps have in common.
pub(super) const INHERITED: &[&str] =
    &["bindings", "compiler", "deletionPropagationPolicy", "skipDelete", "template", "timeouts"];

/// Keys of a binding, and of what is like one.
pub(super) const BINDING: &[&str] = &["name", "value", "compiler"];

const TIMEOUTS: &[&str] = &["apply", "assert", "cleanup", "delete", "error", "exec"];

/// What an operation inherits.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) scope: Scope,
    pub(super) namespace: String,
    pub(super) timeouts: Timeouts,
    pub(super) template: bool,
    pub(super) propagation: &'static str,
    pub(super) step: u32,
    pub(super) step_name: String,
    pub(super) phase: Phase,
    pub(super) continue_on_error: bool,
    pub(super) place: Place,
}

/// chainsaw's defaults, on the world's clock.
#[derive(Clone, Copy)]
pub(super) struct Timeouts {
    pub(super) apply: Duration,
    pub(super) assert: Duration,
    pub(super) cleanup: Duration,
    pub(super) delete: Duration,
    pub(super) error: Duration,
    pub(super) exec: Duration,
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

impl Context {
    /// Reads [`INHERITED`].
    pub(super) fn inherit(&mut self, fields: &Fields) -> Result<(), LoadError> {
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

    pub(super) fn compiler(&mut self, fields: &Fields) -> Result<(), LoadError> {
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

    pub(super) fn propagation(&mut self, fields: &Fields) -> Result<(), LoadError> {
        let Some(entry) = fields.take("deletionPropagationPolicy") else { return Ok(()) };
        let known = ["Orphan", "Background", "Foreground"];
        let found = known.into_iter().find(|name| entry.value.text() == Some(name));
        self.propagation = found.ok_or_else(|| {
            entry.value.place.error("unknown policy").help("Orphan, Background or Foreground")
        })?;
        Ok(())
    }

    /// `bindings: [{name, value}]`.
    pub(super) fn bindings(&mut self, fields: &Fields) -> Result<(), LoadError> {
        for node in fields.list("bindings")? {
            let fields = Fields::of(node, "a binding", &[BINDING], &[])?;
            self.compiler(&fields)?;
            let name = self.binding_name(&fields)?;
            let value = Template::compile(fields.need("value")?, true)?;
            self.scope.bind(name, value)?;
        }
        Ok(())
    }

    pub(super) fn binding_name(&self, fields: &Fields) -> Result<String, LoadError> {
        let node = fields.need("name")?;
        let name = self.known_text(node, "name")?;
        let word = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        word.then_some(name)
            .ok_or_else(|| node.place.error("a binding's name has letters, digits and underscores"))
    }

    /// A string that may be an expression, of bindings that are known before the run.
    pub(super) fn known_text(&self, node: &Node, key: &str) -> Result<String, LoadError> {
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
    pub(super) fn compile(&self, node: &Node, evaluate: bool) -> Result<Template, LoadError> {
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
    pub(super) fn title(&self, verb: &str, what: &str) -> String {
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
    fn read(&mut self, fields: &Fields) -> Result<(), LoadError> {
        let Some(entry) = fields.take("timeouts") else { return Ok(()) };
        let fields = Fields::of(&entry.value, "timeouts", &[TIMEOUTS], &[])?;
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
        Ok(())
    }
}
