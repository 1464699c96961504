//! `allOf`, `anyOf`, `oneOf` and `not`: what is told of their branches, and of which
//! (`schemaPropsValidator` of `k8s.io/kube-openapi/pkg/validation/validate/schema_props.go`).

use serde_json::Value;

use super::{
    super::{FieldError, FieldErrorKind, Node, NodeId, Path, Schema, Type, formats},
    Check, type_fits,
};

impl<'a> Check<'a> {
    pub(super) fn new(schema: &'a Schema) -> Check<'a> {
        Check { schema, errors: Vec::new(), matches: 0 }
    }

    /// Counts which of upstream's validators have to do with a value (`Result.MatchCount`): of branches that all fail,
    /// the one with the highest count is told of.
    pub(super) fn count(&mut self, node: &Node, value: &Value) {
        let typed = node.kind != Type::Any || node.int_or_string || node.format.is_some();
        let fits = usize::from(type_fits(node, value) || (value.is_null() && node.nullable));
        if value.is_null() {
            self.matches += fits;
            return;
        }
        let known = node.format.as_deref().is_some_and(formats::is_known);
        let own = match value {
            Value::String(_) => 1 + usize::from(known),
            Value::Number(_) | Value::Array(_) => 2,
            Value::Object(_) => 1,
            _ => 0,
        };
        // Those for combinations (which counts itself too) and for enumerations always do; and the whole counts once.
        const ALWAYS: usize = 4;
        self.matches += ALWAYS + own + if typed { 1 + fits } else { 0 };
    }

    pub(super) fn combinations(&mut self, node: &Node, value: &Value, at: &Path<'_>) {
        let Some(limits) = node.limits.as_ref().filter(|_| !value.is_null()) else { return };
        self.any_of(&limits.any_of, value, at);
        self.one_of(&limits.one_of, value, at);
        self.all_of(&limits.all_of, value, at);
        if limits.not.is_some_and(|id| self.branch(id, value, at).holds()) {
            self.composite(at, "must not validate the schema (not)");
        }
    }

    fn any_of(&mut self, branches: &[NodeId], value: &Value, at: &Path<'_>) {
        let mut told = Vec::new();
        for &id in branches {
            let branch = self.branch(id, value, at);
            if branch.holds() {
                self.merge(branch);
                return;
            }
            told.push(branch);
        }
        if let Some(best) = best(told) {
            self.composite(at, "must validate at least one schema (anyOf)");
            self.merge(best);
        }
    }

    fn one_of(&mut self, branches: &[NodeId], value: &Value, at: &Path<'_>) {
        if branches.is_empty() {
            return;
        }
        let told = branches.iter().map(|&id| self.branch(id, value, at));
        let (mut valid, failed): (Vec<Check<'_>>, Vec<Check<'_>>) = told.partition(Check::holds);
        let found = match valid.len() {
            1 => return valid.drain(..).for_each(|branch| self.merge(branch)),
            0 => "none valid".to_owned(),
            many => format!("{many} valid alternatives"),
        };
        self.composite(
            at,
            &format!("must validate one and only one schema (oneOf). Found {found}"),
        );
        if let Some(best) = best(failed).filter(|_| valid.is_empty()) {
            self.merge(best);
        }
    }

    fn all_of(&mut self, branches: &[NodeId], value: &Value, at: &Path<'_>) {
        let mut valid = 0;
        for &id in branches {
            let branch = self.branch(id, value, at);
            valid += usize::from(branch.holds());
            self.merge(branch);
        }
        if valid < branches.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            self.composite(at, &format!("must validate all the schemas (allOf){none}"));
        }
    }

    /// What one branch says of a value.
    fn branch(&self, id: NodeId, value: &Value, at: &Path<'_>) -> Check<'a> {
        let mut branch = Check::new(self.schema);
        branch.walk(self.schema.node(id), value, None, at);
        branch
    }

    fn holds(&self) -> bool {
        self.errors.is_empty()
    }

    /// Nothing is told twice.
    fn merge(&mut self, branch: Check<'_>) {
        self.matches += branch.matches;
        for error in branch.errors {
            if !self.errors.contains(&error) {
                self.errors.push(error);
            }
        }
    }

    /// Upstream loses the field of what it says of a whole (`kubeOpenAPIResultToFieldErrors` of what is no `Validation`).
    fn composite(&mut self, at: &Path<'_>, what: &str) {
        let (kind, detail) = (FieldErrorKind::Invalid, format!("\"{at}\" {what}"));
        self.errors.push(FieldError::with_value("<nil>", kind, &Value::from(""), detail));
    }
}

/// The branch that most fitted in, of several the first.
fn best(told: Vec<Check<'_>>) -> Option<Check<'_>> {
    told.into_iter().rev().max_by_key(|branch| branch.matches)
}
