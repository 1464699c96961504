//! Manifests: files, folders and globs of Kubernetes objects in YAML or JSON.
//!
//! A folder with a `kustomization.yaml` is rendered ([`kustomize`]). Any other folder is read as `kubectl apply -f` reads
//! it: its `.yaml`, `.yml` and `.json` files in order of their names, not the folders within. `kind: List` is taken apart. Scalars mean what `sigs.k8s.io/yaml`
//! takes them for (see the `scalar` module): `yes` is a boolean, `0644` is octal.

use std::path::{Path, PathBuf};

use serde_json::Value;

pub use crate::kustomize::Renderer;
use crate::{
    kustomize,
    node::{self, Content, Node},
    place::{LoadError, Place},
    scalar::Dialect,
};

/// One object of a manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// Where it is written.
    pub place: Place,
    /// The object.
    pub object: Value,
}

impl Manifest {
    pub(crate) fn of(node: &Node) -> Result<Manifest, LoadError> {
        need_identity(node)?;
        Ok(Manifest { place: node.place.clone(), object: node.to_json() })
    }
}

/// Reads all objects of a file or folder. Each has `apiVersion`, `kind`, and a name. A kustomization is rendered by this
/// program, without one by ourselves.
pub fn load(path: &Path, renderer: Option<&Renderer>) -> Result<Vec<Manifest>, LoadError> {
    match (kustomization(path), renderer) {
        (Some(file), Some(renderer)) => kustomize::rendered_by(renderer, &file),
        (Some(file), None) => kustomize::render(&file),
        (None, _) => {
            let mut manifests = Vec::new();
            for file in files(path)? {
                manifests.extend(of_file(&file, Dialect::Kubectl)?);
            }
            Ok(manifests)
        }
    }
}

/// The file of a kustomization, if this is one or a folder with one.
pub fn kustomization(path: &Path) -> Option<PathBuf> {
    let is_one = path.file_stem().is_some_and(|stem| stem == "kustomization");
    kustomize::file_in(path).or(is_one.then(|| path.to_owned()))
}

/// All objects of one file.
pub(crate) fn of_file(file: &Path, dialect: Dialect) -> Result<Vec<Manifest>, LoadError> {
    objects_in(dialect, file, &read(file)?)?.iter().map(Manifest::of).collect()
}

/// Whether a file of a folder is read, by its name.
pub fn is_manifest(file: &Path) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("yaml" | "yml" | "json"))
}

/// The file itself, or the manifests in the folder.
fn files(path: &Path) -> Result<Vec<PathBuf>, LoadError> {
    let fail = |error: std::io::Error| Place::whole(path).error(format!("can't read: {error}"));
    if !std::fs::metadata(path).map_err(fail)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(fail)? {
        let file = entry.map_err(fail)?.path();
        if is_manifest(&file) && !file.is_dir() {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Place::whole(path)
            .error("the folder has no .yaml, .yml or .json file (subfolders are not read)"));
    }
    Ok(files)
}

pub(crate) fn read(file: &Path) -> Result<String, LoadError> {
    std::fs::read_to_string(file)
        .map_err(|error| Place::whole(file).error(format!("can't read: {error}")))
}

/// All objects of a text, `List`s taken apart.
pub(crate) fn objects(file: &Path, text: &str) -> Result<Vec<Node>, LoadError> {
    objects_in(Dialect::Kubectl, file, text)
}

fn objects_in(dialect: Dialect, file: &Path, text: &str) -> Result<Vec<Node>, LoadError> {
    let mut objects = Vec::new();
    for node in node::parse_in(dialect, file, text)? {
        if !matches!(node.content, Content::Map(_)) {
            return Err(node
                .place
                .error(format!("an object must be a map; it is {}", node.kind())));
        }
        let kind = node.at(&["kind"]).and_then(Node::text).unwrap_or_default();
        match node.at(&["items"]).map(|items| &items.content) {
            Some(Content::List(items)) if kind.ends_with("List") => {
                objects.extend(items.iter().cloned());
            }
            _ => objects.push(node),
        }
    }
    Ok(objects)
}

fn need_identity(node: &Node) -> Result<(), LoadError> {
    for path in [&["apiVersion"][..], &["kind"], &["metadata", "name"]] {
        let text = node.at(path).and_then(Node::text).unwrap_or_default();
        if text.is_empty() {
            return Err(node.place.error(format!("the object has no {}", path.join("."))));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            // All characters that JSON has, control characters as escapes.
            any::<String>().prop_map(Value::from),
            "(yes|no|on|~|0644|1e3|- a|a: b|#|\\*|&x|<<|[a-z]{0,3})".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z<>~.]{0,4}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn json_is_read_as_itself(value in any_json()) {
            let value = json!({"v": value});
            prop_assert_eq!(parse(&value.to_string()), Ok(vec![value]));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[a-c:\\-\\[\\]{}&*!|>'\"#%@, \n\t]{0,40}") {
            let _ = parse(&text);
        }
    }

    fn parse(text: &str) -> Result<Vec<Value>, String> {
        let objects = objects("m.yaml".as_ref(), text).map_err(|error| error.to_string())?;
        Ok(objects.iter().map(Node::to_json).collect())
    }

    #[test]
    fn documents_lists_anchors_and_json() {
        for (text, expect) in [
            ("# nothing\n---\n---\n", json!([])),
            ("a: 1\n---\n# empty\n---\nb: 2\n", json!([{"a": 1}, {"b": 2}])),
            ("kind: List\nitems:\n- a: 1\n- b: 2\n", json!([{"a": 1}, {"b": 2}])),
            (
                "x: &x {a: 1, b: 2}\nz: {<<: *x, b: 3}\n",
                json!([{"x": {"a": 1, "b": 2}, "z": {"b": 3, "a": 1}}]),
            ),
            ("{\"a\": [1, \"yes\", null, true]}", json!([{"a": [1, "yes", null, true]}])),
            ("mode: 0644\non: yes\nq: 'no'\n", json!([{"mode": 420, "true": true, "q": "no"}])),
            ("a: |\n  x\n  y\nb: >-\n  x\n  y\n", json!([{"a": "x\ny\n", "b": "x y"}])),
            ("a: !!str 5\n", json!([{"a": "5"}])),
        ] {
            assert_eq!(parse(text).map(Value::Array), Ok(expect), "{text}");
        }
    }

    #[test]
    fn errors_say_where() {
        insta::assert_snapshot!(
            [
                "a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n",
                "- a\n",
                "a: [1, 2\nb: 3\n",
                "a: *nope\n",
                "a:\n\t- x\n",
                "a: !secret x\n",
                "a: .inf\n",
                "? [a]\n: b\n",
                "a: 'x\n",
            ]
            .map(|text| parse(text).unwrap_err())
            .join("\n")
        );
    }

    #[test]
    fn folders_are_read_in_order() {
        let folder = tempfile::tempdir().unwrap();
        for (name, object) in [("b.yaml", "b"), ("a.json", "a"), ("c.txt", "c")] {
            let text = format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {object}}}}}");
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let names: Vec<_> = load(folder.path(), None).unwrap();
        let names: Vec<_> = names.iter().map(|m| m.object["metadata"]["name"].clone()).collect();
        assert_eq!(names, ["a", "b"]);
        std::fs::write(folder.path().join("d.yaml"), "kind: X\nmetadata: {name: a}\n").unwrap();
        let error = load(folder.path(), None).unwrap_err();
        assert_eq!((error.message.as_str(), error.place.line), ("the object has no apiVersion", 1));
    }
}
