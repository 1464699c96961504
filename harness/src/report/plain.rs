//! Keeps what steers a terminal or reorders a line out of everything that is written for people: logs, objects and
//! files of strangers may hold escape sequences.

use std::borrow::Cow;

/// The same text with such characters as pictures (`␛`), where there are ones, or as `�`. Lines and tabs stay.
pub fn text(text: &str) -> Cow<'_, str> {
    match text.contains(steers) {
        true => Cow::Owned(
            text.chars().map(|char| if steers(char) { picture(char) } else { char }).collect(),
        ),
        false => Cow::Borrowed(text),
    }
}

fn steers(char: char) -> bool {
    let reorders = matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    reorders || (char.is_control() && !matches!(char, '\n' | '\t'))
}

fn picture(char: char) -> char {
    match u32::from(char) {
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '␡',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn nothing_is_left_that_steers() {
        for (given, expect) in [
            ("a\tb\nc äß✓", "a\tb\nc äß✓"),
            ("\u{1b}[2J\u{7}", "␛[2J␇"),
            ("a\rb\u{8}\u{7f}", "a␍b␈␡"),
            ("\u{9b}31m\u{202e}x", "\u{fffd}31m\u{fffd}x"),
        ] {
            assert_eq!(text(given), expect);
        }
    }
}
