//! The names of actions whose definitions begin with `\/`.
//!
//! The crate's parser puts a definition in the place of its name, and the crate finds the name again by comparing whole
//! alternatives of `Next` with definitions. Of `A == \/ B1 \/ B2` it so sees the alternatives `B1` and `B2`, of which no
//! definition is. TLC names a step by the innermost definition around it (`tlc2/tool/impl/Tool.java`, `getActions`), and
//! so do we.

use std::sync::Arc;

use tla_checker::ast::{DefinitionMap, Expr};

/// The same `Next`, in which such alternatives have labels.
pub(super) fn named(next: Expr, definitions: &DefinitionMap) -> Expr {
    alternatives(next, None, definitions)
}

fn alternatives(of: Expr, around: Option<&Arc<str>>, definitions: &DefinitionMap) -> Expr {
    let name = definition(&of, definitions).or(around);
    match of {
        Expr::Or(one, other) => Expr::Or(
            Box::new(alternatives(*one, name, definitions)),
            Box::new(alternatives(*other, name, definitions)),
        ),
        // They have names of their own.
        Expr::Var(_) | Expr::FnCall(..) | Expr::LabeledAction(..) => of,
        of => match around {
            Some(name) if definition(&of, definitions).is_none() => {
                Expr::LabeledAction(name.clone(), Box::new(of))
            }
            _ => of,
        },
    }
}

/// The definition that this is the body of.
fn definition<'d>(of: &Expr, definitions: &'d DefinitionMap) -> Option<&'d Arc<str>> {
    let is =
        |(parameters, body): &(Vec<Arc<str>>, Arc<Expr>)| parameters.is_empty() && **body == *of;
    definitions.iter().find(|(_, definition)| is(definition)).map(|(name, _)| name)
}
