//! `Warning` headers (RFC 7234), as kubectl prints them (`endpoints/filters/warning.go`).

use http::{HeaderMap, HeaderValue, header};

/// As many letters of warnings go into an answer.
const LETTERS_MAX: usize = 4 * 1024;
/// As many letters stay of each where all together have more.
const LETTERS_KEPT: usize = 256;

/// Adds warnings to an answer, each once. Where they are too long together each is cut, and what comes after enough
/// was said is left out.
pub(super) fn add(headers: &mut HeaderMap, warnings: &[String]) {
    for value in values(warnings) {
        headers.append(header::WARNING, value);
    }
}

fn values(warnings: &[String]) -> Vec<HeaderValue> {
    let mut known: Vec<&str> = Vec::new();
    let mut said: Vec<(usize, HeaderValue)> = Vec::new();
    let mut is_cut = false;
    for text in warnings.iter().map(String::as_str).filter(|text| !text.is_empty()) {
        let letters: usize = said.iter().map(|(letters, _)| letters).sum();
        if known.contains(&text) || (is_cut && letters >= LETTERS_MAX) {
            continue;
        }
        known.push(text);
        let Some(new) = value(if is_cut { cut(text) } else { text }) else { continue };
        if is_cut || letters + new.0 <= LETTERS_MAX {
            said.push(new);
        } else {
            is_cut = true;
            said = known.iter().filter_map(|text| value(cut(text))).collect();
        }
    }
    said.into_iter().map(|(_, value)| value).collect()
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(LETTERS_KEPT).map_or(text, |(end, _)| &text[..end])
}

/// A warning's header, with the number of its letters; none for what headers can't say (`NewWarningHeader`).
fn value(text: &str) -> Option<(usize, HeaderValue)> {
    if text.chars().any(char::is_control) {
        return None;
    }
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    let value = HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()).ok()?;
    Some((text.chars().count(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(warnings: &[&str]) -> Vec<String> {
        let warnings: Vec<String> = warnings.iter().map(|&text| text.to_owned()).collect();
        let text = |value: HeaderValue| String::from_utf8(value.as_bytes().to_vec()).unwrap();
        values(&warnings).into_iter().map(text).collect()
    }

    #[test]
    fn warnings_are_told_once_and_quoted() {
        let told = told(&["a \"b\" \\", "", "c", "a \"b\" \\", "two\nlines", "é"]);
        assert_eq!(told, [r#"299 - "a \"b\" \\""#, r#"299 - "c""#, r#"299 - "é""#]);
    }

    #[test]
    fn too_much_is_cut() {
        let long = |letter: &str, times: usize| letter.repeat(times);
        let (a, b) = (long("a", 4000), long("b", 96));
        assert_eq!(told(&[&a, &b]).concat().len(), 4096 + 2 * "299 - \"\"".len());
        let c = long("c", 300);
        let kept = |text: &str| format!("299 - \"{text}\"");
        let cut = [kept(&a[..256]), kept(&b), kept(&c[..256])];
        assert_eq!(told(&[&a, &b, &c]), cut);
        let many: Vec<String> = (10..40).map(|number| format!("{number}{c}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(told(&many).len(), 16, "of 256 letters each");
    }
}
