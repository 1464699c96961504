//! Names that become names of files: what a file says there must not lead out of the run folder.

/// Bytes of a name: file systems allow 255, and something is put before and behind it.
const LENGTH_MAX: usize = 200;

/// Whether a name of a campaign or finding can be the name of a folder.
///
/// # Errors
/// Why not, as the end of a sentence.
pub fn check_name(name: &str) -> Result<(), String> {
    let wrong = if name.is_empty() {
        "it is empty".to_owned()
    } else if name.len() > LENGTH_MAX {
        format!("it is longer than {LENGTH_MAX} bytes")
    } else if !name.starts_with(char::is_alphanumeric) {
        "it does not begin with a letter or digit".to_owned()
    } else if let Some(other) = name.chars().find(|char| !is_allowed(*char)) {
        format!("it contains {other:?}")
    } else {
        return Ok(());
    };
    Err(format!(
        "{name:?} can't be the name of a folder: {wrong}; use letters, digits, spaces, `-`, `_` and `.`"
    ))
}

fn is_allowed(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '-' | '_' | '.' | ' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_part_of_a_path() {
        for name in ["a", "bar-foo", "my operator 2", "v1.2_b", "größe", "intermediate-state-3f2a"]
        {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let long = "a".repeat(LENGTH_MAX + 1);
        for name in
            ["", ".", "..", "../../x", "x/../../y", "/etc", "a\0", "a\u{1b}[2J", "-r", &long]
        {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
