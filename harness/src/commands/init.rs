//! `trommel init`: writes a commented campaign and a workload for a given command and CRD folder.
//!
//! The workload applies the author's samples, or one of each custom resource that its schema says enough for ([`sample`]),
//! changes what can be changed safely ([`change`]), and deletes them. All of it was accepted by an embedded API server
//! ([`tried`]). It is a start: the author replaces it by what users really do. Existing files are never touched.

mod applied;
mod campaign;
mod change;
mod environment;
mod go_project;
mod name;
mod namespaces;
mod program;
mod sample;
mod samples;
mod tried;
mod workload;

use std::{
    fs,
    io::Write as _,
    path::{Component, Path, PathBuf},
};

use clap::Args;
use serde_json::Value;
use workloads::manifest::Manifest;

use crate::{
    config::manifests,
    exit::{Exit, Expected},
    stdout,
};
use campaign::Found;
use go_project::GoProject;
use tried::Trial;

/// `trommel init`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// The controller's command line as you would type it here, in quotes.
    #[arg(long, value_name = "COMMAND LINE")]
    pub command: String,
    /// File or folder with the CustomResourceDefinitions; other objects there are applied as well.
    #[arg(long)]
    pub crds: PathBuf,
    /// File or folder with custom resources to begin with, and no others; default: `samples` beside the CRDs' folder, if it
    /// is there, and one by its schema for each type that has none.
    #[arg(long)]
    pub samples: Option<PathBuf>,
    /// Folder to write campaign.yaml and workload.yaml to.
    #[arg(long, default_value = ".")]
    pub dir: PathBuf,
}

/// Writes the files and says what to do next.
///
/// # Errors
/// A file that exists already, CRDs that can't be read or are refused, or none among them (exit 64); what the file system
/// says (exit 75).
pub fn run(options: &Options) -> anyhow::Result<Exit> {
    let read = read(&options.crds)?;
    let manifests: Vec<Value> = read.iter().map(|one| one.object.clone()).collect();
    let project = GoProject::around(&std::path::absolute(&options.crds)?);
    let rules = [manifests.clone(), rules_beside(options)?].concat();
    let (mut other_types, undefined) = match &project {
        Some(project) => project.other_types(&rules, &manifests),
        None => (vec![], vec![]),
    };
    let types = applied::types(options, &manifests)?;
    let own: Vec<&Value> = types.iter().map(|(crd, _)| *crd).collect();
    let mut trial = Trial::of(&own, &mut other_types)?;
    let samples = samples::samples(options, &types, &mut trial)?;
    let (applied, left_out) = applied::applied(options, &read, &mut trial);
    let found = Found {
        workloads_made: environment::workloads_made(&rules),
        has_rules: rules.iter().any(|object| object["rules"].is_array()),
        namespaces: namespaces::missing(manifests.iter().chain(samples.objects())),
        other_types,
        applied,
    };
    let mut files = vec![
        ("campaign.yaml".into(), campaign::text(options, &found)?),
        ("workload.yaml".into(), workload::text(&samples)?),
    ];
    files.extend(found.files()?);
    let next = write(&options.dir, &files)?;
    let undefined = undefined.into_iter().map(|named| {
        format!(
            "{named}: RBAC lets the controller watch it, and no CRD for it was found; if it does, add the CRD to manifests"
        )
    });
    let missing = program::missing(&options.command);
    for doubt in left_out.into_iter().chain(samples.doubts()).chain(undefined).chain(missing) {
        stdout::write(&format!("check {doubt}\n"));
    }
    stdout::write(&format!("next: trommel run {}\n", next.display()));
    Ok(Exit::Clean)
}

/// Writes all files, or none if one of them exists; the path of the first.
fn write(dir: &Path, files: &[(PathBuf, String)]) -> anyhow::Result<PathBuf> {
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| dir.join(name)).collect();
    if let Some(path) = paths.iter().find(|path| path.exists()) {
        let message = format!("{} exists: move it away, or give another --dir", path.display());
        return Err(Expected::error(Exit::Usage, message));
    }
    for (path, (_, text)) in paths.iter().zip(files) {
        fs::create_dir_all(path.parent().unwrap_or(dir))?;
        // `create_new`: also safe against a file that appeared just now.
        fs::File::create_new(path)?.write_all(text.as_bytes())?;
        stdout::write(&format!("wrote {}\n", path.display()));
    }
    Ok(paths[0].clone())
}

/// The objects of the folder where kubebuilder writes RBAC rules.
fn rules_beside(options: &Options) -> anyhow::Result<Vec<Value>> {
    folder_near(&options.crds, "rbac").map_or(Ok(vec![]), |folder| load(&folder))
}

/// The folder of this name beside the CRDs' folder or one above it, up to the project's: `config/samples` for
/// `config/crd` and for `config/components/crd`.
fn folder_near(crds: &Path, name: &str) -> Option<PathBuf> {
    const LEVELS: usize = 3;
    for folder in crds.ancestors().skip(1).take(LEVELS) {
        let found = folder.join(name);
        if found.is_dir() {
            return Some(found);
        }
        if ["go.mod", ".git"].iter().any(|root| folder.join(root).exists()) {
            return None;
        }
    }
    None
}

fn read(path: &Path) -> anyhow::Result<Vec<Manifest>> {
    manifests::load(path).map_err(|error| Expected::error(Exit::Usage, error.to_string()))
}

fn load(path: &Path) -> anyhow::Result<Vec<Value>> {
    Ok(read(path)?.into_iter().map(|manifest| manifest.object).collect())
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The way from one absolute folder to another path, by names only.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let clean = |path: &Path| {
        let mut parts: Vec<PathBuf> = Vec::new();
        for part in path.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir if parts.len() > 1 => drop(parts.pop()),
                other => parts.push(PathBuf::from(other.as_os_str())),
            }
        }
        parts
    };
    let (from, to) = (clean(from), clean(to));
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n(PathBuf::from(".."), from.len() - shared);
    let path: PathBuf = up.chain(to[shared..].iter().cloned()).collect();
    if path.as_os_str().is_empty() { PathBuf::from(".") } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRD: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
        metadata: {name: bars.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n\
        \x20 names: {kind: Bar, plural: bars, singular: bar}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n\
        \x20   schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, required: [host],\n\
        \x20     properties: {host: {type: string, pattern: '^[a-z.]+$'}, size: {type: integer, minimum: 0}}}}}}\n";

    fn options(dir: &Path, command: &str) -> Options {
        fs::create_dir_all(dir.join("crds")).unwrap();
        fs::write(dir.join("crds/bar.yaml"), CRD).unwrap();
        let command = format!("{command} --v=2");
        Options { command, crds: dir.join("crds"), samples: None, dir: dir.into() }
    }

    /// Names of the workload's steps, and its text.
    fn steps(dir: &Path) -> (Vec<String>, String) {
        let text = fs::read_to_string(dir.join("workload.yaml")).unwrap();
        let workload: Value = serde_saphyr::from_str(&text).unwrap();
        workloads::Workload::load(&dir.join("workload.yaml"), &Default::default()).unwrap();
        let steps = workload["spec"]["steps"].as_array().unwrap();
        (steps.iter().map(|step| step["name"].as_str().unwrap().to_owned()).collect(), text)
    }

    const SAMPLE: &str = "apiVersion: example.com/v1\nkind: Bar\nmetadata: {name: mine}\nspec: {host: a.b, size: 2}\n";

    #[test]
    fn what_it_writes_is_a_campaign() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("bin/manager").display().to_string();
        let options = options(dir.path(), &program);
        let crd = CRD.replace("required: [host]", "required: [size]");
        fs::write(dir.path().join("crds/bar.yaml"), crd).unwrap();
        assert_eq!(run(&options).unwrap(), Exit::Clean);
        let campaign =
            crate::config::Campaign::load(&dir.path().join("campaign.yaml"), None).unwrap();
        assert_eq!(campaign.file.spec.subject.command, ["bin/manager", "--v=2"]);
        assert_eq!(campaign.file.spec.manifests, [Path::new("crds")]);
        let (names, text) = steps(dir.path());
        let expect = [
            "create Bar bar-sample",
            "change spec.size of Bar bar-sample",
            "delete Bar bar-sample",
        ];
        assert_eq!(names, expect, "{text}");
        let workload: Value = serde_saphyr::from_str(&text).unwrap();
        let resource = &workload["spec"]["steps"][0]["try"][0]["apply"]["resource"];
        assert_eq!(resource["metadata"]["namespace"], "default");
        assert_eq!(resource["spec"], serde_json::json!({"size": 1}));
    }

    #[test]
    fn what_the_author_has_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let options = options(dir.path(), "bin/manager");
        fs::create_dir(dir.path().join("samples")).unwrap();
        fs::write(dir.path().join("Makefile"), "all:\nbuild: fmt\n\tgo build -o bin/manager .\n")
            .unwrap();
        fs::write(dir.path().join("samples/bar.yaml"), SAMPLE).unwrap();
        assert_eq!(run(&options).unwrap(), Exit::Clean);
        let campaign =
            crate::config::Campaign::load(&dir.path().join("campaign.yaml"), None).unwrap();
        assert_eq!(campaign.file.spec.subject.build.as_deref(), Some("make build"));
        let workload = fs::read_to_string(dir.path().join("workload.yaml")).unwrap();
        let workload: Value = serde_saphyr::from_str(&workload).unwrap();
        let steps = &workload["spec"]["steps"];
        let metadata = &steps[0]["try"][0]["apply"]["resource"]["metadata"];
        assert_eq!(*metadata, serde_json::json!({"name": "mine", "namespace": "default"}));
        let patch = &steps[1]["try"][0]["patch"]["resource"];
        assert_eq!(patch["spec"], serde_json::json!({"size": 3}));
        assert_eq!(steps[2]["try"][0]["delete"]["ref"]["name"], "mine");
    }

    /// Two of a type, one of them in a version that is served only, and what they need.
    #[test]
    fn all_samples_are_used() {
        let dir = tempfile::tempdir().unwrap();
        let options = options(dir.path(), "bin/manager");
        fs::create_dir(dir.path().join("samples")).unwrap();
        let sample = |version: &str, name: &str| {
            format!(
                "apiVersion: example.com/{version}\nkind: Bar\nmetadata: {{name: {name}}}\nspec: {{host: a, size: 2}}\n---\n"
            )
        };
        let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: password}\n";
        let text = sample("v1", "first") + &sample("v1beta1", "second") + secret;
        fs::write(dir.path().join("samples/all.yaml"), text).unwrap();
        let schema =
            "{openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}";
        let more = format!(
            "versions:\n  - {{name: v1beta1, served: true, storage: false, schema: {schema}}}\n"
        );
        fs::write(dir.path().join("crds/bar.yaml"), CRD.replace("versions:\n", &more)).unwrap();
        assert_eq!(run(&options).unwrap(), Exit::Clean);
        let workload = fs::read_to_string(dir.path().join("workload.yaml")).unwrap();
        let workload: Value = serde_saphyr::from_str(&workload).unwrap();
        let steps = workload["spec"]["steps"].as_array().unwrap();
        let applied = steps
            .iter()
            .filter_map(|step| step["try"][0]["apply"]["resource"]["metadata"]["name"].as_str());
        assert_eq!(applied.collect::<Vec<_>>(), ["password", "first", "second"]);
    }

    /// As JobSet has them: samples above the CRDs' folder, beside a file that is no object.
    #[test]
    fn samples_are_found_above_and_read_one_by_one() {
        let dir = tempfile::tempdir().unwrap();
        let options = options(dir.path(), "bin/manager");
        let options = Options { crds: dir.path().join("config/components/crd"), ..options };
        fs::create_dir_all(&options.crds).unwrap();
        fs::copy(dir.path().join("crds/bar.yaml"), options.crds.join("bar.yaml")).unwrap();
        fs::create_dir(dir.path().join("config/samples")).unwrap();
        fs::write(dir.path().join("config/samples/bar.yaml"), SAMPLE).unwrap();
        let configuration = "apiVersion: config.example.com/v1\nkind: Configuration\n";
        fs::write(dir.path().join("config/samples/a.yaml"), configuration).unwrap();
        let named = configuration.to_owned() + "metadata: {name: no-type}\n";
        fs::write(dir.path().join("config/samples/b.yaml"), named).unwrap();
        assert_eq!(run(&options).unwrap(), Exit::Clean);
        assert_eq!(steps(dir.path()).0.first().map(String::as_str), Some("create Bar mine"));
    }

    /// As kubebuilder makes them: a sample without a spec, of which every field may be left out.
    #[test]
    fn fresh_samples_are_made_by_their_schema() {
        let dir = tempfile::tempdir().unwrap();
        let options = options(dir.path(), "bin/manager");
        fs::create_dir(dir.path().join("samples")).unwrap();
        let crd = CRD.replace("required: [host]", "required: []");
        assert_ne!(crd, CRD);
        fs::write(dir.path().join("crds/bar.yaml"), crd).unwrap();
        assert_eq!(run(&options).unwrap(), Exit::Clean, "an empty folder of samples is none");
        let (steps, text) = steps(dir.path());
        assert_eq!(steps, ["create Bar bar-sample", "delete Bar bar-sample"], "{text}");
        assert!(text.contains("# No change of Bar bar-sample"), "{text}");
    }

    /// `patches:` with only comments below it, and a sample whose `spec:` has nothing but a comment.
    #[test]
    fn a_project_fresh_from_kubebuilder_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let config =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../workloads/testdata/scaffold/config");
        let options = Options { crds: config.join("crd"), ..options(dir.path(), "bin/manager") };
        assert_eq!(run(&options).unwrap(), Exit::Clean);
        let (steps, text) = steps(dir.path());
        assert_eq!(steps, ["create Order order-sample", "delete Order order-sample"], "{text}");
    }

    /// A text that only the operator knows, and a rule that its change would break.
    #[test]
    fn nothing_is_made_up() {
        let dir = tempfile::tempdir().unwrap();
        let options = options(dir.path(), "bin/manager");
        assert_eq!(run(&options).unwrap(), Exit::Clean);
        let (names, text) = steps(dir.path());
        assert_eq!(names, [""; 0], "{text}");
        assert!(
            text.contains("No sample of Bar: its schema does not say what is right for spec.host")
        );
        for name in ["campaign.yaml", "workload.yaml"] {
            fs::remove_file(dir.path().join(name)).unwrap();
        }
        let rule = "type: integer, x-kubernetes-validations: [{rule: self == oldSelf}]";
        let crd = CRD.replace("required: [host]", "required: []").replace("type: integer", rule);
        fs::write(dir.path().join("crds/bar.yaml"), crd).unwrap();
        fs::create_dir(dir.path().join("samples")).unwrap();
        fs::write(dir.path().join("samples/bar.yaml"), SAMPLE).unwrap();
        assert_eq!(run(&options).unwrap(), Exit::Clean);
        assert_eq!(steps(dir.path()).0, ["create Bar mine", "delete Bar mine"]);
    }

    #[test]
    fn samples_that_are_named_are_the_only_ones() {
        let dir = tempfile::tempdir().unwrap();
        let mut options = options(dir.path(), "bin/manager");
        let other = CRD.replace("required: [host]", "required: []").replace("bars", "baths");
        let other = other.replace("kind: Bar,", "kind: Bath,").replace("bar}", "bath}");
        fs::write(dir.path().join("crds/bath.yaml"), other).unwrap();
        fs::write(dir.path().join("mine.yaml"), SAMPLE).unwrap();
        options.samples = Some(dir.path().join("mine.yaml"));
        assert_eq!(run(&options).unwrap(), Exit::Clean);
        let (steps, text) = steps(dir.path());
        assert_eq!(steps, ["create Bar mine", "change spec.size of Bar mine", "delete Bar mine"]);
        assert!(text.contains("# No sample of Bath: "), "{text}");
    }

    /// As OpenShift's: types for several sets of features, and objects of types that are elsewhere.
    #[test]
    fn what_an_install_folder_needs_from_elsewhere_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let options = options(dir.path(), "bin/manager");
        let crd = CRD.replace("required: [host]", "required: []");
        for name in ["bar.yaml", "bar-preview.yaml"] {
            fs::write(dir.path().join("crds").join(name), &crd).unwrap();
        }
        let other = "apiVersion: elsewhere.io/v1\nkind: Operator\nmetadata: {name: a}\n";
        fs::write(dir.path().join("crds/operator.yaml"), other).unwrap();
        assert_eq!(run(&options).unwrap(), Exit::Clean);
        let campaign =
            crate::config::Campaign::load(&dir.path().join("campaign.yaml"), None).unwrap();
        let applied = [Path::new("crds/bar-preview.yaml"), Path::new("crds/bar.yaml")];
        assert_eq!(campaign.file.spec.manifests, applied);
        assert_eq!(steps(dir.path()).0, ["create Bar bar-sample", "delete Bar bar-sample"]);
    }

    /// As `install/` of many projects: accounts in a namespace that no file makes, and what the controller may create.
    #[test]
    fn an_install_folder_needs_nothing_by_hand() {
        let dir = tempfile::tempdir().unwrap();
        let options = options(dir.path(), "bin/manager");
        let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\n\
                    rules: [{apiGroups: [apps], resources: [deployments], verbs: [create]}]\n---\n\
                    apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, namespace: system}\n";
        fs::write(dir.path().join("crds/role.yaml"), role).unwrap();
        assert_eq!(run(&options).unwrap(), Exit::Clean);
        let campaign =
            crate::config::Campaign::load(&dir.path().join("campaign.yaml"), None).unwrap();
        let spec = &campaign.file.spec;
        assert_eq!(spec.manifests, [Path::new("namespaces.yaml"), Path::new("crds")]);
        let namespaces = load(&dir.path().join("namespaces.yaml")).unwrap();
        assert_eq!(namespaces[0]["metadata"]["name"], "system");
        let text = fs::read_to_string(dir.path().join("campaign.yaml")).unwrap();
        assert!(text.contains("environment: full"), "{text}");
        assert!(text.contains("lets the controller create deployments."), "{text}");
    }

    #[test]
    fn it_overwrites_nothing() {
        for name in ["campaign.yaml", "workload.yaml"] {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join(name), "mine").unwrap();
            let error = run(&options(dir.path(), "x")).unwrap_err();
            assert_eq!(crate::exit::exit_of(&error), Exit::Usage);
            assert!(error.to_string().contains(name), "{error}");
            let files = ["campaign.yaml", "workload.yaml"].map(|name| dir.path().join(name));
            assert_eq!(files.iter().filter(|file| file.exists()).count(), 1, "{name}");
        }
    }

    #[test]
    fn a_folder_without_crds_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let mut options = options(dir.path(), "x");
        fs::write(
            dir.path().join("crds/bar.yaml"),
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n",
        )
        .unwrap();
        let error = run(&options).unwrap_err();
        assert!(error.to_string().contains("no CustomResourceDefinition"), "{error}");
        options.crds = dir.path().join("missing");
        assert_eq!(crate::exit::exit_of(&run(&options).unwrap_err()), Exit::Usage);
    }

    #[test]
    fn ways_between_folders() {
        let check = |from: &str, to: &str, expect: &str| {
            assert_eq!(relative(Path::new(from), Path::new(to)), Path::new(expect), "{from} {to}");
        };
        check("/a/b", "/a/b/crds", "crds");
        check("/a/b", "/a/config/./crds", "../config/crds");
        check("/a/b/../c", "/a/c/x", "x");
        check("/a", "/a", ".");
    }
}
