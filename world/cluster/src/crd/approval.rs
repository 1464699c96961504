//! That a type of a group of upstream's own was agreed upon, or says that it wasn't (`validateAPIApproval`, KEP-1111).

use serde_json::Value;

use super::text;
use crate::schema::{
    FieldError,
    keywords::{invalid, required},
};

const ANNOTATION: &str = "api-approved.kubernetes.io";

/// What an annotation says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Missing,
    Bypassed,
    Approved,
    Invalid,
}

/// The error of a definition that has no approval; none if it had none before.
pub(super) fn error(crd: &Value, old: Option<&Value>) -> Option<FieldError> {
    let group = text(&crd["spec"], "group");
    let below = |domain: &str| {
        group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    if !below("k8s.io") && !below("kubernetes.io") {
        return None;
    }
    let given = annotation(crd);
    let state = state(given);
    if old.is_some_and(|old| self::state(annotation(old)) == state) {
        return None;
    }
    let field = format!("metadata.annotations[{ANNOTATION}]");
    let asked = format!("protected groups must have approval annotation {ANNOTATION:?}");
    let why = "see https://github.com/kubernetes/enhancements/pull/1111";
    match state {
        State::Bypassed | State::Approved => None,
        State::Missing => Some(required(&field, format!("{asked}, {why}"))),
        State::Invalid => {
            let detail = format!(
                "{asked} with either a URL or a reason starting with \"unapproved\", {why}"
            );
            Some(invalid(&field, &Value::from(given), &detail))
        }
    }
}

fn annotation(crd: &Value) -> &str {
    text(&crd["metadata"]["annotations"], ANNOTATION)
}

/// `GetAPIApprovalState`
fn state(annotation: &str) -> State {
    let url = annotation.split_once("://").is_some_and(|(scheme, rest)| {
        let host = rest.split(['/', '?']).next().unwrap_or("");
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        let scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(letters);
        scheme
            && !host.is_empty()
            && !annotation.contains(|letter: char| letter.is_control() || letter == ' ')
    });
    match annotation {
        "" => State::Missing,
        _ if annotation.starts_with("unapproved") => State::Bypassed,
        _ if url => State::Approved,
        _ => State::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn groups_of_upstream_need_an_approval() {
        let crd = |group: &str, annotation: Option<&str>| {
            let annotations = annotation.map(|given| json!({(ANNOTATION): given}));
            json!({"metadata": {"annotations": annotations}, "spec": {"group": group}})
        };
        let check = |crd: &Value, old: Option<&Value>, expect: Option<&str>| {
            assert_eq!(error(crd, old).map(|error| error.to_string()).as_deref(), expect, "{crd}");
        };
        let missing = "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have \
                       approval annotation \"api-approved.kubernetes.io\", see \
                       https://github.com/kubernetes/enhancements/pull/1111";
        let wrong = "metadata.annotations[api-approved.kubernetes.io]: Invalid value: \"yes\": protected groups must \
                     have approval annotation \"api-approved.kubernetes.io\" with either a URL or a reason starting \
                     with \"unapproved\", see https://github.com/kubernetes/enhancements/pull/1111";
        check(&crd("foo.k8s.io", None), None, Some(missing));
        check(&crd("kubernetes.io", None), None, Some(missing));
        check(&crd("foo.notk8s.io", None), None, None);
        check(&crd("foo.k8s.io", Some("yes")), None, Some(wrong));
        check(&crd("foo.k8s.io", Some("unapproved, for a test")), None, None);
        check(&crd("foo.k8s.io", Some("https://github.com/a/b")), None, None);
        check(&crd("foo.k8s.io", None), Some(&crd("foo.k8s.io", None)), None);
        check(
            &crd("foo.k8s.io", None),
            Some(&crd("foo.k8s.io", Some("unapproved"))),
            Some(missing),
        );
    }
}
