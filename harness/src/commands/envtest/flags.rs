//! Flags as programs of Kubernetes and etcd take them: `--name=value`, `--name value`, `--switch`.

use std::collections::BTreeMap;

/// What a command line said: each flag's values in order. A switch without one is `true`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Given(BTreeMap<String, Vec<String>>);

impl Given {
    /// Reads a command line. `is_switch` says of which flags no value follows. Errors: what is no flag, and a value that
    /// is missing, in pflag's words.
    pub fn read(arguments: &[String], is_switch: impl Fn(&str) -> bool) -> Result<Given, String> {
        let mut given = Given::default();
        let mut rest = arguments.iter().peekable();
        while let Some(word) = rest.next() {
            let flag = word.strip_prefix("--").or_else(|| word.strip_prefix('-'));
            let Some(flag) = flag.filter(|flag| !flag.is_empty()) else {
                return Err(format!("arguments are not known here: {word:?}"));
            };
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None if is_switch(flag) => (flag, "true".to_owned()),
                None => {
                    let value = rest.next_if(|next| !next.starts_with("--"));
                    let missing = || format!("flag needs an argument: --{flag}");
                    (flag, value.cloned().ok_or_else(missing)?)
                }
            };
            given.0.entry(name.to_owned()).or_default().push(value);
        }
        Ok(given)
    }

    /// The names of all flags.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Every value of a flag.
    pub fn all(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// A flag's value: the last that was given. An empty one is as none.
    pub fn one(&self, name: &str) -> Option<&str> {
        self.all(name).last().map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The items of a flag that takes lists, in order.
    pub fn list(&self, name: &str) -> Vec<&str> {
        let items = self.all(name).iter().flat_map(|value| value.split(','));
        items.map(str::trim).filter(|item| !item.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Given, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Given::read(&words, |name| name == "switch" || name == "help")
    }

    #[test]
    fn values_come_behind_an_equals_sign_or_next() {
        let given = read("--a=1 --a 2,3 --switch --b= -v=2 --switch=false").expect("flags");
        assert_eq!(given.all("a"), ["1", "2,3"]);
        assert_eq!(given.one("a"), Some("2,3"));
        assert_eq!(given.list("a"), ["1", "2", "3"]);
        assert_eq!(given.all("switch"), ["true", "false"]);
        assert_eq!((given.one("b"), given.one("v"), given.one("c")), (None, Some("2"), None));
        assert_eq!(given.names().collect::<Vec<_>>(), ["a", "b", "switch", "v"]);
    }

    #[test]
    fn what_is_no_flag_is_told() {
        let check = |line, expect| assert_eq!(read(line), Err(String::from(expect)));
        check("--switch x", "arguments are not known here: \"x\"");
        check("--a --b=1", "flag needs an argument: --a");
        check("--a", "flag needs an argument: --a");
        check("--", "arguments are not known here: \"--\"");
    }
}
