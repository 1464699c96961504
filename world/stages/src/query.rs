//! jq, as selectors and `…From` use it (upstream: gojq; here: jaq).

use jaq_core::{
    Compiler, Ctx, Native, Vars,
    compile::Filter,
    data,
    load::{Arena, File, Loader},
    unwrap_valr,
};
use jaq_json::{Num, Val, read};
use serde_json::Value;

type Data = data::JustLut<Val>;

/// A program.
pub(crate) struct Query {
    filter: Filter<Native<Data>>,
}

/// What a program would find in another place or another run: not for a stage.
const ELSEWHERE: [&str; 9] =
    ["now", "env", "$ENV", "input", "inputs", "input_filename", "halt", "halt_error", "localtime"];

impl Query {
    /// Errors: what is wrong with it.
    pub(crate) fn parse(code: &str) -> Result<Query, String> {
        if let Some(word) = words(code).into_iter().find(|word| ELSEWHERE.contains(&&**word)) {
            return Err(format!(
                "`{word}` is no part of the object: leave it out, so that the stage is the same in each run"
            ));
        }
        let defs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
        let funs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let arena = Arena::default();
        let modules = Loader::new(defs)
            .load(&arena, File { code, path: () })
            .map_err(|_| format!("`{code}` is not a jq program"))?;
        let compiled = Compiler::default().with_funs(funs).compile(modules);
        let filter = compiled.map_err(|errors| {
            let unknown = errors.iter().flat_map(|(_, errors)| errors);
            let unknown: Vec<&str> = unknown.map(|(name, _)| *name).collect();
            format!("`{code}` uses what jq does not have: {}", unknown.join(", "))
        })?;
        Ok(Query { filter })
    }

    /// All that it finds but nulls; none where it fails, as with a field of what is no object.
    pub(crate) fn find(&self, input: &Val) -> Vec<Found> {
        let context = Ctx::<Data>::new(&self.filter.lut, Vars::new([]));
        let mut found = vec![];
        for value in self.filter.id.run((context, input.clone())).map(unwrap_valr) {
            match value {
                Ok(Val::Null) => {}
                Ok(value) => found.push(Found::of(value)),
                Err(_) => return vec![],
            }
        }
        found
    }
}

/// Something found that is not null.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Found {
    Text(String),
    Bool(bool),
    Number(f64),
    /// An object or a list.
    Other,
}

impl Found {
    fn of(value: Val) -> Found {
        match value {
            Val::Bool(is) => Found::Bool(is),
            Val::TStr(bytes) => Found::Text(String::from_utf8_lossy(&bytes).into_owned()),
            Val::Num(Num::Int(n)) => Found::Number(n as f64),
            Val::Num(n) => Found::Number(n.to_string().parse().unwrap_or(f64::NAN)),
            _ => Found::Other,
        }
    }

    /// As `values` of a selector name it.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Found::Text(text) => Some(text.clone()),
            Found::Bool(is) => Some(is.to_string()),
            Found::Number(n) => Some(n.to_string()),
            Found::Other => None,
        }
    }
}

/// An object as queries see it.
pub(crate) fn input(object: &Value) -> Val {
    // serde_json writes what every reader of JSON reads.
    read::parse_single(object.to_string().as_bytes()).unwrap_or_default()
}

/// Names in a program, fields and texts left out.
fn words(code: &str) -> Vec<String> {
    let (mut words, mut word, mut before, mut text) = (vec![], String::new(), ' ', false);
    let mut escaped = false;
    for c in code.chars().chain([' ']) {
        if text {
            text = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            continue;
        }
        if c.is_alphanumeric() || c == '_' || (c == '$' && word.is_empty()) {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            let word = std::mem::take(&mut word);
            if before != '.' {
                words.push(word);
            }
        }
        text = c == '"';
        before = c;
    }
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kwoks_own_queries() {
        let pod = json!({
            "metadata": {"annotations": {"a/b": "5s"}, "ownerReferences": [{"kind": "Job"}]},
            "status": {"conditions": [
                {"type": "Initialized", "status": "False"}, {"type": "Ready", "status": "True"},
            ], "restarts": 3},
        });
        let check = |code: &str, expect: &[&str]| {
            let found = Query::parse(code).expect(code).find(&input(&pod));
            let texts: Vec<String> = found.iter().filter_map(Found::text).collect();
            assert_eq!(texts, expect, "{code}");
        };
        check(r#".status.conditions.[] | select( .type == "Ready" ) | .status"#, &["True"]);
        check(".metadata.ownerReferences.[].kind", &["Job"]);
        check(r#".metadata.annotations["a/b"]"#, &["5s"]);
        check(".metadata.deletionTimestamp", &[]);
        check(".status.initContainerStatuses.[].state.running.startedAt", &[]);
        check(".status.restarts", &["3"]);
        check(".status.conditions | length", &["2"]);
        check(r#".metadata.name | test("x")"#, &[]);
    }

    #[test]
    fn what_is_no_program_says_so() {
        let check = |code: &str, expect: &str| {
            let error = Query::parse(code).err().unwrap_or_default();
            assert!(error.contains(expect), "{code}: {error}");
        };
        check(".a | ", "not a jq program");
        check(".a | nonsense", "nonsense");
        check("now", "`now`");
        assert!(Query::parse(r#".now | select(. == "now")"#).is_ok());
    }
}
