//! Kivi's own spellings: options of several letters behind one dash, which clap reads as so many options.

use std::ffi::OsString;

/// What Kivi calls an option, and what it is called here.
const SPELLINGS: [(&str, &str); 5] = [
    ("-cn", "--no-violation"),
    ("-log", "--log"),
    ("-ig", "--group"),
    ("-to", "--timeout"),
    ("-si", "--simulate"),
];

/// The command line with the names that options have here; another command's is left as it is.
pub fn rewritten(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<OsString> = arguments.into_iter().collect();
    if all.get(1).is_some_and(|word| word == "model")
        && all.get(2).is_some_and(|word| word == "kivi")
    {
        all[3..].iter_mut().for_each(rewrite);
    }
    all
}

fn rewrite(argument: &mut OsString) {
    let Some(text) = argument.to_str() else { return };
    let (name, value) = text.split_at(text.find('=').unwrap_or(text.len()));
    if let Some((_, here)) = SPELLINGS.iter().find(|(kivi, _)| *kivi == name) {
        *argument = format!("{here}{value}").into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_kivis_options_are_rewritten() {
        let check = |line: &str, expect: &str| {
            let words = rewritten(line.split(' ').map(OsString::from));
            assert_eq!(words, expect.split(' ').map(OsString::from).collect::<Vec<_>>());
        };
        check(
            "trommel model kivi -p d -log -to=5 -o -s 3",
            "trommel model kivi -p d --log --timeout=5 -o -s 3",
        );
        check(
            "trommel model kivi -c c1 -cn -ig 1",
            "trommel model kivi -c c1 --no-violation --group 1",
        );
        check("trommel model kivi -c c1 -si 7", "trommel model kivi -c c1 --simulate 7");
        check("trommel model check -log", "trommel model check -log");
        check("trommel", "trommel");
    }
}
