//! What the source of a Go operator tells: whether webhooks can be turned off, and the types of other projects that it
//! works on. Those have their definitions in the modules that it requires, which a cluster needs as it needs its own.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// The environment variable that kubebuilder's `main.go` asks before it sets webhooks up; their certificates come from
/// cert-manager there.
pub const WEBHOOKS: &str = "ENABLE_WEBHOOKS";

/// A folder with a `go.mod`.
pub struct GoProject {
    root: PathBuf,
}

/// A type by its group and its plural name.
type Named = (String, String);

impl GoProject {
    /// The one that a folder lies in.
    pub fn around(folder: &Path) -> Option<GoProject> {
        let root = folder.ancestors().find(|above| above.join("go.mod").is_file())?;
        Some(GoProject { root: root.to_owned() })
    }

    /// Whether its program serves webhooks unless [`WEBHOOKS`] is `false`.
    pub fn may_turn_off_webhooks(&self) -> bool {
        let asks = |file: &str| {
            fs::read_to_string(self.root.join(file)).is_ok_and(|text| text.contains(WEBHOOKS))
        };
        asks("cmd/main.go") || asks("main.go")
    }

    /// Definitions of the types that these rules of RBAC let it watch, and that `own` does not define; of the modules that
    /// `go.mod` requires itself, as far as they are in Go's module cache. And the types without a definition.
    pub fn other_types(&self, rules: &[Value], own: &[Value]) -> (Vec<Value>, Vec<String>) {
        let known: BTreeSet<Named> = own.iter().filter_map(defined).collect();
        let mut wanted: BTreeSet<Named> = watched(rules).difference(&known).cloned().collect();
        let mut found = Vec::new();
        for module in self.modules() {
            if wanted.is_empty() {
                break;
            }
            for crd in definitions(&module) {
                if defined(&crd).is_some_and(|name| wanted.remove(&name)) {
                    found.push(crd);
                }
            }
        }
        (found, wanted.into_iter().map(|(group, plural)| format!("{plural}.{group}")).collect())
    }

    /// Folders of the modules that are required directly.
    fn modules(&self) -> Vec<PathBuf> {
        let text = fs::read_to_string(self.root.join("go.mod")).unwrap_or_default();
        let Some(cache) = module_cache() else { return vec![] };
        required(&text)
            .map(|(path, version)| cache.join(format!("{}@{version}", escaped(path))))
            .collect()
    }
}

/// Group and plural name of the type that a definition defines.
fn defined(crd: &Value) -> Option<Named> {
    let text = |at: &str| crd.pointer(at).and_then(Value::as_str).map(str::to_owned);
    (crd["kind"] == "CustomResourceDefinition").then_some(())?;
    Some((text("/spec/group")?, text("/spec/names/plural")?))
}

/// The custom types that ClusterRoles and Roles among these objects allow to be watched.
fn watched(objects: &[Value]) -> BTreeSet<Named> {
    let texts = |value: &Value| -> Vec<String> {
        let items = value.as_array().into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let rules = objects.iter().filter_map(|object| object["rules"].as_array()).flatten();
    let watching = rules.filter(|rule| texts(&rule["verbs"]).iter().any(|verb| verb == "watch"));
    let named = watching.flat_map(|rule| {
        let plurals = texts(&rule["resources"]);
        texts(&rule["apiGroups"]).into_iter().flat_map(move |group| {
            plurals.clone().into_iter().map(move |plural| (group.clone(), plural))
        })
    });
    named.filter(|(group, plural)| is_custom(group) && !plural.contains(['/', '*'])).collect()
}

/// Groups of Kubernetes itself have no dot, or end in `k8s.io`, which is protected (KEP-2337).
fn is_custom(group: &str) -> bool {
    group.contains('.') && !group.ends_with(".k8s.io")
}

/// `path version` of each line of `go.mod` that requires a module for the project's own sake.
fn required(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter(|line| !line.contains("// indirect")).filter_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word == "require");
        let (path, version) = (words.next()?, words.next()?);
        (path.contains('.') && version.starts_with('v')).then_some((path, version))
    })
}

/// Capital letters of a path, as the module cache writes them (`golang.org/x/mod/module`, `EscapePath`).
fn escaped(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for letter in path.chars() {
        if letter.is_ascii_uppercase() {
            out.push('!');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

/// `go env GOMODCACHE`, without Go.
fn module_cache() -> Option<PathBuf> {
    let variable =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || Some(variable("HOME")?.join("go"));
    variable("GOMODCACHE").or_else(|| Some(variable("GOPATH").or_else(home)?.join("pkg/mod")))
}

/// The definitions in a module's YAML files. What is a template, and no YAML yet, is passed over.
fn definitions(module: &Path) -> Vec<Value> {
    let mut found = Vec::new();
    let mut folders = vec![module.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "yaml" || end == "yml") {
                found.extend(definitions_of(&path));
            }
        }
    }
    found
}

fn definitions_of(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    if !text.contains("kind: CustomResourceDefinition") {
        return vec![];
    }
    let objects = workloads::manifest::load(file, None).unwrap_or_default();
    objects.into_iter().map(|manifest| manifest.object).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn types_of_others_are_those_of_rbac() {
        let role = |group: &str, resources: &[&str], verbs: &[&str]| json!({"kind": "ClusterRole", "rules": [{"apiGroups": [group], "resources": resources, "verbs": verbs}]});
        let rules = [
            role("cert-manager.io", &["certificates", "certificates/status"], &["get", "watch"]),
            role("cert-manager.io", &["issuers"], &["get"]),
            role("apps", &["deployments"], &["watch"]),
            role("policy.k8s.io", &["budgets"], &["watch"]),
            role("example.com", &["*"], &["watch"]),
        ];
        let named = BTreeSet::from([("cert-manager.io".to_owned(), "certificates".to_owned())]);
        assert_eq!(watched(&rules), named);
    }

    #[test]
    fn requirements_are_read_from_go_mod() {
        let text = "module a.b/c\n\ngo 1.26.0\n\nrequire k8s.io/api v0.36.0\n\nrequire (\n\
            \tgithub.com/Azure/sdk v1.2.0\n\tcel.dev/expr v0.25.1 // indirect\n)\n";
        let found: Vec<(&str, &str)> = required(text).collect();
        assert_eq!(found, [("k8s.io/api", "v0.36.0"), ("github.com/Azure/sdk", "v1.2.0")]);
        assert_eq!(escaped("github.com/Azure/sdk"), "github.com/!azure/sdk");
    }

    #[test]
    fn webhooks_are_known_by_main() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("config/crd");
        fs::create_dir_all(&below).unwrap();
        assert!(GoProject::around(&below).is_none());
        fs::write(dir.path().join("go.mod"), "module a.b/c\n").unwrap();
        let project = GoProject::around(&below).unwrap();
        assert!(!project.may_turn_off_webhooks());
        fs::write(dir.path().join("main.go"), "if os.Getenv(\"ENABLE_WEBHOOKS\") != \"false\" {")
            .unwrap();
        assert!(project.may_turn_off_webhooks());
        let dir_rules =
            [json!({"rules": [{"apiGroups": ["a.io"], "resources": ["bs"], "verbs": ["watch"]}]})];
        let crd = json!({"kind": "CustomResourceDefinition", "spec": {"group": "a.io", "names": {"plural": "bs"}}});
        assert_eq!(project.other_types(&dir_rules, &[crd]), (vec![], vec![]));
        assert_eq!(project.other_types(&dir_rules, &[]), (vec![], vec!["bs.a.io".to_owned()]));
    }
}
