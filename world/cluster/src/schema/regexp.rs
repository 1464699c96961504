//! Regular expressions as Go reads them (`regexp/syntax`).

/// What Go says of a pattern that it can't read. What it would say is known for the expressions that it has no place for;
/// else the words are those of Rust's parser.
pub(crate) fn go_regexp_problem(pattern: &str) -> Option<String> {
    let error = regex::Regex::new(pattern).err()?;
    let ahead = ["(?=", "(?!"].into_iter().filter_map(|start| Some((pattern.find(start)?, start)));
    let behind = ["(?<=", "(?<!"].into_iter().filter_map(|start| pattern.find(start));
    let why = match (ahead.min(), behind.min()) {
        (Some((at, start)), behind) if behind.is_none_or(|behind| at < behind) => {
            format!("invalid or unsupported Perl syntax: `{start}`")
        }
        (_, Some(at)) => format!("invalid named capture: `{}`", &pattern[at..]),
        _ => error.to_string().lines().last().unwrap_or_default().replace("error: ", ""),
    };
    Some(format!("error parsing regexp: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_go_has_no_place_for() {
        let check = |pattern: &str, expect: Option<&str>| {
            assert_eq!(go_regexp_problem(pattern).as_deref(), expect, "{pattern}");
        };
        check("^a+$", None);
        check("a(?=x)", Some("error parsing regexp: invalid or unsupported Perl syntax: `(?=`"));
        check(
            "(?!x)(?<=y)",
            Some("error parsing regexp: invalid or unsupported Perl syntax: `(?!`"),
        );
        check("a(?<=y)b", Some("error parsing regexp: invalid named capture: `(?<=y)b`"));
    }
}
