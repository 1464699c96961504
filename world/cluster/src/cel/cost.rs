//! What a rule could cost at most (cel-go's `checker.Cost`, with Kubernetes' `library.CostEstimator`): by the sizes that
//! its schema allows, before any object is there. A definition whose rules could cost too much is refused.
//!
//! An expression with something that is not known here (`optMap`, macros over two variables, `lists.range`) has no
//! estimate and is never too expensive. Who could notice: the author of such a rule on lists without limits.

mod calls;
mod range;
mod size;

use std::collections::HashMap;

use kube_cel::cel::{
    IdedExpr,
    common::ast::{
        CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr, operators,
    },
};

pub(super) use self::size::Sizes;
use self::{calls::Call, range::Range};
use super::types::{Bindings, FUNCTIONS, Overload, Ty, goes};

/// Types of the parts of an expression, by their numbers.
pub(super) type Types = HashMap<u64, Ty>;

const LIST_COST: u64 = 10;
const MAP_COST: u64 = 30;

/// What a value is called that a list or a map holds.
const ITEMS: &str = "@items";
const KEYS: &str = "@keys";
const VALUES: &str = "@values";

/// The highest cost of an expression as it was parsed; none if that can't be told.
pub(super) fn estimate(tree: &IdedExpr, types: &Types, sizes: Sizes<'_>) -> Option<u64> {
    let mut coster = Coster {
        types,
        sizes,
        locals: HashMap::new(),
        paths: HashMap::new(),
        computed: HashMap::new(),
        entries: HashMap::new(),
    };
    coster.cost(tree).map(|cost| cost.max)
}

/// How big the parts of a list or a map are.
#[derive(Debug, Clone, Copy)]
struct Entry {
    is_list: bool,
    key: Range,
    value: Range,
}

impl Entry {
    fn union(self, other: Entry) -> Entry {
        let (key, value) = (self.key.union(other.key), self.value.union(other.value));
        Entry { is_list: self.is_list, key, value }
    }
}

/// A variable of a macro.
#[derive(Debug, Clone)]
struct Local {
    path: Vec<String>,
    size: Option<Range>,
    entry: Option<Entry>,
}

/// A receiver or an argument of a call.
#[derive(Debug)]
struct Part<'e> {
    expression: &'e IdedExpr,
    /// From a variable down to the value; empty if it is no part of one.
    path: Vec<String>,
    ty: Ty,
    size: Option<Range>,
}

struct Coster<'a> {
    types: &'a Types,
    sizes: Sizes<'a>,
    /// Variables of macros, the nearest last.
    locals: HashMap<String, Vec<Local>>,
    paths: HashMap<u64, Vec<String>>,
    computed: HashMap<u64, Range>,
    entries: HashMap<u64, Entry>,
}

impl Coster<'_> {
    fn cost(&mut self, part: &IdedExpr) -> Option<Range> {
        match &part.expr {
            Expr::Literal(_) => Some(Range::ZERO),
            Expr::Ident(name) => {
                let path = self.local(name).map(|local| local.path.clone());
                self.paths.insert(part.id, path.unwrap_or_else(|| vec![name.clone()]));
                Some(Range::ONE)
            }
            Expr::Select(select) => self.select(part, select),
            Expr::Call(call) => self.call(part, call),
            Expr::List(list) => {
                let mut cost = Range::fixed(LIST_COST);
                let mut value = Range::none_yet(list.elements.is_empty());
                for item in &list.elements {
                    cost = cost.add(self.cost(item)?);
                    value = value.union(self.size_or_unknown(item));
                }
                let entry = Entry { is_list: true, key: Range::ONE, value };
                self.entries.insert(part.id, entry);
                Some(cost)
            }
            Expr::Map(map) => {
                let mut cost = Range::fixed(MAP_COST);
                let mut key = Range::none_yet(map.entries.is_empty());
                let mut value = key;
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else { return None };
                    cost = cost.add(self.cost(&entry.key)?).add(self.cost(&entry.value)?);
                    key = key.union(self.size_or_unknown(&entry.key));
                    value = value.union(self.size_or_unknown(&entry.value));
                }
                self.entries.insert(part.id, Entry { is_list: false, key, value });
                Some(cost)
            }
            Expr::Comprehension(comprehension) => self.comprehension(part, comprehension),
            Expr::Struct(_) | Expr::Unspecified => None,
        }
    }

    fn select(&mut self, part: &IdedExpr, select: &SelectExpr) -> Option<Range> {
        let cost = self.cost(&select.operand)?;
        // `has` costs nothing by itself (`PresenceTestHasCost(false)`).
        if select.test {
            return Some(cost);
        }
        let mut path = self.path(&select.operand);
        path.push(select.field.clone());
        self.paths.insert(part.id, path);
        Some(match self.ty(&select.operand) {
            Ty::Map(..) | Ty::Object(..) | Ty::Metadata => cost.add(Range::ONE),
            _ => cost,
        })
    }

    fn comprehension(&mut self, part: &IdedExpr, loops: &ComprehensionExpr) -> Option<Range> {
        if loops.iter_var2.is_some() {
            return None;
        }
        let cost = self.cost(&loops.iter_range)?.add(self.cost(&loops.accu_init)?);
        let accumulator = Local {
            path: self.path(&loops.accu_init),
            size: self.size(&loops.accu_init),
            entry: self.entry(&loops.accu_init),
        };
        self.push(&loops.accu_var, accumulator);
        let variable = self.variable(&loops.iter_range);
        self.push(&loops.iter_var, variable);
        let each = self.cost(&loops.loop_cond)?.add(self.cost(&loops.loop_step)?);
        self.pop(&loops.iter_var);
        let result = self.cost(&loops.result)?;
        self.pop(&loops.accu_var);
        let count = self.size_or_unknown(&loops.iter_range);
        match &loops.accu_init.expr {
            Expr::Literal(_) => {
                let size = self.size(&loops.accu_init);
                self.remember(part, size);
            }
            Expr::List(_) | Expr::Map(_) => {
                self.remember(part, Some(count));
                if let Some(entry) = self.entry(&loops.loop_step) {
                    self.entries.insert(part.id, entry);
                }
            }
            _ => {}
        }
        Some(cost.add(result).add(count.times(each)))
    }

    /// What a macro's variable stands for: an item of a list, a key of a map.
    fn variable(&self, range: &IdedExpr) -> Local {
        let entry = self.entry(range);
        let is_list = match entry {
            Some(entry) => entry.is_list,
            None => matches!(self.ty(range), Ty::List(_)),
        };
        let mut path = self.path(range);
        path.push(if is_list { ITEMS } else { KEYS }.to_owned());
        let size = entry.map(|entry| if is_list { entry.value } else { entry.key });
        Local { path, size, entry: None }
    }

    fn call(&mut self, part: &IdedExpr, call: &CallExpr) -> Option<Range> {
        let qualified = self.qualified(call);
        let name = qualified.as_deref().unwrap_or(&call.func_name);
        let target = call.target.as_deref().filter(|_| qualified.is_none());
        if let ("dyn", [argument]) = (name, &call.args[..]) {
            let cost = self.cost(argument)?;
            let (size, entry) = (self.size(argument), self.entry(argument));
            self.remember(part, size);
            self.entries.extend(entry.map(|entry| (part.id, entry)));
            return Some(cost.add(Range::ONE));
        }
        let (mut arguments, mut costs) = (Vec::new(), Vec::new());
        for argument in &call.args {
            costs.push(self.cost(argument)?);
            arguments.push(self.part(argument));
        }
        let mut cost = Range::ZERO;
        let mut receiver = None;
        if let Some(target) = target {
            cost = self.cost(target)?;
            receiver = Some(self.part(target));
        }
        let overloads = fitting(name, receiver.as_ref(), &arguments);
        if overloads.is_empty() {
            return None;
        }
        let (mut own, mut result) = (Range::none_yet(false), None::<Range>);
        for overload in overloads {
            let call = Call { name, overload, receiver: receiver.as_ref(), arguments: &arguments };
            let (cost, size) = self.function(part, &call, &costs)?;
            own = own.union(cost);
            result = match (result, size) {
                (Some(known), Some(size)) => Some(known.union(size)),
                (known, size) => size.or(known),
            };
            if let (operators::INDEX, [of, _], Some(step)) =
                (name, call.arguments, call.container())
            {
                result = self.entry(of.expression).map(|entry| entry.value);
                let mut path = of.path.clone();
                path.push(step.to_owned());
                self.paths.insert(part.id, path);
            }
            result = result.or_else(|| self.size(part));
        }
        self.remember(part, result);
        Some(cost.add(own))
    }

    /// What one form of a function costs, with its arguments, and how big its result is if that is told. None if it is
    /// not known here.
    fn function(
        &mut self,
        part: &IdedExpr,
        call: &Call<'_>,
        costs: &[Range],
    ) -> Option<(Range, Option<Range>)> {
        let sum = costs.iter().fold(Range::ZERO, |sum, cost| sum.add(*cost));
        if let Some((cost, size)) = call.of_library(&self.sizes) {
            return Some((cost.add(sum), size));
        }
        match (call.name, call.arguments, costs) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR, _, [left, _]) => {
                Some((Range { min: left.min, max: sum.max }, None))
            }
            (operators::CONDITIONAL, [_, yes, no], [condition, first, second]) => {
                let entries = (self.entry(yes.expression), self.entry(no.expression));
                if let (Some(yes), Some(no)) = entries {
                    self.entries.insert(part.id, yes.union(no));
                }
                let size = yes.size_or_unknown().union(no.size_or_unknown());
                Some((condition.add(first.union(*second)), Some(size)))
            }
            (operators::ADD, [left, right], _) if call.joins() => {
                let entries = (self.entry(left.expression), self.entry(right.expression));
                if let (Some(left), Some(right)) = entries {
                    self.entries.insert(part.id, left.union(right));
                }
                let size = left.size_or_unknown().add(right.size_or_unknown());
                let cost = if call.container().is_some() { Range::ONE } else { size.read() };
                Some((cost.add(sum), Some(size)))
            }
            _ => call.of_language().map(|(cost, size)| (cost.add(sum), size)),
        }
    }

    /// `optional.of(…)`: a function whose name has a dot.
    fn qualified(&self, call: &CallExpr) -> Option<String> {
        let Expr::Ident(prefix) = &call.target.as_ref()?.expr else { return None };
        let name = format!("{prefix}.{}", call.func_name);
        let is_variable =
            self.local(prefix).is_some() || matches!(prefix.as_str(), "self" | "oldSelf");
        (!is_variable && FUNCTIONS.contains_key(name.as_str())).then_some(name)
    }

    fn part<'e>(&mut self, expression: &'e IdedExpr) -> Part<'e> {
        let (path, ty) = (self.path(expression), self.ty(expression));
        Part { expression, path, ty, size: self.size(expression) }
    }

    fn push(&mut self, name: &str, local: Local) {
        self.locals.entry(name.to_owned()).or_default().push(local);
    }

    fn pop(&mut self, name: &str) {
        if let Some(stack) = self.locals.get_mut(name) {
            stack.pop();
        }
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.get(name)?.last()
    }

    fn of_variable(&self, part: &IdedExpr) -> Option<&Local> {
        match &part.expr {
            Expr::Ident(name) => self.local(name),
            _ => None,
        }
    }

    fn ty(&self, part: &IdedExpr) -> Ty {
        self.types.get(&part.id).cloned().unwrap_or(Ty::Dyn)
    }

    fn path(&self, part: &IdedExpr) -> Vec<String> {
        match self.of_variable(part) {
            Some(local) => local.path.clone(),
            None => self.paths.get(&part.id).cloned().unwrap_or_default(),
        }
    }

    fn entry(&self, part: &IdedExpr) -> Option<Entry> {
        let own = self.entries.get(&part.id).copied();
        own.or_else(|| self.of_variable(part)?.entry)
    }

    fn remember(&mut self, part: &IdedExpr, size: Option<Range>) {
        self.computed.extend(size.map(|size| (part.id, size)));
    }

    fn size_or_unknown(&mut self, part: &IdedExpr) -> Range {
        self.size(part).unwrap_or(Range::UNKNOWN)
    }

    /// How big a value is, as far as is known (`computeSize`).
    fn size(&mut self, part: &IdedExpr) -> Option<Range> {
        if let Some(known) = self.computed.get(&part.id) {
            return Some(*known);
        }
        if let Some(written) = written(part) {
            return Some(Range::fixed(written));
        }
        if let Some(allowed) = self.sizes.of(&self.path(part)) {
            self.computed.insert(part.id, allowed);
            return Some(allowed);
        }
        match is_scalar(&self.ty(part)) {
            true => Some(Range::ONE),
            false => self.of_variable(part)?.size,
        }
    }
}

/// The size of what is written down as it is.
fn written(part: &IdedExpr) -> Option<u64> {
    let size = match &part.expr {
        Expr::Literal(LiteralValue::String(text)) => text.inner().chars().count(),
        Expr::Literal(LiteralValue::Bytes(bytes)) => bytes.inner().len(),
        Expr::Literal(_) => 1,
        Expr::List(list) => list.elements.len(),
        Expr::Map(map) => map.entries.len(),
        _ => return None,
    };
    Some(size as u64)
}

/// Whether all values of a type are of one size.
fn is_scalar(ty: &Ty) -> bool {
    const SCALARS: [&str; 6] =
        ["bool", "double", "int", "uint", "google.protobuf.Duration", "google.protobuf.Timestamp"];
    match ty {
        Ty::Plain(name) => SCALARS.contains(&&**name),
        Ty::Optional(inner) => is_scalar(inner),
        _ => false,
    }
}

/// The forms of a function that its receiver and its arguments fit.
fn fitting(
    name: &str,
    receiver: Option<&Part<'_>>,
    arguments: &[Part<'_>],
) -> Vec<&'static Overload> {
    let given: Vec<&Ty> = receiver.into_iter().chain(arguments).map(|part| &part.ty).collect();
    let all = FUNCTIONS.get(name).map_or(&[][..], Vec::as_slice);
    let fits = |overload: &&Overload| {
        let mut bound = Bindings::new();
        let mut pairs = overload.arguments.iter().zip(&given);
        overload.member == receiver.is_some()
            && overload.arguments.len() == given.len()
            && pairs.all(|(wanted, given)| goes(wanted, given, &mut bound))
    };
    all.iter().filter(fits).collect()
}

#[cfg(test)]
mod tests;
