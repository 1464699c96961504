//! The files by which a subject finds the proxy: a kubeconfig, and a service account's folder.

use std::path::{Path, PathBuf};

use serde_json::json;
use trace::Time;

use crate::{campaign::setup::Setup, providers::secret};

/// Writes a kubeconfig for `https://127.0.0.1:port`, where the campaign's certificate is shown, and whoever has the
/// token.
pub fn write(path: &Path, port: u16, setup: &Setup, token: &str) -> std::io::Result<()> {
    let authority = setup.tls().then_some(&*setup.certificates.authority_pem);
    write_for(path, port, authority, token)
}

/// Writes a kubeconfig for whoever has the token; with the authority of the server's certificate in PEM, or for
/// plain HTTP.
pub fn write_for(
    path: &Path,
    port: u16,
    authority: Option<&str>,
    token: &str,
) -> std::io::Result<()> {
    let cluster = match authority {
        Some(authority) => json!({
            "server": format!("https://127.0.0.1:{port}"),
            "certificate-authority-data": base64(authority.as_bytes()),
        }),
        None => json!({ "server": format!("http://127.0.0.1:{port}") }),
    };
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "trommel", "cluster": cluster }],
        "users": [{ "name": "trommel", "user": { "token": token } }],
        "contexts": [{
            "name": "trommel",
            "context": { "cluster": "trommel", "user": "trommel", "namespace": "default" },
        }],
        "current-context": "trommel",
    });
    // JSON is YAML, and every client reads it.
    secret::write(path, &serde_json::to_vec_pretty(&config)?)
}

/// Writes what a Pod finds under /var/run/secrets/kubernetes.io/serviceaccount.
pub fn write_service_account(folder: &Path, setup: &Setup) -> std::io::Result<PathBuf> {
    let named = setup.campaign.file.spec.subject.service_account.as_ref();
    let namespace = named.map_or("default", |account| &account.value.namespace);
    let account = folder.join("serviceaccount");
    std::fs::create_dir_all(&account)?;
    secret::write(&account.join("token"), setup.token.as_bytes())?;
    std::fs::write(account.join("namespace"), namespace)?;
    std::fs::write(account.join("ca.crt"), &setup.certificates.authority_pem)?;
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
