//! A module with its configuration, ready to be explored.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tla_checker::{
    Source,
    ast::{Env, Spec},
    checker::{CheckerConfig, prepare_spec},
    config::{TlcConfig, apply_config, override_operators, parse_cfg},
    eval::{self, Definitions},
    modules::merge_extended_declarations,
    parser::parse_with_warnings,
    span::Span,
    stdlib::is_stdlib_module,
};

use super::{
    actions, configuration,
    error::{TlaError, Unread, about, located, place, unread},
    explore::Asked,
    layout, names,
};
use crate::traces::Place;

/// A module and its configuration.
pub struct Specification {
    pub(super) spec: Spec,
    pub(super) config: CheckerConfig,
    constants: Env,
    pub(super) source: Source,
    pub(super) path: PathBuf,
    /// Whether all of the text is in this one file.
    pub(super) is_alone: bool,
    pub(super) unread: Vec<Unread>,
    /// What the configuration asks for: invariants, properties, no deadlock.
    pub asked: Vec<Asked>,
    /// What the crate has to say on this specification, one sentence each.
    pub warnings: Vec<String>,
}

impl Specification {
    /// Reads the module at `module` and the configuration at `cfg`, and what the module extends beside it.
    ///
    /// # Errors
    ///
    /// A file can't be read or parsed, the configuration names what is not there, or asks for what is refused (head of
    /// `tla.rs`).
    pub fn load(module: &Path, cfg: &Path) -> Result<Self, TlaError> {
        let read = |file: &Path| fs::read_to_string(file).map_err(|io| about(file, io.to_string()));
        Self::new(module, &read(module)?, cfg, &read(cfg)?)
    }

    /// The same from texts. Their paths are for errors, and for modules that are extended or instantiated, which are
    /// looked for beside `module`.
    ///
    /// # Errors
    ///
    /// As [`Specification::load`].
    pub fn new(module: &Path, text: &str, cfg: &Path, cfg_text: &str) -> Result<Self, TlaError> {
        let text = layout::plain(text);
        let source = Source::new(module.display().to_string(), text.clone());
        let in_module = |span: Option<Span>, what: String| TlaError {
            file: module.to_owned(),
            place: place(&source, span),
            what,
        };
        let in_cfg = |place: Place, what: String| TlaError { file: cfg.to_owned(), place, what };
        let named = |what: String| in_cfg(configuration::named(cfg_text, &what), what);
        let asked = parse_cfg(cfg_text)
            .map_err(|what| in_cfg(configuration::unparsed(cfg_text, &what), what))?;
        if let Some((directive, what)) = refused(&asked) {
            return Err(in_cfg(configuration::word(cfg_text, directive), what.to_owned()));
        }
        let (mut spec, warnings) =
            parse_with_warnings(&text).map_err(|error| in_module(error.span, error.message))?;
        check_modules(&spec, module)?;
        merge_extended_declarations(&mut spec, module).map_err(|what| in_module(None, what))?;
        let mut spec = override_operators(&asked, spec, &text, Some(module)).map_err(named)?;
        let mut constants = Env::new();
        let mut config = CheckerConfig {
            max_depth: usize::MAX,
            quiet: true,
            spec_path: Some(module.to_owned()),
            ..CheckerConfig::default()
        };
        let unread = unread(&spec, module);
        let not_used = not_used(&asked);
        let applied = apply_config(&asked, &mut spec, &mut constants, &mut config, &[], &[], false)
            .map_err(|what| located(&unread, &what).unwrap_or_else(|| named(what)))?;
        // `Nat` and `Int` have no end, as in TLC.
        config.symbolic_integers = true;
        config.symmetric_constants.clear();
        config.view = None;
        keep_asked_invariants(&mut spec, &asked);
        spec.next = spec.next.take().map(|next| actions::named(next, &spec.definitions));
        let asked = asks(&asked, config.allow_deadlock);
        let is_alone = spec.extends.iter().all(|module| is_stdlib_module(module))
            && spec.instances.iter().all(|instance| is_stdlib_module(&instance.module_name));
        // Each is told once, and nothing is checked because of its name alone.
        let is_said = |warning: &String| {
            !warning.starts_with("failed to parse ") && !warning.contains("naming convention")
        };
        let warnings = warnings.into_iter().map(|warning| warning.value).chain(applied);
        let warnings = warnings.filter(is_said);
        let passed_over = unread.iter().map(|(_, error)| format!("passed over: {error}"));
        let warnings = warnings.chain(not_used).chain(passed_over).collect();
        let path = module.to_owned();
        let read =
            Self { spec, config, constants, source, path, is_alone, unread, asked, warnings };
        read.check_names()?;
        Ok(read)
    }

    /// The variables, in the order in which they are declared.
    pub fn vars(&self) -> impl Iterator<Item = &str> {
        self.spec.vars.iter().map(|name| &**name)
    }

    /// The definitions, of which some are actions.
    pub fn definitions(&self) -> impl Iterator<Item = &str> {
        self.spec.definitions.keys().map(|name| &**name)
    }

    /// Whether the module's own text has this name, for example as a label.
    pub fn has_name(&self, name: &str) -> bool {
        layout::place_of(self.source.text(), name).is_some()
    }

    /// Whether only states inside of a constraint are looked at.
    pub fn is_constrained(&self) -> bool {
        !self.config.state_constraints.is_empty()
    }

    /// The constants and definitions, and the crate's evaluator of this thread set up for them.
    pub(super) fn prepare(&self) -> Result<(Env, Definitions), TlaError> {
        eval::clear_resolved_instances();
        eval::reset_tlc_state();
        eval::set_symbolic_integers(true);
        prepare_spec(&self.spec, &self.constants, Some(&self.path), true)
            .map_err(|error| self.unprepared(error))
    }

    /// Looks whether all names are there that what is asked for leads to.
    fn check_names(&self) -> Result<(), TlaError> {
        let (constants, definitions) = self.prepare()?;
        let constraints = self.config.state_constraints.iter();
        names::check(&self.spec, constraints, &constants, &definitions)
            .map_err(|wrong| self.wrong(wrong))
    }

    /// The constants that the configuration gives.
    pub(super) fn constants(&self) -> &Env {
        &self.constants
    }
}

/// Looks whether the modules that are extended or instantiated are there: the crate passes over some that are not.
fn check_modules(spec: &Spec, module: &Path) -> Result<(), TlaError> {
    let instances = spec.instances.iter().map(|instance| &instance.module_name);
    let mut missing = spec
        .extends
        .iter()
        .chain(instances)
        .filter(|name| !is_stdlib_module(name))
        .filter(|name| !module.with_file_name(format!("{name}.tla")).exists());
    match missing.next() {
        Some(name) => Err(about(module, format!("there is no {name}.tla beside it"))),
        None => Ok(()),
    }
}

/// What a configuration asks for and would not get: the directive, and what is to be said of it.
fn refused(cfg: &TlcConfig) -> Option<(&'static str, &'static str)> {
    (!cfg.action_constraints.is_empty())
        .then_some(("ACTION_CONSTRAINT", "ACTION_CONSTRAINT is not known"))
}

/// What it asks for and is done without. States that count as the same under SYMMETRY or VIEW need not have the same
/// future, or the same answer to a property; and runs are taken from the states, step by step.
fn not_used(cfg: &TlcConfig) -> Option<String> {
    let parts = [("SYMMETRY", cfg.symmetry.is_some()), ("VIEW", cfg.view.is_some())];
    let parts: Vec<&str> = parts.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect();
    let said = parts.join(" and ");
    (!parts.is_empty())
        .then(|| format!("{said} of the configuration: not used, all states are looked at"))
}

fn asks(cfg: &TlcConfig, allow_deadlock: bool) -> Vec<Asked> {
    let invariants = cfg.invariants.iter().map(|name| Asked::Invariant(name.to_string()));
    let properties = cfg.properties.iter().map(|name| Asked::Property(name.to_string()));
    let deadlock = (!allow_deadlock).then_some(Asked::NoDeadlock);
    invariants.chain(properties).chain(deadlock).collect()
}

/// Leaves out invariants that the crate found by their names: TLC checks those that the configuration names. The `[]P`
/// of a property is an invariant too.
fn keep_asked_invariants(spec: &mut Spec, cfg: &TlcConfig) {
    let asked = |name: &Option<std::sync::Arc<str>>| {
        name.as_ref()
            .is_some_and(|name| cfg.invariants.contains(name) || cfg.properties.contains(name))
    };
    let kept: Vec<bool> = spec.invariant_names.iter().map(asked).collect();
    let mut keep = kept.iter();
    spec.invariants.retain(|_| *keep.next().unwrap_or(&true));
    let mut keep = kept.iter();
    spec.invariant_names.retain(|_| *keep.next().unwrap_or(&true));
}
