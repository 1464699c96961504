//! `trommel init`: writes a commented campaign and a workload for a given command and CRD folder.
//!
//! The workload applies one sample of each custom resource, made from its schema ([`sample`]). It is a start: the
//! author replaces the samples by what users really do. Existing files are never touched.

mod change;
mod go_project;
mod program;
mod sample;
mod workload;

use std::{
    ffi::OsStr,
    fs,
    io::Write as _,
    path::{Component, Path, PathBuf},
};

use clap::Args;
use serde_json::Value;

use crate::{
    exit::{Exit, Expected},
    stdout,
};
use go_project::{GoProject, WEBHOOKS};
use sample::Sample;
use workload::Samples;

/// `trommel init`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// The controller's command line as you would type it here, in quotes.
    #[arg(long, value_name = "COMMAND LINE")]
    pub command: String,
    /// File or folder with the CustomResourceDefinitions.
    #[arg(long)]
    pub crds: PathBuf,
    /// File or folder with custom resources to begin with; default: `samples` beside the CRDs' folder, if it is there.
    #[arg(long)]
    pub samples: Option<PathBuf>,
    /// Folder to write campaign.yaml and workload.yaml to.
    #[arg(long, default_value = ".")]
    pub dir: PathBuf,
}

/// Writes both files and says what to do next.
///
/// # Errors
/// A file that exists already, CRDs that can't be read, or none among them (exit 64); what the file system says
/// (exit 75).
pub fn run(options: &Options) -> anyhow::Result<Exit> {
    let [campaign, workload] =
        ["campaign.yaml", "workload.yaml"].map(|name| options.dir.join(name));
    let crds = load(&options.crds)?;
    let samples = samples(options, &crds)?;
    let others = other_types(options, &crds)?;
    let texts = [campaign_text(options, &others)?, workload::text(&samples)?];
    for path in [&campaign, &workload] {
        if path.exists() {
            let message = format!("{} exists: move it away, or give another --dir", path.display());
            return Err(Expected::error(Exit::Usage, message));
        }
    }
    fs::create_dir_all(&options.dir)?;
    for (path, text) in [&campaign, &workload].into_iter().zip(&texts) {
        // `create_new`: also safe against a file that appeared just now.
        fs::File::create_new(path)?.write_all(text.as_bytes())?;
        stdout::write(&format!("wrote {}\n", path.display()));
    }
    others.write(&options.dir)?;
    let doubts = samples.own.iter().flat_map(|sample| &sample.doubts);
    for doubt in doubts.chain(&others.doubts).chain(&program::missing(&options.command)) {
        stdout::write(&format!("check {doubt}\n"));
    }
    stdout::write(&format!("next: trommel run {}\n", campaign.display()));
    Ok(Exit::Clean)
}

/// Types of other projects that the controller works on.
#[derive(Default)]
struct OtherTypes {
    /// File below [`OTHER_TYPES`] → definition.
    files: Vec<(String, Value)>,
    /// What the author has to look after.
    doubts: Vec<String>,
}

/// The folder for them, beside the campaign.
const OTHER_TYPES: &str = "other-crds";

impl OtherTypes {
    fn write(&self, dir: &Path) -> anyhow::Result<()> {
        if self.files.is_empty() {
            return Ok(());
        }
        let folder = dir.join(OTHER_TYPES);
        fs::create_dir_all(&folder)?;
        for (name, crd) in &self.files {
            let path = folder.join(name);
            fs::File::create_new(&path)?.write_all(serde_saphyr::to_string(crd)?.as_bytes())?;
            stdout::write(&format!("wrote {}\n", path.display()));
        }
        Ok(())
    }
}

/// By the RBAC rules beside the CRDs' folder, where kubebuilder writes them.
fn other_types(options: &Options, crds: &[Value]) -> anyhow::Result<OtherTypes> {
    let rbac = options.crds.parent().map(|parent| parent.join("rbac"));
    let project = GoProject::around(&std::path::absolute(&options.crds)?);
    let (Some(rbac), Some(project)) = (rbac.filter(|folder| folder.is_dir()), project) else {
        return Ok(OtherTypes::default());
    };
    let (found, missing) = project.other_types(&load(&rbac)?, crds);
    let file = |crd: Value| {
        let name = crd["metadata"]["name"].as_str().unwrap_or_default();
        (format!("{}.yaml", object_name(OsStr::new(name))), crd)
    };
    let doubt = |named: String| {
        format!(
            "{named}: RBAC lets the controller watch it, and no CRD for it was found; if it does, add the CRD to manifests"
        )
    };
    Ok(OtherTypes {
        files: found.into_iter().map(file).collect(),
        doubts: missing.into_iter().map(doubt).collect(),
    })
}

fn load(path: &Path) -> anyhow::Result<Vec<Value>> {
    let manifests = workloads::manifest::load(path)
        .map_err(|error| Expected::error(Exit::Usage, error.to_string()))?;
    Ok(manifests.into_iter().map(|manifest| manifest.object).collect())
}

/// What the workload works on: the author's objects, and one for each type of which there is none.
fn samples(options: &Options, crds: &[Value]) -> anyhow::Result<Samples> {
    let mut written = written(options)?;
    let mut own = Vec::new();
    for (crd, made) in crds.iter().filter_map(|crd| Some((crd, sample::of_crd(crd)?))) {
        let of_type: Vec<Value> =
            written.extract_if(.., |object| sample::is_of(object, crd)).collect();
        let mut of_type: Vec<Sample> =
            of_type.iter().filter_map(|object| sample::as_written(object, &made)).collect();
        if of_type.is_empty() {
            of_type.push(made);
        }
        for sample in &mut of_type {
            sample.change = change::of(crd, &sample.object);
        }
        own.append(&mut of_type);
    }
    if own.is_empty() {
        let crds = options.crds.display();
        let subfolders = if options.crds.is_dir() { " (subfolders are not read)" } else { "" };
        let message = format!("{crds}: no CustomResourceDefinition there{subfolders}");
        return Err(Expected::error(Exit::Usage, message));
    }
    Ok(Samples { others: written, own })
}

/// The author's objects: those of the folder that was named, or of the one beside the CRDs' if it has any.
fn written(options: &Options) -> anyhow::Result<Vec<Value>> {
    if let Some(path) = &options.samples {
        return load(path);
    }
    let Some(beside) = options.crds.parent().map(|parent| parent.join("samples")) else {
        return Ok(vec![]);
    };
    let mut files = fs::read_dir(&beside).into_iter().flatten().flatten();
    match files.any(|file| workloads::manifest::is_manifest(&file.path())) {
        true => load(&beside),
        false => Ok(vec![]),
    }
}

fn campaign_text(options: &Options, others: &OtherTypes) -> anyhow::Result<String> {
    let dir = std::path::absolute(&options.dir)?;
    let crds = relative(&dir, &std::path::absolute(&options.crds)?);
    let mut command = program::words(&options.command);
    if command.is_empty() {
        return Err(Expected::error(
            Exit::Usage,
            "--command is empty: give the program and its arguments",
        ));
    }
    // With a slash the program is a path of this folder; in the campaign it is relative to the campaign's.
    if let Some(program) = command.first_mut().filter(|program| program.contains('/')) {
        let path = relative(&dir, &std::path::absolute(&*program)?);
        *program =
            if path.components().count() > 1 { text(&path) } else { format!("./{}", text(&path)) };
    }
    let name = dir.file_name().map_or_else(|| "campaign".to_owned(), object_name);
    let build = match program::build(&dir) {
        Some(build) => format!("build: {build}"),
        None => "# build: make build".to_owned(),
    };
    let mut manifests = vec![text(&crds)];
    if !others.files.is_empty() {
        manifests.push(format!("{OTHER_TYPES}/"));
    }
    let webhooks = GoProject::around(&dir).is_some_and(|project| project.may_turn_off_webhooks());
    let env = match webhooks {
        true => format!(
            "# Without webhooks: in a cluster their certificate comes from cert-manager.\n    env: {{{WEBHOOKS}: \"false\"}}"
        ),
        false => "# env: {LOG_LEVEL: debug}".to_owned(),
    };
    Ok(CAMPAIGN
        .replace("{env}", &env)
        .replace("{name}", &name)
        .replace("{build}", &build)
        .replace("{command}", &flow(&Value::from(command)))
        .replace("{manifests}", &flow(&Value::from(manifests))))
}

const CAMPAIGN: &str = concat!(
    "# What is tested, on what, doing what. All fields: docs/campaign.md of\n# ",
    env!("CARGO_PKG_REPOSITORY"),
    ".\n",
    "\
apiVersion: trommel.dev/v1alpha1
kind: Campaign
metadata: {name: {name}}
spec:
  subject:
    # Runs first, in this folder. Not counted as campaign time.
    {build}
    # Program and arguments; it finds the cluster by KUBECONFIG. Paths are relative to this file.
    command: {command}
    {env}
  # Applied before the controller starts: CRDs, RBAC, configuration.
  manifests: {manifests}
  # The embedded API server, without built-in controllers.
  cluster: {embedded: {environment: none}}
  # The user's side.
  workload: {file: workload.yaml}
  # Stop after this time, even if not everything is explored.
  budget: {time: 10m}
"
);

/// JSON is YAML, on one line.
fn flow(value: &Value) -> String {
    value.to_string()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A folder's name as the name of an object: lowercase letters, digits and dashes.
fn object_name(folder: &OsStr) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = folder.to_string_lossy().chars().map(plain).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "campaign".to_owned() } else { name.to_owned() }
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
        \x20     properties: {host: {type: string, pattern: '^[a-z.]+$'}, size: {type: integer}}}}}}\n";

    fn options(dir: &Path, command: &str) -> Options {
        fs::create_dir_all(dir.join("crds")).unwrap();
        fs::write(dir.join("crds/bar.yaml"), CRD).unwrap();
        let command = format!("{command} --v=2");
        Options { command, crds: dir.join("crds"), samples: None, dir: dir.into() }
    }

    #[test]
    fn what_it_writes_is_a_campaign() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("bin/manager").display().to_string();
        assert_eq!(run(&options(dir.path(), &program)).unwrap(), Exit::Clean);
        let campaign =
            crate::config::Campaign::load(&dir.path().join("campaign.yaml"), None).unwrap();
        assert_eq!(campaign.file.spec.subject.command, ["bin/manager", "--v=2"]);
        assert_eq!(campaign.file.spec.manifests, [Path::new("crds")]);
        let workload = fs::read_to_string(dir.path().join("workload.yaml")).unwrap();
        let workload: Value =
            serde_saphyr::from_str(&workload).unwrap_or_else(|error| panic!("{error}\n{workload}"));
        let step = &workload["spec"]["steps"][0];
        let resource = &step["try"][0]["apply"]["resource"];
        assert_eq!(resource["kind"], "Bar");
        assert_eq!(resource["metadata"]["namespace"], "default");
        assert!(resource["spec"]["host"].is_string() && resource["spec"]["size"].is_null());
        let delete = &workload["spec"]["steps"][1]["try"][0]["delete"]["ref"];
        assert_eq!((&delete["kind"], &delete["name"]), (&"Bar".into(), &"bar-sample".into()));
    }

    #[test]
    fn what_the_author_has_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let options = options(dir.path(), "bin/manager");
        fs::create_dir(dir.path().join("samples")).unwrap();
        fs::write(dir.path().join("Makefile"), "all:\nbuild: fmt\n\tgo build\n").unwrap();
        let sample = "apiVersion: example.com/v1\nkind: Bar\nmetadata: {name: mine}\nspec: {host: a.b, size: 2}\n";
        fs::write(dir.path().join("samples/bar.yaml"), sample).unwrap();
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
        let more = "versions:\n  - {name: v1beta1, served: true, storage: false}\n";
        fs::write(dir.path().join("crds/bar.yaml"), CRD.replace("versions:\n", more)).unwrap();
        assert_eq!(run(&options).unwrap(), Exit::Clean);
        let workload = fs::read_to_string(dir.path().join("workload.yaml")).unwrap();
        let workload: Value = serde_saphyr::from_str(&workload).unwrap();
        let steps = workload["spec"]["steps"].as_array().unwrap();
        let applied = steps
            .iter()
            .filter_map(|step| step["try"][0]["apply"]["resource"]["metadata"]["name"].as_str());
        assert_eq!(applied.collect::<Vec<_>>(), ["password", "first", "second"]);
    }

    /// As kubebuilder makes them: a sample without a spec, of which every field may be left out.
    #[test]
    fn fresh_samples_get_something_to_change() {
        let dir = tempfile::tempdir().unwrap();
        let options = options(dir.path(), "bin/manager");
        fs::create_dir(dir.path().join("samples")).unwrap();
        let crd = CRD.replace("required: [host]", "required: []");
        assert_ne!(crd, CRD);
        fs::write(dir.path().join("crds/bar.yaml"), crd).unwrap();
        assert_eq!(run(&options).unwrap(), Exit::Clean, "an empty folder of samples is none");
        let workload = fs::read_to_string(dir.path().join("workload.yaml")).unwrap();
        let workload: Value = serde_saphyr::from_str(&workload).unwrap();
        assert_eq!(workload["spec"]["steps"].as_array().unwrap().len(), 3, "{workload}");
    }

    /// `patches:` with only comments below it, and a sample whose `spec:` has nothing but a comment.
    #[test]
    fn a_project_fresh_from_kubebuilder_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let config =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../workloads/testdata/scaffold/config");
        let options = Options { crds: config.join("crd"), ..options(dir.path(), "bin/manager") };
        assert_eq!(run(&options).unwrap(), Exit::Clean);
        let workload = fs::read_to_string(dir.path().join("workload.yaml")).unwrap();
        let workload: Value = serde_saphyr::from_str(&workload).unwrap();
        let resource = &workload["spec"]["steps"][0]["try"][0]["apply"]["resource"];
        assert_eq!(resource["kind"], "Order");
        assert_eq!(workload["spec"]["steps"].as_array().unwrap().len(), 3, "it is changed");
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

    #[test]
    fn names_of_folders_as_names_of_objects() {
        let check =
            |folder: &str, expect: &str| assert_eq!(object_name(OsStr::new(folder)), expect);
        check("My_Operator", "my-operator");
        check("...", "campaign");
    }
}
