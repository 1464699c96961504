//! A module with its configuration, ready to be explored.

use std::{
    fs,
    path::{Path, PathBuf},
};

use thiserror::Error;
use tla_checker::{
    Source,
    ast::{Env, Spec, UnparsedDefinition},
    checker::{CheckerConfig, PrepareSpecError, eval_error_to_diagnostic, prepare_spec},
    config::{TlcConfig, apply_config, override_operators, parse_cfg},
    eval::{self, Definitions, EvalError},
    modules::merge_extended_declarations,
    parser::parse_with_warnings,
    span::Span,
    stdlib::is_stdlib_module,
};

use super::{
    actions,
    explore::Asked,
    layout,
    names::{self, Wrong},
};
use crate::traces::Place;

/// A specification that can't be read, or that TLC's rules don't allow.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{place}: {what}", file.display())]
pub struct TlaError {
    /// The module or its configuration.
    pub file: PathBuf,
    /// Where; the whole file if the parser does not say, or if the text may be in a module that is extended.
    pub place: Place,
    /// What is wrong, in the words of the parser.
    pub what: String,
}

/// A module and its configuration.
pub struct Specification {
    pub(super) spec: Spec,
    pub(super) config: CheckerConfig,
    constants: Env,
    source: Source,
    path: PathBuf,
    /// Whether all of the text is in this one file.
    is_alone: bool,
    unread: Vec<Unread>,
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
        let in_cfg = |what: String| about(cfg, what);
        let asked = parse_cfg(cfg_text).map_err(in_cfg)?;
        if let Some(refused) = refused(&asked) {
            return Err(in_cfg(refused));
        }
        let (mut spec, warnings) =
            parse_with_warnings(&text).map_err(|error| in_module(error.span, error.message))?;
        check_modules(&spec, module)?;
        merge_extended_declarations(&mut spec, module).map_err(|what| in_module(None, what))?;
        let mut spec = override_operators(&asked, spec, &text, Some(module)).map_err(in_cfg)?;
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
            .map_err(|what| located(&unread, &what).unwrap_or_else(|| in_cfg(what)))?;
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

    /// A name that is not there, or not as it is used.
    fn wrong(&self, wrong: Wrong) -> TlaError {
        match wrong {
            Wrong::Unparsed(of) => unparsed(&of, &self.path),
            Wrong::Unknown(name, nearest) => {
                let meant =
                    nearest.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                self.about_name(&name, format!("nothing defines `{name}`{meant}"))
            }
            Wrong::Misapplied { name, takes, has } => {
                let what =
                    format!("`{name}` is defined with {takes} arguments, and used with {has}");
                self.about_name(&name, what)
            }
        }
    }

    /// With the first place at which the module has the name, or else one that it extends.
    fn about_name(&self, name: &str, what: String) -> TlaError {
        let at = |source: &Source| {
            let at = u32::try_from(layout::place_of(source.text(), name)?).ok()?;
            let (line, column) = source.line_char_col(at);
            Some(Place::At { line, column })
        };
        let extended = self.spec.extends.iter().filter(|module| !is_stdlib_module(module));
        let extended = extended.filter_map(|module| {
            let file = self.path.with_file_name(format!("{module}.tla"));
            let text = layout::plain(&fs::read_to_string(&file).ok()?);
            let place = at(&Source::new(file.display().to_string(), text))?;
            Some((file, place))
        });
        let here = at(&self.source).map(|place| (self.path.clone(), place));
        let (file, place) =
            here.into_iter().chain(extended).next().unwrap_or((self.path.clone(), Place::Whole));
        TlaError { file, place, what }
    }

    /// The constants that the configuration gives.
    pub(super) fn constants(&self) -> &Env {
        &self.constants
    }

    pub(super) fn unprepared(&self, error: PrepareSpecError) -> TlaError {
        let names = |names: &[std::sync::Arc<str>]| names.join(", ");
        let what = match error {
            PrepareSpecError::InstanceError(error) | PrepareSpecError::AssumeError(_, error) => {
                return self.evaluation(&error);
            }
            PrepareSpecError::ModuleParse(what)
            | PrepareSpecError::RefinementConfigError(what)
            | PrepareSpecError::ConstantSubstitution(what)
            | PrepareSpecError::LivenessProperty(what) => what,
            PrepareSpecError::MissingConstants(missing) => {
                format!("the configuration has no value for {}", names(&missing))
            }
            PrepareSpecError::AssumeViolation(at) => format!("assumption {} is false", at + 1),
            PrepareSpecError::NonModelValueSymmetry(name, _) => {
                format!("the symmetric set {name} has elements that are no model values")
            }
        };
        about(&self.path, what)
    }

    /// What went wrong in evaluating, and where.
    pub(super) fn evaluation(&self, error: &EvalError) -> TlaError {
        let place = if self.is_alone { place(&self.source, error.span()) } else { Place::Whole };
        let diagnostic = eval_error_to_diagnostic(error);
        let said = [Some(diagnostic.message), diagnostic.note, diagnostic.help];
        let mut what = said.into_iter().flatten().collect::<Vec<_>>().join("; ");
        // What a user of the crate's own program could do.
        if let Some((says, _)) = what.split_once(" (pass --") {
            what.truncate(says.len());
        }
        if let Some(error) = located(&self.unread, &what) {
            return error;
        }
        TlaError { file: self.path.clone(), place, what }
    }

    pub(super) fn missing(&self, what: &str) -> TlaError {
        about(&self.path, format!("there is no {what}"))
    }
}

fn about(file: &Path, what: String) -> TlaError {
    TlaError { file: file.to_owned(), place: Place::Whole, what }
}

fn place(source: &Source, span: Option<Span>) -> Place {
    match span {
        Some(span) => {
            let (line, column) = source.line_char_col(span.start);
            Place::At { line, column }
        }
        None => Place::Whole,
    }
}

/// A definition that does not parse: what the crate says when it is used, and what is wrong in it.
type Unread = (String, TlaError);

/// The definitions that do not parse. The crate keeps them until they are used, which not all are.
fn unread(spec: &Spec, module: &Path) -> Vec<Unread> {
    let unread = spec.definitions.keys().filter_map(|name| spec.unparsed_definition(name));
    unread.map(|of| (of.to_string(), unparsed(of, module))).collect()
}

/// What is wrong in a definition that does not parse.
fn unparsed(of: &UnparsedDefinition, module: &Path) -> TlaError {
    TlaError {
        file: of.file.as_deref().map_or_else(|| module.to_owned(), PathBuf::from),
        place: Place::At { line: of.line, column: of.column },
        what: format!("in the definition of {}: {}", of.name, of.message),
    }
}

/// What is wrong in the definition that `what` is about, if it is about one that does not parse.
fn located(unread: &[Unread], what: &str) -> Option<TlaError> {
    unread.iter().find(|(said, _)| what.contains(said)).map(|(_, error)| error.clone())
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

/// What a configuration asks for and would not get.
fn refused(cfg: &TlcConfig) -> Option<String> {
    (!cfg.action_constraints.is_empty()).then(|| "ACTION_CONSTRAINT is not known".to_owned())
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
