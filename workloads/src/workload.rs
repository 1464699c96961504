//! A workload: a flat list of operations that can be taken up at any of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use trace::Cursor;

use crate::{
    load,
    operation::{Operation, OperationKind},
    place::LoadError,
};

/// A chainsaw `Test` (or ours), ready to be carried out.
#[derive(Debug, Clone)]
pub struct Workload {
    /// `metadata.name`.
    pub name: String,
    /// The file that it was read from.
    pub file: PathBuf,
    /// The namespace of everything that names none, and `$namespace`.
    pub namespace: String,
    /// `skip: true`: the author does not want it carried out.
    pub skip: bool,
    /// What it does, in order. Empty steps leave no trace here.
    pub operations: Vec<Operation>,
    pub(crate) catches: Vec<Vec<Operation>>,
    pub(crate) hash: String,
    pub(crate) files: BTreeMap<String, String>,
}

impl Workload {
    /// Reads a test file, or a folder with a `chainsaw-test.yaml` in it, and all files that it names. `env` is what the
    /// function `env` knows.
    pub fn load(path: &Path, env: &BTreeMap<String, String>) -> Result<Workload, LoadError> {
        load::load(path, env)
    }

    /// Hash of the test, of all files that it names, and of its variables, in hexadecimal: the same bytes give the same
    /// hash, wherever the folder is.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The files that the test names, by their path relative to the test's folder, with their text.
    pub fn files(&self) -> &BTreeMap<String, String> {
        &self.files
    }

    /// Command lines of all programs that it runs, as they are written, in order.
    pub fn programs(&self) -> Vec<String> {
        self.operations.iter().flat_map(Operation::programs).collect()
    }

    /// The operation at a position; `None` at the end.
    pub fn operation(&self, cursor: Cursor) -> Option<&Operation> {
        self.operations.get(cursor.operation as usize)
    }

    /// The operation of which a position is reached: the one before, or the one that is under way there.
    pub fn led_to(&self, cursor: Cursor) -> Option<&Operation> {
        let before = cursor.operation.checked_sub(u32::from(cursor.document == 0))?;
        self.operations.get(before as usize)
    }

    /// The position after the last operation.
    pub fn end(&self) -> Cursor {
        Cursor { operation: self.operations.len() as u32, document: 0 }
    }

    /// The position after one document of an act, or after the whole operation if it is anything else.
    pub fn after(&self, cursor: Cursor) -> Cursor {
        match self.operation(cursor) {
            Some(operation) if cursor.document + 1 < operation.documents() => {
                Cursor { document: cursor.document + 1, ..cursor }
            }
            Some(_) => Cursor { operation: cursor.operation + 1, document: 0 },
            None => cursor,
        }
    }

    /// The position of what it does next, checks passed over: whether they hold is not known.
    pub fn next_step(&self, cursor: Cursor) -> Cursor {
        let from = self.operations.iter().enumerate().skip(cursor.operation as usize);
        let next =
            from.skip_while(|(_, operation)| matches!(operation.kind, OperationKind::Check(_)));
        match next.map(|(at, _)| at as u32).next() {
            Some(operation) if operation == cursor.operation => cursor,
            Some(operation) => Cursor { operation, document: 0 },
            None => self.end(),
        }
    }

    /// How many steps of the user (documents sent, sleeps) come from here on before it waits for all to settle, starts the
    /// controller anew or runs a program. Checks are passed over: whether they hold is not known.
    pub fn writes_before_a_wait(&self, cursor: Cursor) -> u32 {
        let mut steps = 0;
        for operation in self.operations.iter().skip(cursor.operation as usize) {
            match operation.kind {
                OperationKind::Act(_) => steps += operation.documents(),
                OperationKind::Sleep(_) => steps += 1,
                OperationKind::Check(_) => {}
                OperationKind::Settle
                | OperationKind::Restart
                | OperationKind::Concurrently(_)
                | OperationKind::Run(_) => break,
            }
        }
        steps.saturating_sub(cursor.document)
    }

    /// Whether the user waits until all has settled between these positions.
    pub fn settles_between(&self, from: Cursor, to: Cursor) -> bool {
        let between = from.operation as usize..to.operation as usize;
        let operations = self.operations.get(between).unwrap_or_default();
        operations.iter().any(|operation| matches!(operation.kind, OperationKind::Settle))
    }

    /// What chainsaw would run if this operation failed: the `catch` blocks of its step, then the test's.
    /// Trommel does not run them by itself (its history holds what they collect).
    pub fn catch(&self, operation: &Operation) -> &[Operation] {
        self.catches.get(operation.step as usize).map(Vec::as_slice).unwrap_or_default()
    }

    /// Steps that do something and check nothing, as a person would name them; `the whole workload` if no step checks
    /// anything.
    pub fn unchecked_steps(&self) -> Vec<String> {
        let steps = self.operations.iter().filter(|operation| operation.step > 0);
        let mut seen: BTreeMap<u32, (&str, bool, bool)> = BTreeMap::new();
        for operation in steps {
            let step = seen.entry(operation.step).or_insert((&operation.step_name, false, false));
            match operation.kind {
                OperationKind::Act(_) | OperationKind::Concurrently(_) => step.1 = true,
                OperationKind::Check(_) | OperationKind::Run(_) => step.2 = true,
                OperationKind::Sleep(_) | OperationKind::Settle | OperationKind::Restart => {}
            }
        }
        if !seen.is_empty() && seen.values().all(|(_, _, checks)| !checks) {
            return vec!["the whole workload".to_owned()];
        }
        let unchecked = seen.into_iter().filter(|(_, (_, acts, checks))| *acts && !*checks);
        unchecked
            .map(|(number, (name, ..))| match name {
                "" => format!("step {number}"),
                name => format!("step {number} {name:?}"),
            })
            .collect()
    }

    /// Whether the workload can be taken up at `cursor` in a process that did not carry out what lies before.
    ///
    /// Not so where an operation from there on uses an output of one before: outputs live in the run.
    /// This takes the operation at the cursor as not begun (or begun by whole documents); for a world from
    /// within an operation ask [`Operation::resumable_within`] too.
    pub fn resumable_from(&self, cursor: Cursor) -> Result<(), NotResumable> {
        let rest = self.operations.iter().skip(cursor.operation as usize);
        for operation in rest {
            let within = load::inner(operation);
            for operation in within {
                let used = operation.uses();
                for (name, from) in operation.scope.outputs() {
                    let before = from < cursor.operation
                        || (from == cursor.operation && cursor.document > 0);
                    if before && used.contains(name) {
                        return Err(NotResumable {
                            title: operation.title.clone(),
                            output: name.to_owned(),
                            given_by: self.operations[from as usize].title.clone(),
                        });
                    }
                }
            }
        }
        Ok(())
    }
}

impl Operation {
    /// Names of the bindings that it uses, directly or through other bindings.
    pub(crate) fn uses(&self) -> BTreeSet<String> {
        let mut names = self.scope.uses();
        self.kind.expressions(&mut |expression| names.extend(expression.variables.iter().cloned()));
        names
    }
}

/// Why a workload can't be taken up at a position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{title} uses ${output}, an output of {given_by}, which lies before")]
pub struct NotResumable {
    /// The operation that needs the output.
    pub title: String,
    /// The output.
    pub output: String,
    /// The operation that gives it.
    pub given_by: String,
}
