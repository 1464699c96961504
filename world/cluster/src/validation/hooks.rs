//! Configurations of webhooks (`pkg/apis/admissionregistration/validation`, `apiserver/pkg/util/webhook`).
//!
//! What old versions allowed (any side effects, a name twice) stays allowed where it was stored, as upstream has it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    Asked,
    check::{Check, list, text},
    selector::label_selector,
};
use crate::{
    cel::Question,
    verbs::{dns_1035_problem, subdomain_problem},
};

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const URL_FORM: &str = "; desired format: https://host[/path]";

/// `Some` and `Unknown` are left from v1beta1.
const SIDE_EFFECTS: [&str; 4] = ["None", "NoneOnDryRun", "Some", "Unknown"];
const NO_SIDE_EFFECTS: [&str; 2] = ["None", "NoneOnDryRun"];

pub(super) fn configuration(check: &mut Check<'_>, old: Option<&Value>, new: &Value, asked: Asked) {
    let before = || old.map_or(&[][..], |old| list(old, "webhooks"));
    let harmless =
        |hook: &Value| NO_SIDE_EFFECTS.iter().any(|known| hook["sideEffects"] == **known);
    let effects: &[&str] = match asked == Asked::Now && before().iter().all(harmless) {
        true => &NO_SIDE_EFFECTS,
        false => &SIDE_EFFECTS,
    };
    let known: BTreeSet<&str> = before().iter().map(|hook| text(hook, "name")).collect();
    let unique = asked == Asked::Now && known.len() == before().len();
    let mut names = BTreeSet::new();
    for (index, hook) in list(new, "webhooks").iter().enumerate() {
        let at = format!("webhooks[{index}]");
        webhook(check, hook, &at, effects);
        review_versions(check, hook, &format!("{at}.admissionReviewVersions"));
        let name = text(hook, "name");
        if !name.is_empty() && !names.insert(name) && unique {
            check.duplicate_key(&at, "name", &json!(name));
        }
    }
}

fn webhook(check: &mut Check<'_>, hook: &Value, at: &str, effects: &[&str]) {
    qualified(check, text(hook, "name"), &format!("{at}.name"));
    for (index, one) in list(hook, "rules").iter().enumerate() {
        rule(check, one, &format!("{at}.rules[{index}]"));
    }
    let choices: [(&str, &[&str]); 4] = [
        ("failurePolicy", &["Fail", "Ignore"]),
        ("matchPolicy", &["Equivalent", "Exact"]),
        ("sideEffects", effects),
        ("reinvocationPolicy", &["IfNeeded", "Never"]),
    ];
    let (before, after) = choices.split_at(3);
    for (field, known) in before {
        let at = format!("{at}.{field}");
        match hook.get(field).filter(|value| !value.is_null()) {
            None if *field == "sideEffects" => {
                check.required(&at, &format!("must specify one of {}", effects.join(", ")));
            }
            given => choice(check, given, &at, known),
        }
    }
    let seconds = hook["timeoutSeconds"].as_i64().unwrap_or(1);
    if !(1..=30).contains(&seconds) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        check.invalid(&format!("{at}.timeoutSeconds"), &json!(seconds), detail);
    }
    for (field, known) in after {
        choice(check, hook.get(field), &format!("{at}.{field}"), known);
    }
    for field in ["namespaceSelector", "objectSelector"] {
        label_selector(check, &hook[field], &format!("{at}.{field}"));
    }
    client(check, &hook["clientConfig"], &format!("{at}.clientConfig"));
    let at = format!("{at}.matchConditions");
    conditions(check, list(hook, "matchConditions"), &at, &Question::compile);
}

pub(super) fn choice(check: &mut Check<'_>, given: Option<&Value>, at: &str, known: &[&str]) {
    if let Some(given) = given.filter(|given| !known.iter().any(|one| given == one)) {
        check.one_of_in_order(at, given, known);
    }
}

/// `IsFullyQualifiedName`
fn qualified(check: &mut Check<'_>, name: &str, at: &str) {
    if name.is_empty() {
        check.required(at, "");
    } else if let Some(why) = subdomain_problem(name) {
        check.invalid(at, &json!(name), &why);
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        check.invalid(at, &json!(name), detail);
    }
}

pub(super) fn rule(check: &mut Check<'_>, rule: &Value, at: &str) {
    let listed = |field: &str| list(rule, field);
    let alone = |check: &mut Check<'_>, field: &str, what: &str| {
        let items = listed(field);
        if items.len() > 1 && items.iter().any(|item| item == "*") {
            let detail = format!("if '*' is present, must not specify other {what}");
            check.invalid(&format!("{at}.{field}"), &rule[field], &detail);
        }
    };
    let some = |check: &mut Check<'_>, field: &str| {
        if listed(field).is_empty() {
            check.required(&format!("{at}.{field}"), "");
        }
    };
    some(check, "operations");
    alone(check, "operations", "operations");
    for (index, operation) in listed("operations").iter().enumerate() {
        choice(check, Some(operation), &format!("{at}.operations[{index}]"), &OPERATIONS);
    }
    some(check, "apiGroups");
    alone(check, "apiGroups", "API groups");
    some(check, "apiVersions");
    alone(check, "apiVersions", "API versions");
    for (index, version) in listed("apiVersions").iter().enumerate() {
        if version == "" {
            check.required(&format!("{at}.apiVersions[{index}]"), "");
        }
    }
    resources(check, rule, at);
    let scope = rule.get("scope").filter(|scope| !scope.is_null());
    choice(check, scope, &format!("{at}.scope"), &["*", "Cluster", "Namespaced"]);
}

fn resources(check: &mut Check<'_>, rule: &Value, at: &str) {
    let at = format!("{at}.resources");
    let named: Vec<&str> =
        list(rule, "resources").iter().map(|item| item.as_str().unwrap_or("")).collect();
    if named.is_empty() {
        check.required(&at, "");
    }
    let (mut all_below, mut below_all) = (BTreeSet::new(), BTreeSet::new());
    let mut bare = false;
    for (index, item) in named.iter().enumerate() {
        let at = format!("{at}[{index}]");
        if item.is_empty() {
            check.required(&at, "");
            continue;
        }
        let Some((plural, subresource)) = item.split_once('/') else {
            bare = *item != "*";
            continue;
        };
        if all_below.contains(plural) {
            let detail = format!("if '{plural}/*' is present, must not specify {item}");
            check.invalid(&at, &json!(item), &detail);
        }
        if below_all.contains(subresource) {
            let detail = format!("if '*/{subresource}' is present, must not specify {item}");
            check.invalid(&at, &json!(item), &detail);
        }
        if subresource == "*" {
            all_below.insert(plural);
        }
        if plural == "*" {
            below_all.insert(subresource);
        }
    }
    if named.len() > 1 && named.contains(&"*/*") {
        let detail = "if '*/*' is present, must not specify other resources";
        check.invalid(&at, &rule["resources"], detail);
    }
    if named.contains(&"*") && bare {
        let detail = "if '*' is present, must not specify other resources without subresources";
        check.invalid(&at, &rule["resources"], detail);
    }
}

pub(super) fn client(check: &mut Check<'_>, config: &Value, at: &str) {
    let url = config.get("url").filter(|url| !url.is_null());
    let service = config.get("service").filter(|service| !service.is_null());
    match (url, service) {
        (None, None) | (Some(_), Some(_)) => {
            check.required(at, "exactly one of url or service is required");
        }
        (Some(url), None) => web_address(check, url.as_str().unwrap_or(""), &format!("{at}.url")),
        (None, Some(service)) => self::service(check, service, &format!("{at}.service")),
    }
}

fn web_address(check: &mut Check<'_>, url: &str, at: &str) {
    let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = rest.split_once("://").unwrap_or(("", rest));
    let authority = if scheme.is_empty() { "" } else { rest.split('/').next().unwrap_or("") };
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if scheme != "https" {
        let detail = format!("'https' is the only allowed URL scheme{URL_FORM}");
        check.invalid(at, &json!(scheme), &detail);
    }
    if host.is_empty() {
        check.invalid(at, &json!(""), &format!("host must be specified{URL_FORM}"));
    }
    let parts = [
        (user, "user information is not permitted in the URL"),
        (fragment, "fragments are not permitted in the URL"),
        (query, "query parameters are not permitted in the URL"),
    ];
    for (part, detail) in parts.into_iter().filter(|(part, _)| !part.is_empty()) {
        check.invalid(at, &json!(part), detail);
    }
}

fn service(check: &mut Check<'_>, service: &Value, at: &str) {
    // Upstream hands over name and namespace in each other's place.
    for (field, other) in [("name", "namespace"), ("namespace", "name")] {
        if text(service, other).is_empty() {
            check.required(&format!("{at}.{field}"), "");
        }
    }
    let port = service["port"].as_i64().unwrap_or(443);
    if !(1..=65535).contains(&port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        check.invalid(&format!("{at}.port"), &json!(port), detail);
    }
    let path = text(service, "path");
    let at = format!("{at}.path");
    let shown = json!(path);
    if path.is_empty() || path == "/" {
        return;
    }
    if path == "//" {
        return check.invalid(&at, &shown, "segment[0] may not be empty");
    }
    if !path.starts_with('/') {
        check.invalid(&at, &shown, "must start with a '/'");
    }
    let rest: String = path.chars().skip(1).collect();
    for (index, step) in rest.strip_suffix('/').unwrap_or(&rest).split('/').enumerate() {
        if step.is_empty() {
            check.invalid(&at, &shown, &format!("segment[{index}] may not be empty"));
        } else if let Some(why) = subdomain_problem(step) {
            check.invalid(&at, &shown, &format!("segment[{index}]: {why}"));
        }
    }
}

/// How an expression is compiled: what it may name differs.
pub(super) type Compile<'a> = &'a dyn Fn(&str) -> Result<Question, String>;

pub(super) fn conditions(
    check: &mut Check<'_>,
    conditions: &[Value],
    at: &str,
    compile: Compile<'_>,
) {
    let mut names = BTreeSet::new();
    for (index, condition) in conditions.iter().enumerate() {
        let at = format!("{at}[{index}]");
        let expression = text(condition, "expression").trim();
        let field = format!("{at}.expression");
        match expression {
            "" => check.required(&field, ""),
            expression => self::expression(check, expression, &field, Some("bool"), compile),
        }
        let (name, field) = (text(condition, "name"), format!("{at}.name"));
        if name.is_empty() {
            check.required(&field, "");
        } else {
            for why in crate::verbs::qualified_name_problems(name) {
                check.invalid(&field, &json!(name), &why);
            }
            if !names.insert(name) {
                check.duplicate_key(&at, "name", &json!(name));
            }
        }
    }
}

/// An expression that has to compile, and to result in a type if one is named.
pub(super) fn expression(
    check: &mut Check<'_>,
    source: &str,
    at: &str,
    result: Option<&str>,
    compile: Compile<'_>,
) {
    match (compile(source), result) {
        (Err(why), _) => check.invalid(at, &json!(source), &format!("compilation failed: {why}")),
        (Ok(question), Some(result)) if !question.results_in(result) => {
            let detail = format!("must evaluate to {result} but got {}", question.result());
            check.invalid(at, &json!(source), &detail);
        }
        (Ok(_), _) => {}
    }
}

fn review_versions(check: &mut Check<'_>, hook: &Value, at: &str) {
    let versions = list(hook, "admissionReviewVersions");
    if versions.is_empty() {
        return check.required(at, "must specify one of v1, v1beta1");
    }
    let mut seen = BTreeSet::new();
    for (index, version) in versions.iter().enumerate() {
        let at = format!("{at}[{index}]");
        let name = version.as_str().unwrap_or("");
        if !seen.insert(name) {
            check.invalid(&at, version, "duplicate version");
        } else if let Some(why) = dns_1035_problem(name) {
            check.invalid(&at, version, why);
        }
    }
    if !seen.contains("v1") && !seen.contains("v1beta1") {
        let versions = &hook["admissionReviewVersions"];
        check.invalid(at, versions, "must include at least one of v1, v1beta1");
    }
}
