//! What the campaign is called: as the operator is, not as the folder that holds the files of Trommel.

use std::{fs, path::Path};

/// By kubebuilder's `PROJECT`, the module of `go.mod`, or the name of the repository's folder, whichever is nearest above
/// `dir`, else above `crds`; else by `dir` itself. Both are absolute.
pub(super) fn of_project(dir: &Path, crds: &Path) -> String {
    let found = dir.ancestors().chain(crds.ancestors()).find_map(|folder| {
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let own = || folder.join(".git").exists().then(|| last(folder)).flatten();
        project(&read("PROJECT")).or_else(|| module(&read("go.mod"))).or_else(own)
    });
    let name = found.or_else(|| last(dir)).unwrap_or_default();
    object_name(&name)
}

fn last(folder: &Path) -> Option<String> {
    folder.file_name().map(|name| name.to_string_lossy().into_owned())
}

/// `projectName` of kubebuilder's file.
fn project(text: &str) -> Option<String> {
    let name = text.lines().find_map(|line| line.strip_prefix("projectName:"))?;
    Some(name.trim().trim_matches('"').to_owned())
}

/// The last part of a Go module's path that is no version.
fn module(text: &str) -> Option<String> {
    let path = text.lines().find_map(|line| line.strip_prefix("module "))?.trim();
    let is_version = |part: &&str| {
        part.strip_prefix('v').is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
    };
    path.split('/').rev().find(|part| !is_version(part)).map(str::to_owned)
}

/// A text as the name of an object: lowercase letters, digits and dashes.
pub(super) fn object_name(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = text.chars().map(plain).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "campaign".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_campaign_is_called_as_its_operator() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("My_Operator/test/trommel");
        fs::create_dir_all(&dir).unwrap();
        let of_project = |dir: &Path| super::of_project(dir, Path::new("/"));
        assert_eq!(of_project(&dir), "trommel", "nothing else has a name");
        let project = root.path().join("My_Operator");
        fs::create_dir(project.join(".git")).unwrap();
        assert_eq!(of_project(&dir), "my-operator");
        fs::write(project.join("go.mod"), "module example.com/shop/orders/v2\n").unwrap();
        assert_eq!(of_project(&dir), "orders");
        fs::write(project.join("PROJECT"), "layout:\n- x\nprojectName: shop\n").unwrap();
        assert_eq!(of_project(&dir), "shop");
        assert_eq!(super::of_project(Path::new("/elsewhere"), &project), "shop");
    }

    #[test]
    fn names_are_names_of_objects() {
        let check = |text: &str, expect: &str| assert_eq!(object_name(text), expect);
        check("My_Operator", "my-operator");
        check("...", "campaign");
    }
}
