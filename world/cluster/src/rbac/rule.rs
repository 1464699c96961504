//! A rule, a question, and whether the one answers the other.

use serde_json::{Map, Value, json};
use trace::GroupResource;

/// What somebody wants to do (`authorizer.Attributes`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Attributes {
    pub(crate) verb: String,
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    /// Empty for what lies in none, or in all.
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Of what is no resource; else empty.
    pub(crate) path: String,
}

impl Attributes {
    /// Group and plural name.
    pub(crate) fn served(&self) -> GroupResource {
        GroupResource::new(&self.group, &self.resource)
    }

    fn with_subresource(&self) -> String {
        match self.subresource.as_str() {
            "" => self.resource.clone(),
            subresource => format!("{}/{subresource}", self.resource),
        }
    }

    /// `cannot get resource "pods" in API group "" in the namespace "a"`.
    pub(crate) fn cannot(&self) -> String {
        if !self.path.is_empty() {
            return format!("cannot {} path {:?}", self.verb, self.path);
        }
        let place = match self.namespace.as_str() {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace {namespace:?}"),
        };
        let resource = self.with_subresource();
        format!("cannot {} resource {resource:?} in API group {:?} {place}", self.verb, self.group)
    }
}

/// A `PolicyRule`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Rule {
    pub(crate) verbs: Vec<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) resources: Vec<String>,
    pub(crate) names: Vec<String>,
    pub(crate) urls: Vec<String>,
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|item| item == wanted)
}

fn has_or_all(list: &[String], wanted: &str) -> bool {
    has(list, "*") || has(list, wanted)
}

/// Whether a pattern of paths, perhaps ending in `*`, covers a path or another pattern.
fn covers_url(pattern: &str, url: &str) -> bool {
    let prefix = pattern.strip_suffix('*').map(|prefix| prefix.trim_end_matches('*'));
    pattern == url || prefix.is_some_and(|prefix| url.starts_with(prefix))
}

impl Rule {
    /// Reads it from a role.
    pub(crate) fn read(rule: &Value) -> Rule {
        let list = |field: &str| -> Vec<String> {
            let items = rule.get(field).and_then(Value::as_array).into_iter().flatten();
            items.filter_map(|item| Some(item.as_str()?.to_owned())).collect()
        };
        Rule {
            verbs: list("verbs"),
            groups: list("apiGroups"),
            resources: list("resources"),
            names: list("resourceNames"),
            urls: list("nonResourceURLs"),
        }
    }

    /// As JSON, in the form that reviews show.
    pub(crate) fn shown(&self) -> Value {
        let mut fields = Map::new();
        for (name, list) in [
            ("verbs", &self.verbs),
            ("apiGroups", &self.groups),
            ("resources", &self.resources),
            ("resourceNames", &self.names),
            ("nonResourceURLs", &self.urls),
        ] {
            if !list.is_empty() {
                fields.insert(name.to_owned(), json!(list));
            }
        }
        Value::Object(fields)
    }

    /// Whether it allows what is asked (`RuleAllows`).
    pub(crate) fn allows(&self, asked: &Attributes) -> bool {
        if !has_or_all(&self.verbs, &asked.verb) {
            return false;
        }
        if !asked.path.is_empty() {
            return self.urls.iter().any(|url| covers_url(url, &asked.path));
        }
        has_or_all(&self.groups, &asked.group)
            && self.covers_resource(&asked.with_subresource())
            && (self.names.is_empty() || has(&self.names, &asked.name))
    }

    fn covers_resource(&self, resource: &str) -> bool {
        let every = resource.split_once('/').map(|(_, subresource)| format!("*/{subresource}"));
        has_or_all(&self.resources, resource)
            || every.is_some_and(|every| has(&self.resources, &every))
    }

    /// Whether it allows all that one of [`Rule::atoms`] allows (`ruleCovers`).
    pub(super) fn covers(&self, atom: &Rule) -> bool {
        let all = |own: &[String], wanted: &[String]| {
            has(own, "*") || wanted.iter().all(|item| has(own, item))
        };
        let names = match &atom.names[..] {
            [] => self.names.is_empty(),
            names => self.names.is_empty() || names.iter().all(|name| has(&self.names, name)),
        };
        all(&self.verbs, &atom.verbs)
            && all(&self.groups, &atom.groups)
            && atom.resources.iter().all(|resource| self.covers_resource(resource))
            && names
            && atom.urls.iter().all(|url| self.urls.iter().any(|own| covers_url(own, url)))
    }

    /// The rule taken apart: one verb, group, resource and name each (`BreakdownRule`).
    pub(super) fn atoms(&self) -> Vec<Rule> {
        let mut atoms = Vec::new();
        for verb in &self.verbs {
            let one = |text: &String| vec![text.clone()];
            for group in &self.groups {
                for resource in &self.resources {
                    let atom = Rule {
                        verbs: one(verb),
                        groups: one(group),
                        resources: one(resource),
                        ..Rule::default()
                    };
                    match &self.names[..] {
                        [] => atoms.push(atom),
                        names => atoms.extend(
                            names.iter().map(|name| Rule { names: one(name), ..atom.clone() }),
                        ),
                    }
                }
            }
            let urls = self.urls.iter();
            atoms.extend(urls.map(|url| Rule {
                verbs: one(verb),
                urls: one(url),
                ..Rule::default()
            }));
        }
        atoms
    }

    /// `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}` (`CompactString`).
    pub(super) fn compact(&self) -> String {
        let parts = [
            ("APIGroups", &self.groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.urls),
            ("ResourceNames", &self.names),
            ("Verbs", &self.verbs),
        ];
        let parts = parts.iter().filter(|(_, list)| !list.is_empty());
        let parts: Vec<String> =
            parts.map(|(name, list)| format!("{name}:{}", quoted(list))).collect();
        format!("{{{}}}", parts.join(", "))
    }
}

/// A list as Go prints it with `%q`.
pub(super) fn quoted(list: &[String]) -> String {
    let items: Vec<String> = list.iter().map(|item| format!("{item:?}")).collect();
    format!("[{}]", items.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Rule {
        Rule::read(&serde_json::from_str(text).expect("a rule"))
    }

    fn ask(words: &str) -> Attributes {
        let words: Vec<&str> = words.split(' ').collect();
        let (resource, subresource) = words[2].split_once('/').unwrap_or((words[2], ""));
        Attributes {
            verb: words[0].to_owned(),
            group: words[1].trim_matches('-').to_owned(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            name: words.get(3).unwrap_or(&"").to_string(),
            ..Attributes::default()
        }
    }

    #[test]
    fn rules_allow_what_they_name() {
        let pods =
            rule(r#"{"verbs":["get","list"],"apiGroups":[""],"resources":["pods","pods/log"]}"#);
        let scale = rule(r#"{"verbs":["*"],"apiGroups":["*"],"resources":["*/scale"]}"#);
        let one = rule(
            r#"{"verbs":["update"],"apiGroups":["apps"],"resources":["deployments"],"resourceNames":["a"]}"#,
        );
        let check = |rule: &Rule, words: &str, expect: bool| {
            assert_eq!(rule.allows(&ask(words)), expect, "{words}");
        };
        check(&pods, "get - pods", true);
        check(&pods, "get - pods/log a", true);
        check(&pods, "get - pods/exec a", false);
        check(&pods, "watch - pods", false);
        check(&pods, "get apps pods", false);
        check(&scale, "update apps deployments/scale a", true);
        check(&scale, "update apps deployments a", false);
        check(&one, "update apps deployments a", true);
        check(&one, "update apps deployments b", false);
        check(&one, "update apps deployments", false);
    }

    #[test]
    fn paths_end_in_a_star_or_not() {
        let rule = rule(r#"{"verbs":["get"],"nonResourceURLs":["/api","/apis/*"]}"#);
        let check = |path: &str, expect: bool| {
            let asked = Attributes {
                verb: "get".to_owned(),
                path: path.to_owned(),
                ..Attributes::default()
            };
            assert_eq!(rule.allows(&asked), expect, "{path}");
        };
        check("/api", true);
        check("/api/", false);
        check("/apis/x", true);
        check("/apis", false);
    }
}
