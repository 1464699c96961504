//! What containers say, and how commands end in them, as the user wants it.
//!
//! Not here: answers that change with time or number, bytes that come after each other, an attach that lasts as long
//! as its container, and somebody who listens on a forwarded port.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::process::{Ending, Output};
use crate::{verbs::selector::Labels, world::meta};

/// The last word of a command that stands for any further words.
const ANY_WORDS: &str = "**";

/// What some containers answer. All that is left out matches everything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Answer {
    /// Pods: `namespace/name`, or `name` in any namespace; `*` stands for any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// Pods by their labels, as in `kubectl --selector`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Containers; `*` stands for any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// What such a container has written to its log, all of it when it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logs: Option<String>,
    /// A command, word by word; `*` stands for any text in a word, a last word `**` for any further words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// Whether it is about attaching to the container.
    #[serde(default, skip_serializing_if = "is_default")]
    pub attach: bool,
    /// What the command exits with; 0 without.
    #[serde(default, skip_serializing_if = "is_default")]
    pub exit_code: u8,
    /// What the command writes, or is seen by one who attaches.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stdout: String,
    /// The same on standard error.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stderr: String,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Answer {
    /// Errors: what does not fit together in it.
    fn check(&self) -> Result<Labels, String> {
        let runs = self.command.is_some() || self.attach;
        if !runs && self.logs.is_none() {
            return Err("it answers nothing: give logs, command or attach".to_owned());
        }
        if !runs && (!is_default(&self.stdout) || !is_default(&self.stderr)) {
            return Err("stdout and stderr are those of a command, or of attach: true".to_owned());
        }
        if self.command.is_none() && self.exit_code != 0 {
            return Err("exitCode is that of a command".to_owned());
        }
        if self.command.as_ref().is_some_and(Vec::is_empty) {
            return Err("command is empty: [\"**\"] stands for any".to_owned());
        }
        let selector = self.selector.as_deref().unwrap_or("");
        Labels::parse(selector).map_err(|refusal| format!("selector: {}", refusal.message))
    }

    fn is_for(&self, pod: &Value, container: &str) -> bool {
        let named = self.pod.as_deref().is_none_or(|pattern| match pattern.split_once('/') {
            Some((namespace, name)) => {
                fits(namespace, meta(pod, "namespace")) && fits(name, meta(pod, "name"))
            }
            None => fits(pattern, meta(pod, "name")),
        });
        named && self.container.as_deref().is_none_or(|pattern| fits(pattern, container))
    }

    fn is_command(&self, words: &[&str]) -> bool {
        let Some(patterns) = &self.command else { return false };
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        let (patterns, more) = match &patterns[..] {
            [first @ .., ANY_WORDS] => (first, true),
            all => (all, false),
        };
        let enough = words.len() == patterns.len() || (more && words.len() > patterns.len());
        enough && patterns.iter().zip(words).all(|(pattern, word)| fits(pattern, word))
    }

    fn output(&self, ending: Ending) -> Output {
        Output { stdout: self.stdout.clone(), stderr: self.stderr.clone(), ending }
    }
}

/// Answers in their order: of those that match, the first one counts.
#[derive(Debug, Clone, Default)]
pub struct Answers(Vec<(Answer, Labels)>);

impl Answers {
    /// Checks them.
    ///
    /// # Errors
    /// Which one is wrong (from 0), and why.
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Result<Answers, (usize, String)> {
        let checked = answers.into_iter().enumerate().map(|(index, answer)| {
            let labels = answer.check().map_err(|why| (index, why))?;
            Ok((answer, labels))
        });
        checked.collect::<Result<_, _>>().map(Answers)
    }

    fn of<'a>(&'a self, pod: &Value, container: &str) -> impl Iterator<Item = &'a Answer> {
        let fitting = self
            .0
            .iter()
            .filter(move |(answer, labels)| answer.is_for(pod, container) && labels.matches(pod));
        fitting.map(|(answer, _)| answer)
    }

    /// The log of a container.
    pub(crate) fn log(&self, pod: &Value, container: &str) -> &str {
        self.of(pod, container).find_map(|answer| answer.logs.as_deref()).unwrap_or("")
    }

    /// What a command comes to, if somebody has said.
    pub(crate) fn exec(&self, pod: &Value, container: &str, command: &[&str]) -> Option<Output> {
        let answer = self.of(pod, container).find(|answer| answer.is_command(command))?;
        Some(answer.output(match answer.exit_code {
            0 => Ending::Success,
            code => Ending::Exit {
                code,
                why: format!("error executing command [{}], exit code {code}", command.join(" ")),
            },
        }))
    }

    /// What one sees who attaches, if somebody has said.
    pub(crate) fn attach(&self, pod: &Value, container: &str) -> Option<Output> {
        let answer = self.of(pod, container).find(|answer| answer.attach)?;
        Some(answer.output(Ending::Success))
    }
}

/// Whether a text is what a pattern says, in which `*` stands for any text.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or("");
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(answers: Value) -> Result<Answers, (usize, String)> {
        Answers::new(serde_json::from_value::<Vec<Answer>>(answers).expect("answers"))
    }

    #[test]
    fn patterns() {
        let check = |pattern: &str, text: &str, expect: bool| {
            assert_eq!(fits(pattern, text), expect, "{pattern} {text}");
        };
        check("a", "a", true);
        check("a", "ab", false);
        check("", "", true);
        check("*", "", true);
        check("a*", "abc", true);
        check("*c", "abc", true);
        check("a*c", "ac", true);
        check("a*bc", "abbc", true);
        check("a*a", "a", false);
        check("a*b*c", "aXbYc", true);
        check("a*b*c", "acb", false);
    }

    #[test]
    fn the_first_that_fits_answers() {
        let answers = read(json!([
            {"pod": "shop/db-*", "container": "pg", "command": ["pg_isready"], "exitCode": 2},
            {"selector": "app=db,tier!=x", "command": ["sh", "-c", "echo *"], "stdout": "told\n"},
            {"pod": "db-0", "command": ["pg_isready", "**"], "stdout": "any\n"},
            {"pod": "db-0", "logs": "ready\n"},
            {"logs": "other\n", "attach": true, "stdout": "seen"},
        ]))
        .expect("right ones");
        let pod = |namespace: &str, name: &str| {
            let labels = json!({"app": "db"});
            json!({"metadata": {"namespace": namespace, "name": name, "labels": labels}})
        };
        let (shop, other) = (pod("shop", "db-0"), pod("other", "db-0"));
        let exec = |pod: &Value, container: &str, command: &[&str]| {
            let output = answers.exec(pod, container, command)?;
            Some((output.stdout, matches!(output.ending, Ending::Success)))
        };
        let told = |text: &str, well: bool| Some((text.to_owned(), well));
        assert_eq!(exec(&shop, "pg", &["pg_isready"]), told("", false));
        assert_eq!(exec(&shop, "pg", &["pg_isready", "-q"]), told("any\n", true));
        assert_eq!(exec(&shop, "c", &["pg_isready"]), told("any\n", true));
        assert_eq!(exec(&other, "pg", &["pg_isready"]), told("any\n", true));
        assert_eq!(exec(&other, "c", &["sh", "-c", "echo 1"]), told("told\n", true));
        assert_eq!(exec(&other, "c", &["sh", "-c"]), None);
        assert_eq!(answers.log(&shop, "c"), "ready\n");
        assert_eq!(answers.log(&pod("shop", "web"), "c"), "other\n");
        assert_eq!(
            answers.attach(&shop, "c").map(|output| output.stdout),
            told("seen", true).map(|it| it.0)
        );
        assert_eq!(Answers::default().log(&shop, "c"), "");
    }

    #[test]
    fn what_does_not_fit_together_is_told() {
        let check = |answer: Value, expect: &str| {
            let (index, why) = read(json!([{"logs": ""}, answer])).expect_err("a wrong one");
            assert_eq!(index, 1);
            assert!(why.contains(expect), "{why}");
        };
        check(json!({"pod": "a"}), "answers nothing");
        check(json!({"logs": "a", "stdout": "b"}), "stdout and stderr");
        check(json!({"attach": true, "exitCode": 1}), "exitCode");
        check(json!({"command": []}), "command is empty");
        check(json!({"logs": "a", "selector": "a in b"}), "selector: ");
    }
}
