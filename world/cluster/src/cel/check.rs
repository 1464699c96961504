//! The type check of an expression (cel-go's `checker`), against what the schema declares.
//!
//! It refuses what certainly doesn't fit, with cel-go's messages; what it isn't sure of it leaves to the run.
//! On the way it rewrites what the interpreter has not or does otherwise: selections of optionals become
//! optional look-ups, those of what may be null are told from `false`, and the macros of [`super::macros`] are expanded.

use kube_cel::cel::{
    IdedExpr,
    common::ast::{
        CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr, operators,
    },
};

use super::{
    cost::Types,
    macros, made,
    place::{Part, Places},
    run,
    types::{Bindings, FUNCTIONS, Ty, declared, goes, property, resolved},
};
use crate::schema::Schema;

/// Checks one expression.
pub(super) struct Checker<'a> {
    schema: &'a Schema,
    /// Variables in sight, the nearest last.
    scope: Vec<(String, Ty)>,
    places: Places<'a>,
    /// Whether it can make objects and patches: [`made`].
    makes: bool,
    /// How many calls of `format` we are in, whose lists may be mixed.
    mixed: usize,
    /// Where the last checked part stands.
    last: usize,
    /// Of the parts as they were parsed.
    types: Types,
    errors: Vec<(usize, String)>,
}

/// How a call's operator is written.
fn written(function: &str) -> Option<&'static str> {
    Some(match function {
        operators::LOGICAL_AND => "&&",
        operators::LOGICAL_OR => "||",
        operators::EQUALS => "==",
        operators::NOT_EQUALS => "!=",
        operators::LESS_EQUALS => "<=",
        operators::GREATER_EQUALS => ">=",
        operators::LESS => "<",
        operators::GREATER => ">",
        operators::ADD => "+",
        operators::SUBSTRACT | operators::NEGATE => "-",
        operators::MULTIPLY => "*",
        operators::DIVIDE => "/",
        operators::MODULO => "%",
        operators::LOGICAL_NOT => "!",
        operators::CONDITIONAL => "?",
        operators::INDEX | operators::OPT_INDEX => "[",
        _ => return None,
    })
}

impl<'a> Checker<'a> {
    pub(super) fn new(
        schema: &'a Schema,
        source: &'a str,
        variables: Vec<(String, Ty)>,
    ) -> Checker<'a> {
        Checker {
            schema,
            scope: variables,
            places: Places::new(source),
            makes: false,
            mixed: 0,
            last: 0,
            types: Types::new(),
            errors: Vec::new(),
        }
    }

    /// The same, for an expression that can make objects and patches.
    pub(super) fn making(self) -> Checker<'a> {
        Checker { makes: true, ..self }
    }

    /// The type of an expression, which is made ready to run. Errors: all that doesn't fit, in cel-go's form.
    pub(super) fn run(self, expression: &mut IdedExpr) -> Result<Ty, String> {
        self.run_all(expression).map(|(ty, _)| ty)
    }

    /// The same, and the types of all parts.
    pub(super) fn run_all(mut self, expression: &mut IdedExpr) -> Result<(Ty, Types), String> {
        let ty = self.check(expression);
        if self.errors.is_empty() {
            return Ok((ty, self.types));
        }
        self.errors.sort();
        let all = self.errors.iter().map(|(at, message)| self.places.describe(*at, message));
        Err(all.collect::<Vec<_>>().join("\n"))
    }

    fn wrong(&mut self, at: usize, message: String) -> Ty {
        self.errors.push((at, message));
        Ty::Dyn
    }

    fn check(&mut self, expression: &mut IdedExpr) -> Ty {
        let id = expression.id;
        let ty = self.type_of(expression);
        // What macros made has no number.
        if id != 0 {
            self.types.insert(id, ty.clone());
        }
        ty
    }

    fn type_of(&mut self, expression: &mut IdedExpr) -> Ty {
        match &mut expression.expr {
            Expr::Literal(literal) => {
                self.last = self.places.next(Part::Literal);
                Ty::plain(match literal {
                    LiteralValue::Boolean(_) => "bool",
                    LiteralValue::Bytes(_) => "bytes",
                    LiteralValue::Double(_) => "double",
                    LiteralValue::Int(_) => "int",
                    LiteralValue::Null => "null_type",
                    LiteralValue::String(_) => "string",
                    LiteralValue::UInt(_) => "uint",
                })
            }
            Expr::Ident(name) => {
                let name = name.clone();
                self.ident(&name)
            }
            Expr::Select(_) => self.select(expression),
            Expr::Call(_) => self.call(expression),
            Expr::List(list) => {
                let items = list.elements.iter_mut().map(|item| {
                    let ty = self.check(item);
                    (ty, self.last)
                });
                let items = items.collect();
                Ty::list(self.common(items))
            }
            Expr::Map(map) => {
                let (mut keys, mut values) = (Vec::new(), Vec::new());
                for entry in &mut map.entries {
                    if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                        let key = self.check(&mut entry.key);
                        keys.push((key, self.last));
                        let value = self.check(&mut entry.value);
                        values.push((value, self.last));
                    }
                }
                Ty::Map(Box::new(self.common(keys)), Box::new(self.common(values)))
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Struct(_) => self.structure(expression),
            Expr::Unspecified => Ty::Dyn,
        }
    }

    /// `JSONPatch{…}` and `Object.spec{…}`, which become calls of what makes them.
    fn structure(&mut self, expression: &mut IdedExpr) -> Ty {
        let Expr::Struct(of) = &mut expression.expr else { return Ty::Dyn };
        let name = of.type_name.clone();
        let mut parts = name.split('.');
        let first = parts.next().unwrap_or("").to_owned();
        let brace = self.places.next(Part::Ident(first)) + name.chars().count();
        for part in parts {
            self.places.next(Part::Select(part.to_owned()));
        }
        let variable = self.variable(&name).map(Ty::to_string);
        if let Some(ty) = &variable {
            self.wrong(brace, format!("'{ty}' is not a type"));
        } else if !self.makes || !made::is_made(&name) {
            return self.undeclared(brace, &name);
        }
        for entry in &mut of.entries {
            let EntryExpr::StructField(field) = &mut entry.expr else { continue };
            let name_of = field.field.clone();
            let colon = self.places.next(Part::Ident(name_of.clone())) + name_of.chars().count();
            let given = self.check(&mut field.value);
            let wanted = match made::field(&name, &name_of) {
                _ if variable.is_some() => {
                    self.wrong(colon, format!("unexpected failed resolution of '{name}'"));
                    continue;
                }
                None => {
                    self.wrong(colon, format!("undefined field '{name_of}'"));
                    continue;
                }
                Some(wanted) if field.optional => wanted.optional(),
                Some(wanted) => wanted,
            };
            if !goes(&wanted, &given, &mut Bindings::new()) {
                let detail = format!("is '{wanted}' but provided type is '{given}'");
                self.wrong(colon, format!("expected type of field '{name_of}' {detail}"));
            }
        }
        self.last = brace;
        expression.expr = made::call(std::mem::take(of));
        Ty::plain(&name)
    }

    fn undeclared(&mut self, at: usize, name: &str) -> Ty {
        self.wrong(at, format!("undeclared reference to '{name}' (in container '')"))
    }

    fn variable(&self, name: &str) -> Option<&Ty> {
        self.scope.iter().rev().find(|(own, _)| own == name).map(|(_, ty)| ty)
    }

    fn ident(&mut self, name: &str) -> Ty {
        let at = self.places.next(Part::Ident(name.to_owned()));
        self.last = at;
        if let Some(ty) = self.variable(name) {
            return ty.clone();
        }
        match run::TYPES.contains(&name) {
            true => Ty::Type(Box::new(match name {
                "list" => Ty::list(Ty::Dyn),
                "map" => Ty::Map(Box::new(Ty::Dyn), Box::new(Ty::Dyn)),
                "type" => Ty::Type(Box::new(Ty::Dyn)),
                plain => Ty::plain(plain),
            })),
            false => self.undeclared(at, name),
        }
    }

    fn select(&mut self, expression: &mut IdedExpr) -> Ty {
        let Expr::Select(select) = &mut expression.expr else { return Ty::Dyn };
        if let Some((name, ty)) = self.qualified_variable(select) {
            expression.expr = Expr::Ident(name);
            return ty;
        }
        let operand = self.check(&mut select.operand);
        let mut at = self.places.next(Part::Select(select.field.clone()));
        if select.test {
            at = self.places.next(Part::Call("has".to_owned()));
        }
        self.last = at;
        let ty = self.field(&operand, &select.field, at);
        let test = select.test;
        if let Ty::Optional(_) = operand {
            let SelectExpr { operand, field, .. } = std::mem::take(select);
            let found = macros::optional_field(*operand, &field);
            expression.expr = match test {
                true => macros::member("hasValue", found),
                false => found,
            };
        } else if (operand == Ty::Dyn || is_made(&operand)) && !test {
            let SelectExpr { operand, field, .. } = std::mem::take(select);
            expression.expr = macros::selected(*operand, &field);
        }
        if test { Ty::plain("bool") } else { ty }
    }

    /// `authorizer.requestResource`: a variable whose name has a dot. Whether it is there is never asked.
    fn qualified_variable(&mut self, select: &SelectExpr) -> Option<(String, Ty)> {
        let Expr::Ident(prefix) = &select.operand.expr else { return None };
        let name = format!("{prefix}.{}", select.field);
        let ty = self.variable(&name).filter(|_| !select.test)?.clone();
        self.places.next(Part::Ident(prefix.clone()));
        self.last = self.places.next(Part::Select(select.field.clone()));
        Some((name, ty))
    }

    /// The type of a field of a value of this type.
    fn field(&mut self, operand: &Ty, name: &str, at: usize) -> Ty {
        let schema = self.schema;
        let found = match operand {
            Ty::Dyn | Ty::Parameter(_) => Some(Ty::Dyn),
            Ty::Map(_, value) => Some((**value).clone()),
            Ty::Optional(inner) => return self.field(&inner.clone(), name, at).optional(),
            Ty::Metadata if matches!(name, "name" | "generateName") => Some(Ty::plain("string")),
            Ty::Metadata => None,
            Ty::Object(_, true) if matches!(name, "apiVersion" | "kind") => {
                Some(Ty::plain("string"))
            }
            Ty::Object(_, true) if name == "metadata" => Some(Ty::Metadata),
            Ty::Object(id, _) => property(schema.node(*id), name)
                .and_then(|(_, id)| declared(schema, id, schema.node(id).embedded_resource)),
            // Types of functions, which have no fields, are objects that nobody has declared.
            Ty::Plain(name) if name.starts_with("kubernetes.") => {
                return self.wrong(at, format!("unexpected failed resolution of '{name}'"));
            }
            Ty::Plain(of) if self.makes && made::is_made(of) => made::field(of, name),
            Ty::Plain(_) | Ty::List(_) | Ty::Type(_) => {
                return self
                    .wrong(at, format!("type '{operand}' does not support field selection"));
            }
        };
        found.unwrap_or_else(|| self.wrong(at, format!("undefined field '{name}'")))
    }

    fn comprehension(&mut self, comprehension: &mut ComprehensionExpr) -> Ty {
        let range = self.check(&mut comprehension.iter_range);
        self.places.next(Part::Ident(comprehension.iter_var.clone()));
        let item = match &range {
            Ty::List(item) => (**item).clone(),
            Ty::Map(key, _) => (**key).clone(),
            Ty::Dyn => Ty::Dyn,
            other => {
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.wrong(0, message)
            }
        };
        let accumulator = self.check(&mut comprehension.accu_init);
        let depth = self.scope.len();
        self.scope.push((comprehension.accu_var.clone(), accumulator));
        self.scope.push((comprehension.iter_var.clone(), item));
        self.check(&mut comprehension.loop_cond);
        let step = self.check(&mut comprehension.loop_step);
        self.scope.truncate(depth);
        self.scope.push((comprehension.accu_var.clone(), step));
        let result = self.check(&mut comprehension.result);
        self.scope.truncate(depth);
        result
    }

    fn call(&mut self, expression: &mut IdedExpr) -> Ty {
        let Expr::Call(call) = &mut expression.expr else { return Ty::Dyn };
        if let Some(expanded) = macros::expand(call) {
            match expanded {
                Ok(expanded) => *expression = expanded,
                Err(name) => return self.undeclared(0, &name),
            }
            return self.check(expression);
        }
        if call.func_name == operators::OPT_SELECT
            && let [operand, IdedExpr { expr: Expr::Literal(LiteralValue::String(field)), .. }] =
                &mut call.args[..]
        {
            let field = field.inner().to_owned();
            let ty = self.check(operand);
            let at = self.places.next(Part::Select(field.clone()));
            self.last = at;
            call.func_name = operators::OPT_INDEX.to_owned();
            return self.field(&ty, &field, at).optional();
        }
        if let Some(qualified) = self.qualified(call) {
            return self.arguments(&qualified, call, false);
        }
        let name = call.func_name.clone();
        let ty = self.arguments(&name, call, true);
        macros::as_method(call);
        ty
    }

    /// `optional.of(…)`: a function whose name has a dot.
    fn qualified(&mut self, call: &CallExpr) -> Option<String> {
        let Expr::Ident(prefix) = &call.target.as_ref()?.expr else { return None };
        let name = format!("{prefix}.{}", call.func_name);
        let known = FUNCTIONS.contains_key(&*name) && (self.makes || prefix != "jsonpatch");
        if self.variable(prefix).is_some() || !known {
            return None;
        }
        self.places.next(Part::Ident(prefix.clone()));
        Some(name)
    }

    /// Checks receiver and arguments, and finds the signatures that fit.
    fn arguments(&mut self, name: &str, call: &mut CallExpr, receiver: bool) -> Ty {
        let (mut given, mut places) = (Vec::new(), Vec::new());
        let member = receiver && call.target.is_some();
        if let Some(target) = call.target.as_mut().filter(|_| member) {
            given.push(self.check(target));
        }
        let infix = written(name);
        let mut at = 0;
        // An infix operator stands behind its first operand, anything else before all arguments.
        let behind = usize::from(infix.is_some() && call.args.len() > 1);
        self.mixed += usize::from(name == "format");
        for (index, argument) in call.args.iter_mut().enumerate() {
            if index == behind {
                at = self.place(call.func_name.as_str(), infix);
            }
            given.push(self.check(argument));
            places.push(self.last);
        }
        self.mixed -= usize::from(name == "format");
        if call.args.len() <= behind {
            at = self.place(call.func_name.as_str(), infix);
        }
        self.last = at;
        if matches!(name, operators::LOGICAL_AND | operators::LOGICAL_OR) {
            for (ty, at) in given.iter().zip(places) {
                if !matches!(ty, Ty::Dyn) && !ty.is("bool") {
                    self.wrong(at, format!("expected type 'bool' but found '{ty}'"));
                }
            }
            return Ty::plain("bool");
        }
        if let Some(wrong) = misread(name, call) {
            return self.wrong(places.last().copied().unwrap_or(at), wrong);
        }
        let Some(overloads) = FUNCTIONS.get(name) else { return self.undeclared(at, name) };
        let mut results: Vec<Ty> = Vec::new();
        for overload in overloads {
            let mut bound = Bindings::new();
            let fits = overload.member == member
                && overload.arguments.len() == given.len()
                && overload
                    .arguments
                    .iter()
                    .zip(&given)
                    .all(|(wanted, given)| goes(wanted, given, &mut bound));
            if fits {
                let result = resolved(&overload.result, &bound);
                if !results.contains(&result) {
                    results.push(result);
                }
            }
        }
        match &results[..] {
            [] => {
                let message = format!(
                    "found no matching overload for '{name}' applied to '{}'",
                    shown(&given, member)
                );
                self.wrong(at, message)
            }
            [one] => one.clone(),
            _ => Ty::Dyn,
        }
    }

    /// The type of all items of a literal, with their places: one type, or some that are not known.
    fn common(&mut self, items: Vec<(Ty, usize)>) -> Ty {
        let mut items = items.into_iter().filter(|(ty, _)| *ty != Ty::Dyn);
        let Some((first, _)) = items.next() else { return Ty::Dyn };
        for (ty, at) in items {
            if self.mixed > 0 {
                return Ty::Dyn;
            }
            if !goes(&first, &ty, &mut Bindings::new()) {
                self.wrong(at, format!("expected type '{first}' but found '{ty}'"));
            }
        }
        first
    }

    fn place(&mut self, function: &str, infix: Option<&'static str>) -> usize {
        match infix {
            Some(operator) => self.places.next(Part::Operator(operator)),
            None => self.places.next(Part::Call(function.to_owned())),
        }
    }
}

/// `(int, string)`, or `string.(int)` for a receiver.
fn shown(given: &[Ty], member: bool) -> String {
    let texts: Vec<String> = given.iter().map(Ty::to_string).collect();
    match (member, &texts[..]) {
        (true, [receiver, arguments @ ..]) => format!("{receiver}.({})", arguments.join(", ")),
        _ => format!("({})", texts.join(", ")),
    }
}

/// What is said of a literal argument that its function can't read (cel-go's AST validators).
fn misread(name: &str, call: &CallExpr) -> Option<String> {
    let [IdedExpr { expr: Expr::Literal(LiteralValue::String(text)), .. }] = &call.args[..] else {
        return None;
    };
    let readable = match name {
        "duration" | "timestamp" => run::reads(name, text.inner()),
        "matches" => regex::Regex::new(text.inner()).is_ok(),
        _ => true,
    };
    (!readable).then(|| format!("invalid {name} argument"))
}

/// Whether values of this type are what [`made`] makes.
fn is_made(ty: &Ty) -> bool {
    matches!(ty, Ty::Plain(name) if made::is_made(name))
}

/// An expression without a place.
pub(super) fn made(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}
