//! Names of actions as TLC writes them: `Name`, or `Name(value, ..)`.
//!
//! Parameters of such a name have no names of their own.

use std::fmt::{self, Display, Formatter};

use super::{Action, Param, error::Problem, literal::Cursor};

/// TLC's name for a next-state relation that it did not take apart.
const UNNAMED: [&str; 2] = ["Action", "UnnamedAction"];

/// Reads a name from `cursor`; none if TLC had none.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Option<Action>, Problem> {
    cursor.skip_space();
    // Names of other modules have `!` in them, those of Quint `::`.
    let is_name = |c: char| c.is_alphanumeric() || "_!:.-$".contains(c);
    let end = cursor.rest().find(|c| !is_name(c)).unwrap_or(cursor.rest().len());
    let name = cursor.take(end);
    if name.is_empty() {
        return Err(cursor.expected("the name of an action"));
    }
    let values = if cursor.rest().starts_with('(') {
        cursor.take(1);
        cursor.items(")")?
    } else {
        Vec::new()
    };
    let params = values.into_iter().map(|value| Param { name: None, value }).collect();
    Ok(named(name, params))
}

/// The action `name`, unless that says that there is no name.
pub(super) fn named(name: &str, params: Vec<Param>) -> Option<Action> {
    (!name.is_empty() && !UNNAMED.contains(&name)).then(|| Action { name: name.to_owned(), params })
}

/// The name with the values of the parameters, as TLC writes it. Names of parameters are left out.
impl Display for Action {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)?;
        if self.params.is_empty() {
            return Ok(());
        }
        for (at, param) in self.params.iter().enumerate() {
            write!(out, "{}{}", if at == 0 { "(" } else { "," }, param.value)?;
        }
        out.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::Value;

    #[test]
    fn names_are_read_and_printed() {
        let check = |text: &str, name: &str, values: &[Value]| {
            let mut cursor = Cursor::new(text, 1, 1);
            let action = read(&mut cursor).unwrap().unwrap();
            assert_eq!((action.name.as_str(), cursor.rest()), (name, ""));
            assert_eq!(
                action.params.iter().map(|p| &p.value).collect::<Vec<_>>(),
                values.iter().collect::<Vec<_>>()
            );
            assert_eq!(action.to_string(), text);
        };
        check("Start", "Start", &[]);
        check("Give(p1,1)", "Give", &[Value::Model("p1".to_owned()), Value::Int(1)]);
        check("Say(\"a(b,\",<<>>)", "Say", &["a(b,".into(), Value::seq([])]);
        check("Inner!Next", "Inner!Next", &[]);
    }

    #[test]
    fn no_name_is_none() {
        for text in UNNAMED {
            assert_eq!(read(&mut Cursor::new(text, 1, 1)), Ok(None));
        }
        assert!(read(&mut Cursor::new("(1)", 1, 1)).is_err());
        assert!(read(&mut Cursor::new("A(1", 1, 1)).is_err());
    }
}
