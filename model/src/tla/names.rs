//! Whether all that a specification uses is there.
//!
//! The crate finds an unknown operator, and a definition that does not parse, when it evaluates it: in the middle of a
//! search, or never. SANY, TLC's parser, refuses such modules. Here is looked at what the configuration asks for, and at
//! every definition that it leads to; what else does not parse is passed over, as the crate may not know all of TLA+.

use std::{collections::BTreeSet, sync::Arc};

use tla_checker::{
    ast::{Env, Expr, FairnessConstraint, SafetyProperty, Spec, UnparsedDefinition},
    diagnostic::find_similar,
    eval::Definitions,
};

/// What is wrong with a name.
pub(super) enum Wrong {
    /// Nothing defines it: its name, and the nearest that there is.
    Unknown(Arc<str>, Option<String>),
    /// An operator with another number of arguments: its name, and both numbers.
    Misapplied { name: Arc<str>, takes: usize, has: usize },
    /// Its definition does not parse.
    Unparsed(Arc<UnparsedDefinition>),
}

type Looked = Result<(), Wrong>;

/// Operators of the standard modules that the crate has no definitions of; the likeliest are enough, as they are only named
/// as what may have been meant.
const LIBRARY: [&str; 12] = [
    "Append",
    "Assert",
    "Cardinality",
    "Head",
    "IsFiniteSet",
    "Len",
    "Permutations",
    "SelectSeq",
    "Seq",
    "SubSeq",
    "Tail",
    "ToString",
];

/// What the crate evaluates by name (`eval/core.rs`, module Bits).
const BITS: [&str; 8] =
    ["BitAnd", "BitOr", "BitXor", "BitNot", "ShiftLeft", "LeftShift", "ShiftRight", "RightShift"];

/// Looks for a name that is wrong in what is asked for, given what is defined.
pub(super) fn check<'a>(
    spec: &'a Spec,
    constraints: impl Iterator<Item = &'a Expr>,
    constants: &Env,
    definitions: &Definitions,
) -> Looked {
    let mut names = Names { spec, constants, definitions, seen: BTreeSet::new(), bound: vec![] };
    let fairness = spec.fairness.iter().flat_map(|one| match one {
        FairnessConstraint::Weak(vars, action) | FairnessConstraint::Strong(vars, action) => {
            [vars, action]
        }
    });
    let safety = spec.safety_properties.iter().map(|property| match property {
        SafetyProperty::Init { predicate, .. } => predicate,
        SafetyProperty::Action { formula, .. } => formula,
    });
    let liveness = spec.liveness_properties.iter().map(|property| &property.formula);
    let asked = spec.init.iter().chain(&spec.next).chain(&spec.invariants).chain(constraints);
    let asked =
        asked.chain(fairness).chain(safety).chain(liveness).chain(&spec.temporal_assumptions);
    for expr in asked {
        names.look(expr)?;
    }
    for (name, domain, body) in &spec.quantified_fairness {
        names.look(domain)?;
        names.inside([name], body)?;
    }
    Ok(())
}

struct Names<'a> {
    spec: &'a Spec,
    constants: &'a Env,
    definitions: &'a Definitions,
    /// Definitions that were looked at.
    seen: BTreeSet<Arc<str>>,
    /// What quantifiers, parameters and LET name here.
    bound: Vec<Arc<str>>,
}

impl Names<'_> {
    fn look(&mut self, expr: &Expr) -> Looked {
        match expr {
            Expr::Unparsed(of) => Err(Wrong::Unparsed(of.clone())),
            Expr::Var(name) => self.name(name, None),
            // A variable, or an operator in the next state.
            Expr::Prime(name) => self.name(name, None),
            Expr::Unchanged(names) => names.iter().try_for_each(|name| self.name(name, None)),
            Expr::FnCall(name, arguments) => {
                self.name(name, Some(arguments.len()))?;
                self.all(arguments)
            }
            Expr::CustomOp(name, one, other) => {
                self.name(name, Some(2))?;
                self.look(one)?;
                self.look(other)
            }
            // Its operator is of another module.
            Expr::QualifiedCall(_, _, arguments) => self.all(arguments),
            Expr::SetFilter(name, domain, body)
            | Expr::SetMap(name, domain, body)
            | Expr::Exists(name, domain, body)
            | Expr::Forall(name, domain, body)
            | Expr::Choose(name, domain, body)
            | Expr::FnDef(name, domain, body) => {
                self.look(domain)?;
                self.inside([name], body)
            }
            Expr::ChooseUnbounded(name, body) => self.inside([name], body),
            Expr::Lambda(names, body) => self.inside(names, body),
            Expr::Let(name, definition, body) => {
                // It may call itself.
                match parameters(definition) {
                    Some((parameters, of)) => {
                        self.inside([name].into_iter().chain(&parameters), of)?
                    }
                    None => self.inside([name], definition)?,
                }
                self.inside([name], body)
            }
            _ => parts(expr).into_iter().try_for_each(|part| self.look(part)),
        }
    }

    fn all(&mut self, exprs: &[Expr]) -> Looked {
        exprs.iter().try_for_each(|expr| self.look(expr))
    }

    fn inside<'n>(&mut self, names: impl IntoIterator<Item = &'n Arc<str>>, body: &Expr) -> Looked {
        let outside = self.bound.len();
        self.bound.extend(names.into_iter().cloned());
        let looked = self.look(body);
        self.bound.truncate(outside);
        looked
    }

    /// A name that is used, applied to so many arguments.
    fn name(&mut self, name: &Arc<str>, has: Option<usize>) -> Looked {
        if self.bound.contains(name)
            || self.spec.vars.contains(name)
            || self.constants.contains_key(name)
            || BITS.contains(&&**name)
        {
            return Ok(());
        }
        let Some((parameters, body)) = self.definitions.get(name) else {
            return Err(Wrong::Unknown(name.clone(), self.nearest(name)));
        };
        let takes = parameters.len();
        if let (Some(has), false) = (has, matches!(**body, Expr::Unparsed(_)))
            && has != takes
        {
            return Err(Wrong::Misapplied { name: name.clone(), takes, has });
        }
        if !self.seen.insert(name.clone()) {
            return Ok(());
        }
        // A definition does not see what is bound where it is used.
        let outside = std::mem::replace(&mut self.bound, parameters.clone());
        let looked = self.look(body);
        self.bound = outside;
        looked
    }

    fn nearest(&self, name: &str) -> Option<String> {
        let known = self.spec.vars.iter().chain(&self.bound).chain(self.constants.keys());
        let known = known.chain(self.definitions.keys()).map(|name| &**name).chain(LIBRARY);
        find_similar(name, known, 2).map(str::to_owned)
    }
}

/// The parameters and the body of an operator that LET defines (the crate's `parameterized_let_op`).
fn parameters(definition: &Expr) -> Option<(Vec<Arc<str>>, &Expr)> {
    let Expr::Let(marker, parameters, body) = definition else { return None };
    let Expr::TupleLit(parameters) = &**parameters else { return None };
    let name = |parameter: &Expr| match parameter {
        Expr::Var(name) => Some(name.clone()),
        _ => None,
    };
    (&**marker == "_params")
        .then(|| parameters.iter().filter_map(name).collect())
        .map(|of| (of, &**body))
}

/// The expressions that are parts of one that names nothing itself.
fn parts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Not(e)
        | Expr::Neg(e)
        | Expr::TransitiveClosure(e)
        | Expr::ReflexiveTransitiveClosure(e)
        | Expr::Powerset(e)
        | Expr::Cardinality(e)
        | Expr::IsFiniteSet(e)
        | Expr::BigUnion(e)
        | Expr::Domain(e)
        | Expr::RecordAccess(e, _)
        | Expr::TupleAccess(e, _)
        | Expr::Len(e)
        | Expr::Head(e)
        | Expr::Tail(e)
        | Expr::SeqSet(e)
        | Expr::PrintT(e)
        | Expr::Permutations(e)
        | Expr::TLCToString(e)
        | Expr::RandomElement(e)
        | Expr::TLCGet(e)
        | Expr::TLCEval(e)
        | Expr::IsABag(e)
        | Expr::BagToSet(e)
        | Expr::SetToBag(e)
        | Expr::BagUnion(e)
        | Expr::SubBag(e)
        | Expr::BagCardinality(e)
        | Expr::Always(e)
        | Expr::Eventually(e)
        | Expr::EnabledOp(e)
        | Expr::LabeledAction(_, e) => vec![e],
        Expr::And(l, r)
        | Expr::Or(l, r)
        | Expr::Implies(l, r)
        | Expr::Equiv(l, r)
        | Expr::Eq(l, r)
        | Expr::Neq(l, r)
        | Expr::In(l, r)
        | Expr::NotIn(l, r)
        | Expr::Add(l, r)
        | Expr::Sub(l, r)
        | Expr::Mul(l, r)
        | Expr::Div(l, r)
        | Expr::Mod(l, r)
        | Expr::Exp(l, r)
        | Expr::BitwiseAnd(l, r)
        | Expr::ActionCompose(l, r)
        | Expr::Lt(l, r)
        | Expr::Le(l, r)
        | Expr::Gt(l, r)
        | Expr::Ge(l, r)
        | Expr::SetRange(l, r)
        | Expr::Union(l, r)
        | Expr::Intersect(l, r)
        | Expr::SetMinus(l, r)
        | Expr::Subset(l, r)
        | Expr::ProperSubset(l, r)
        | Expr::FnApp(l, r)
        | Expr::FnMerge(l, r)
        | Expr::SingleFn(l, r)
        | Expr::FunctionSet(l, r)
        | Expr::Append(l, r)
        | Expr::Concat(l, r)
        | Expr::SelectSeq(l, r)
        | Expr::Print(l, r)
        | Expr::Assert(l, r)
        | Expr::SortSeq(l, r)
        | Expr::TLCSet(l, r)
        | Expr::BagIn(l, r)
        | Expr::BagAdd(l, r)
        | Expr::BagSub(l, r)
        | Expr::SqSubseteq(l, r)
        | Expr::BagOfAll(l, r)
        | Expr::CopiesIn(l, r)
        | Expr::LeadsTo(l, r)
        | Expr::WeakFairness(l, r)
        | Expr::StrongFairness(l, r)
        | Expr::BoxAction(l, r)
        | Expr::DiamondAction(l, r) => vec![l, r],
        Expr::If(a, b, c) | Expr::SubSeq(a, b, c) => vec![a, b, c],
        Expr::SetEnum(items) | Expr::Cartesian(items) | Expr::TupleLit(items) => {
            items.iter().collect()
        }
        Expr::RecordLit(fields) | Expr::RecordSet(fields) => {
            fields.iter().map(|(_, of)| of).collect()
        }
        Expr::Except(of, updates) => {
            let updates = updates.iter().flat_map(|(path, to)| path.iter().chain([to]));
            [&**of].into_iter().chain(updates).collect()
        }
        Expr::Case(branches) => branches.iter().flat_map(|(when, then)| [when, then]).collect(),
        _ => vec![],
    }
}
