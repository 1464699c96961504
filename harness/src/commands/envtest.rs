//! `trommel envtest`: a folder with stand-ins for kube-apiserver and etcd, so that an unmodified suite of
//! controller-runtime's `envtest` runs on the embedded API server.
//!
//! envtest starts the two programs that it finds in `KUBEBUILDER_ASSETS`, waits until they answer, and tells them to end
//! (`controller-runtime/pkg/internal/testing/{process,controlplane}`). Here both are links to this program, which knows
//! by its name what it is to be ([`stand_in`]): [`kube_apiserver`] holds everything, [`etcd`] holds nothing.

mod etcd;
mod flags;
mod kube_apiserver;

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    exit::{Exit, Expected},
    stdout,
};

/// `trommel envtest`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The folder; made if it is not there.
    #[arg(default_value = "trommel-envtest")]
    dir: PathBuf,
    /// Copy this program (once, and kubectl) instead of linking to it: for a folder that goes elsewhere.
    #[arg(long)]
    copy: bool,
}

/// What a stand-in does with its arguments.
type StandIn = fn(&[String]) -> anyhow::Result<Exit>;

/// The programs that are this one under another name.
const STAND_INS: [(&str, StandIn); 2] =
    [("kube-apiserver", kube_apiserver::run), ("etcd", etcd::run)];

/// What to do if this process was started under the name of another program.
pub fn stand_in() -> Option<anyhow::Result<Exit>> {
    let mut arguments = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let called = arguments.next()?;
    let called = Path::new(&called).file_name().and_then(OsStr::to_str)?.to_owned();
    let (_, run) = STAND_INS.iter().find(|(name, _)| *name == called)?;
    Some(run(&arguments.collect::<Vec<_>>()))
}

/// Writes the folder. One line on stdout says how to use it: `export KUBEBUILDER_ASSETS=…`.
///
/// # Errors
/// Something else of the same name is there; the folder can't be written.
pub fn run(options: &Options) -> anyhow::Result<Exit> {
    let cannot = |error: io::Error| {
        let message =
            format!("cannot write {}: {error}; name another folder", options.dir.display());
        Expected::error(Exit::Environment, message)
    };
    let own = std::env::current_exe()?;
    fs::create_dir_all(&options.dir).map_err(cannot)?;
    let folder = options.dir.canonicalize().map_err(cannot)?;
    for (name, _) in STAND_INS {
        check_free(&folder.join(name))?;
    }
    for (name, _) in STAND_INS {
        put(&own, &folder.join(name), options.copy).map_err(cannot)?;
    }
    match on_path("kubectl") {
        Some(kubectl) => put_kubectl(&kubectl, &folder, options.copy).map_err(cannot)?,
        None => eprintln!(
            "trommel: no kubectl in PATH, so none in the folder; a suite that calls it won't find it"
        ),
    }
    stdout::write(&format!("export KUBEBUILDER_ASSETS={}\n", folder.display()));
    Ok(Exit::Clean)
}

/// Errors: there is something that is not ours: a real server, say.
fn check_free(path: &Path) -> anyhow::Result<()> {
    let ours = match fs::symlink_metadata(path) {
        Err(_) => true,
        Ok(metadata) => metadata.is_symlink() || is_copy(path)?,
    };
    if ours {
        return Ok(());
    }
    let message = format!(
        "{} exists and is not Trommel's; remove it, or name another folder",
        path.display()
    );
    Err(Expected::error(Exit::Usage, message))
}

/// What a copy of this program holds somewhere, whatever its version.
const MARK: &str = "trommel's stand-in for kube-apiserver and etcd";

/// Whether a file is this program, or was it in another version.
fn is_copy(path: &Path) -> io::Result<bool> {
    let bytes = fs::read(path)?;
    Ok(bytes.windows(MARK.len()).any(|window| window == MARK.as_bytes()))
}

fn put(program: &Path, path: &Path, copy: bool) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if copy { fs::copy(program, path).map(drop) } else { std::os::unix::fs::symlink(program, path) }
}

/// The kubectl that is here, beside the stand-ins, unless somebody has put one there.
fn put_kubectl(kubectl: &Path, folder: &Path, copy: bool) -> io::Result<()> {
    let path = folder.join("kubectl");
    let theirs = fs::symlink_metadata(&path).is_ok_and(|metadata| !metadata.is_symlink());
    if theirs { Ok(()) } else { put(kubectl, &path, copy) }
}

/// Where a program is in PATH.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|folder| folder.join(name));
    found.filter(|file| file.is_file()).find_map(|file| file.canonicalize().ok())
}

/// What a stand-in says of itself with `--help`, before its flags.
fn about(name: &str) -> String {
    format!("This is {MARK} ({name}), Trommel {}.\n", env!("CARGO_PKG_VERSION"))
}
