//! The files by which a subject finds the proxy: a kubeconfig, and a service account's folder.

use std::path::{Path, PathBuf};

use serde_json::json;
use trace::Time;

use crate::lab::{Certificates, Lab};

/// The token that subjects present. The proxy knows them by their listener; the token only has to be there.
const TOKEN: &str = "trommel";

/// Writes a kubeconfig for `https://127.0.0.1:port`.
pub fn write(path: &Path, port: u16, lab: &Lab) -> std::io::Result<()> {
    let cluster = if lab.tls() {
        json!({
            "server": format!("https://127.0.0.1:{port}"),
            "certificate-authority-data": base64(lab.certificates.authority_pem.as_bytes()),
        })
    } else {
        json!({ "server": format!("http://127.0.0.1:{port}") })
    };
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "trommel", "cluster": cluster }],
        "users": [{ "name": "trommel", "user": { "token": TOKEN } }],
        "contexts": [{
            "name": "trommel",
            "context": { "cluster": "trommel", "user": "trommel", "namespace": "default" },
        }],
        "current-context": "trommel",
    });
    // JSON is YAML, and every client reads it.
    std::fs::write(path, serde_json::to_vec_pretty(&config)?)
}

/// Writes what a Pod finds under /var/run/secrets/kubernetes.io/serviceaccount.
pub fn write_service_account(
    folder: &Path,
    certificates: &Certificates,
) -> std::io::Result<PathBuf> {
    let account = folder.join("serviceaccount");
    std::fs::create_dir_all(&account)?;
    std::fs::write(account.join("token"), TOKEN)?;
    std::fs::write(account.join("namespace"), "default")?;
    std::fs::write(account.join("ca.crt"), &certificates.authority_pem)?;
    Ok(account)
}

/// The machine's clock. Only offsets of subject clocks are made from it.
pub fn real_now() -> Time {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Time(since.map_or(0, |since| since.as_nanos() as i64))
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
