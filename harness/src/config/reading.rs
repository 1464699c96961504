//! Reading the files that people write: of which kind one is, and what is wrong with it, in one sentence with its place.

use std::path::Path;

use serde::{Deserialize, de::DeserializeOwned};
use serde_saphyr::Error;

use crate::exit::{Exit, Expected};

/// What every such file begins with.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
}

/// The text of a file that the user names.
///
/// # Errors
/// It can't be read: exit 64.
pub fn text(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).map_err(|error| {
        Expected::error(Exit::Usage, format!("cannot read {}: {error}", path.display()))
    })
}

/// Reads a file of this kind.
///
/// # Errors
/// A file of another kind or version, or a wrong one (exit 64), with file, line and column.
pub fn read<T: DeserializeOwned>(text: &str, path: &Path, kind: &str) -> anyhow::Result<T> {
    let usage = |message: String| Expected::error(Exit::Usage, message);
    let shown = path.display();
    if let Ok(head) = serde_saphyr::from_str::<Head>(text)
        && let Some(what) = other_kind(&head, kind, path)
    {
        return Err(usage(format!("{shown}: {what}")));
    }
    serde_saphyr::from_str(text)
        .map_err(|error| usage(format!("{shown}{}", explained(text, &error))))
}

/// A file with nothing but a `spec` besides its head.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document<T> {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(rename = "metadata", default)]
    _metadata: serde_json::Value,
    spec: T,
}

/// The `spec` of a file of this kind, which has no settings but those.
///
/// # Errors
/// See [`read`].
pub fn spec<T: DeserializeOwned>(text: &str, path: &Path, kind: &str) -> anyhow::Result<T> {
    read::<Document<T>>(text, path, kind).map(|document| document.spec)
}

/// What it is instead.
fn other_kind(head: &Head, kind: &str, path: &Path) -> Option<String> {
    let (version, path) = (plans::replay::API_VERSION, path.display());
    if head.kind == kind && head.api_version == version {
        return None;
    }
    let instead = match head.kind.as_str() {
        // What is wrong with it stands at a place.
        "" => return None,
        _ if head.kind == kind => {
            format!(
                "apiVersion {:?} is not known here: write apiVersion: {version}",
                head.api_version
            )
        }
        "Campaign" => format!("this is a campaign: `trommel run {path}`"),
        "Replay" => format!("this is a replay file: `trommel replay {path}`"),
        "Test" => "this is a workload, which a campaign names in spec.workload.file".to_owned(),
        other => format!("kind {other:?} is no {kind}: write kind: {kind}, apiVersion: {version}"),
    };
    Some(instead)
}

/// `:6:3: unknown field "workloads" …`.
fn explained(text: &str, error: &Error) -> String {
    let at = error.location().map(|at| format!(":{}:{}", at.line(), at.column()));
    let what = match error.without_snippet() {
        Error::SerdeUnknownField { field, expected, .. } => {
            workloads::unknown("field", field, expected)
        }
        Error::SerdeUnknownVariant { variant, expected, .. } => {
            workloads::unknown("value", variant, expected)
        }
        other => of_another_shape(text, other),
    };
    format!("{}: {what}", at.unwrap_or_default())
}

/// A value of another shape than its field has, with the field where its line tells it; else what the parser says.
fn of_another_shape(text: &str, error: &Error) -> String {
    let said = error.to_string();
    let said = said.lines().next().unwrap_or_default();
    // The place stands before it already.
    let said = said.split(" at line ").next().unwrap_or_default();
    let line =
        error.location().and_then(|at| text.lines().nth((at.line() as usize).checked_sub(1)?));
    let (field, value) = line.and_then(|line| line.split_once(':')).unwrap_or_default();
    let field = field.trim().trim_start_matches("- ");
    let plain = !field.is_empty() && field.chars().all(|c| c.is_ascii_alphanumeric());
    let subject = if plain { format!("{field:?} must be") } else { "there must be".to_owned() };
    match said {
        "expected sequence start" => format!("{subject} a list, such as [{}]", item(value.trim())),
        "expected mapping start" => {
            format!("{subject} a map of fields, such as {{name: value}}, not {:?}", value.trim())
        }
        "expected string scalar" => format!("{subject} a single value, not a list or a map"),
        _ => match said.strip_prefix("invalid ") {
            Some("bool" | "boolean") => format!("{subject} true or false"),
            Some(kind) if kind.starts_with(['u', 'i']) && kind[1..].parse::<u8>().is_ok() => {
                format!("{subject} a whole number, not {:?}", value.trim())
            }
            _ => said.to_owned(),
        },
    }
}

/// What stands where a list is to be, as an item of it: `{"a"}` is a set in other languages.
fn item(value: &str) -> &str {
    let inner = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    inner.filter(|inner| !inner.contains(": ")).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CampaignFile;

    fn check(text: &str, expect: &str) {
        let error = read::<CampaignFile>(text, Path::new("a.yaml"), "Campaign").expect_err("wrong");
        assert_eq!(error.to_string(), expect);
    }

    const HEAD: &str = "apiVersion: trommel.dev/v1alpha1\nkind: Campaign\nmetadata: {name: a}\n";

    #[test]
    fn what_is_wrong_is_said_in_one_sentence_with_its_place() {
        let spec = |spec: &str| format!("{HEAD}spec:\n{spec}");
        check(
            &spec("  workloads: {file: w.yaml}\n"),
            "a.yaml:5:3: unknown field \"workloads\"; did you mean \"workload\"?",
        );
        check(
            &format!("{HEAD}speed: 1\n"),
            "a.yaml:4:1: unknown field \"speed\"; did you mean \"spec\"?",
        );
        check(
            &format!("{HEAD}x: 1\n"),
            "a.yaml:4:1: unknown field \"x\"; known here: apiVersion, kind, metadata, spec",
        );
    }

    #[test]
    fn values_of_another_shape_are_told_with_their_field() {
        let spec = |spec: &str| format!("{HEAD}spec:\n{spec}");
        check(
            &spec("  subject:\n    command: ./ctl.py\n"),
            "a.yaml:6:14: \"command\" must be a list, such as [./ctl.py]",
        );
        check(
            &spec("  accept: {\"configmaps/default/a .data\"}\n"),
            "a.yaml:5:11: \"accept\" must be a list, such as [\"configmaps/default/a .data\"]",
        );
        check(
            &spec("  budget: 10m\n"),
            "a.yaml:5:11: \"budget\" must be a map of fields, such as {name: value}, not \"10m\"",
        );
        check(
            &spec("  depth: [1]\n"),
            "a.yaml:5:10: \"depth\" must be a single value, not a list or a map",
        );
        check(
            &spec("  depth: some\n"),
            "a.yaml:5:10: \"depth\" must be a whole number, not \"some\"",
        );
    }

    #[test]
    fn files_of_another_kind_are_named() {
        check(
            "kind: Replay\nfinding: a\n",
            "a.yaml: this is a replay file: `trommel replay a.yaml`",
        );
        check(
            "kind: Test\n",
            "a.yaml: this is a workload, which a campaign names in spec.workload.file",
        );
        check(
            "apiVersion: trommel.dev/v9\nkind: Campaign\n",
            "a.yaml: apiVersion \"trommel.dev/v9\" is not known here: write apiVersion: trommel.dev/v1alpha1",
        );
        check(
            "apiVersion: v1\nkind: Pod\n",
            "a.yaml: kind \"Pod\" is no Campaign: write kind: Campaign, apiVersion: trommel.dev/v1alpha1",
        );
    }
}
