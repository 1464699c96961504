//! Names that are not known, and what may have been meant by them.

/// How alike two names must be for one to be meant by the other, from 0 to 1 (Jaro-Winkler).
const ALIKE: f64 = 0.8;

/// Says that a name is none of those known, in one sentence: `unknown field "setle"; did you mean "settle"?`
pub fn unknown(what: &str, found: &str, known: &[&str]) -> String {
    let alike = known.iter().map(|name| (strsim::jaro_winkler(found, name), name));
    let nearest = alike.max_by(|(some, _), (other, _)| some.total_cmp(other));
    match nearest {
        Some((alike, name)) if alike >= ALIKE => {
            format!("unknown {what} {found:?}; did you mean {name:?}?")
        }
        Some(_) => format!("unknown {what} {found:?}; known here: {}", known.join(", ")),
        None => format!("unknown {what} {found:?}; none is allowed here"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_been_meant_is_said() {
        let check = |found: &str, known: &[&str], expect: &str| {
            assert_eq!(unknown("field", found, known), format!("unknown field {expect}"));
        };
        check("setle", &["assert", "settle"], "\"setle\"; did you mean \"settle\"?");
        check("x", &["assert", "settle"], "\"x\"; known here: assert, settle");
        check("x", &[], "\"x\"; none is allowed here");
    }
}
