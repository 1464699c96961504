//! A kubeconfig file: which server, whom to trust, and as whom. What kubectl does and Trommel does not (programs that log
//! in, proxies, impersonation) is refused by its name, for a campaign as somebody else would show something else.

use std::{path::Path, sync::Arc};

use base64::Engine;
use serde::{Deserialize, de::IgnoredAny};

use super::access::Access;
use crate::exit::{Exit, Expected};

/// The form of the file (`client-go/tools/clientcmd/api/v1`).
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Kubeconfig {
    #[serde(default)]
    current_context: String,
    #[serde(default)]
    contexts: Vec<Named<ContextRef>>,
    #[serde(default)]
    clusters: Vec<Named<Cluster>>,
    #[serde(default)]
    users: Vec<Named<User>>,
}

/// kubeconfigs name each entry and keep it under a key of its kind.
#[derive(Deserialize)]
struct Named<T> {
    name: String,
    #[serde(alias = "context", alias = "cluster", alias = "user")]
    entry: T,
}

#[derive(Deserialize)]
struct ContextRef {
    cluster: String,
    #[serde(default)]
    user: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Cluster {
    server: String,
    certificate_authority_data: Option<String>,
    certificate_authority: Option<String>,
    #[serde(default)]
    insecure_skip_tls_verify: bool,
    tls_server_name: Option<String>,
    proxy_url: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
struct User {
    token: Option<String>,
    #[serde(rename = "tokenFile")]
    token_file: Option<String>,
    client_certificate_data: Option<String>,
    client_certificate: Option<String>,
    client_key_data: Option<String>,
    client_key: Option<String>,
    username: Option<IgnoredAny>,
    exec: Option<Exec>,
    auth_provider: Option<IgnoredAny>,
    #[serde(rename = "as")]
    impersonates: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Exec {
    #[serde(default)]
    command: String,
}

/// Reads `path`. `context` is its current one, unless another is named.
///
/// # Errors
/// A file that can't be read, names what it does not hold, or asks for what is not supported: exit 64.
pub fn read(path: &Path, context: Option<&str>) -> anyhow::Result<Access> {
    let usage = |message: String| {
        Expected::error(Exit::Usage, format!("kubeconfig {}: {message}", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(|error| usage(error.to_string()))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    parse(&text, folder, context).map_err(usage)
}

pub(super) fn parse(text: &str, folder: &Path, context: Option<&str>) -> Result<Access, String> {
    let config: Kubeconfig = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    let wanted = context.unwrap_or(&config.current_context);
    if wanted.is_empty() {
        return Err("it has no current-context: name one of its contexts".to_owned());
    }
    let context =
        find(&config.contexts, wanted).ok_or_else(|| format!("it has no context {wanted:?}"))?;
    let cluster = find(&config.clusters, &context.cluster)
        .ok_or_else(|| format!("it has no cluster {:?}", context.cluster))?;
    let nobody = User::default();
    let user = match context.user.as_str() {
        "" => &nobody,
        name => find(&config.users, name).ok_or_else(|| format!("it has no user {name:?}"))?,
    };
    let of_cluster = |why: String| format!("cluster {:?}: {why}", context.cluster);
    let of_user = |why: String| format!("user {:?}: {why}", context.user);
    cluster.refused().map_err(of_cluster)?;
    user.refused().map_err(of_user)?;
    let server: http::Uri = cluster
        .server
        .parse()
        .map_err(|_| of_cluster(format!("server {:?} is not a URL", cluster.server)))?;
    let pair = user.pair(folder).map_err(of_user)?;
    let authority = cluster.authority(folder).map_err(of_cluster)?;
    let tls = match server.scheme_str() {
        Some("https") => {
            Some(cluster.tls(authority.as_deref(), pair.as_ref()).map_err(of_cluster)?)
        }
        _ => None,
    };
    let token = user.token(folder).map_err(of_user)?;
    let mut headers = http::HeaderMap::new();
    // The subject's own token means nothing to this cluster: we speak for everyone.
    if let Some(token) = token {
        let value = format!("Bearer {token}").parse();
        let value = value.map_err(|_| of_user("its token is none".to_owned()))?;
        headers.insert(http::header::AUTHORIZATION, value);
    }
    let authority = authority.unwrap_or_default();
    Ok(Access::new(wanted.to_owned(), server, tls, headers).with_authority(authority))
}

fn find<'a, T>(entries: &'a [Named<T>], name: &str) -> Option<&'a T> {
    entries.iter().find(|entry| entry.name == name).map(|entry| &entry.entry)
}

impl Cluster {
    fn refused(&self) -> Result<(), String> {
        if self.proxy_url.is_some() {
            return Err(
                "proxy-url is not supported: use a kubeconfig that leads to the server itself"
                    .to_owned(),
            );
        }
        if self.tls_server_name.is_some() {
            return Err("tls-server-name is not supported: use the server's own name, or insecure-skip-tls-verify: true \
                        without a certificate-authority"
                .to_owned());
        }
        Ok(())
    }

    fn authority(&self, folder: &Path) -> Result<Option<String>, String> {
        pem(
            folder,
            ("certificate-authority-data", &self.certificate_authority_data),
            ("certificate-authority", &self.certificate_authority),
        )
    }

    fn tls(
        &self,
        authority: Option<&str>,
        pair: Option<&proxy::tls::Pair>,
    ) -> Result<Arc<rustls::ClientConfig>, String> {
        let made = match (authority, self.insecure_skip_tls_verify) {
            (Some(authority), false) => proxy::tls::client_config(authority, pair),
            (None, true) => proxy::tls::client_config_for_any(pair),
            (Some(_), true) => {
                return Err("it has a certificate-authority and insecure-skip-tls-verify: take one of them out".to_owned());
            }
            (None, false) => {
                return Err(
                    "it says nothing of whom to trust: give its certificate-authority, or \
                            insecure-skip-tls-verify: true for a cluster for tests"
                        .to_owned(),
                );
            }
        };
        made.map_err(|error| format!("certificate-authority or client certificate: {error}"))
    }
}

impl User {
    fn refused(&self) -> Result<(), String> {
        const INSTEAD: &str =
            "give the user a token (`kubectl create token NAME`) or a client certificate";
        if let Some(Exec { command }) = &self.exec {
            return Err(format!("exec: Trommel does not run {command:?} to log in: {INSTEAD}"));
        }
        if self.auth_provider.is_some() {
            return Err(format!("auth-provider is not supported: {INSTEAD}"));
        }
        if self.username.is_some() {
            return Err(format!("username: Kubernetes has no passwords since 1.19: {INSTEAD}"));
        }
        if self.impersonates.is_some() {
            return Err(
                "as: impersonation is not supported: use a kubeconfig of that user".to_owned()
            );
        }
        Ok(())
    }

    fn pair(&self, folder: &Path) -> Result<Option<proxy::tls::Pair>, String> {
        let certificate = pem(
            folder,
            ("client-certificate-data", &self.client_certificate_data),
            ("client-certificate", &self.client_certificate),
        )?;
        let key = pem(
            folder,
            ("client-key-data", &self.client_key_data),
            ("client-key", &self.client_key),
        )?;
        match (certificate, key) {
            (Some(certificate), Some(key)) => Ok(Some(proxy::tls::Pair { certificate, key })),
            (None, None) => Ok(None),
            (Some(_), None) => Err("it has a client certificate without a client-key".to_owned()),
            (None, Some(_)) => Err("it has a client-key without a client certificate".to_owned()),
        }
    }

    /// A token in a file comes first, as in client-go (`AuthInfo.TokenFile`).
    fn token(&self, folder: &Path) -> Result<Option<String>, String> {
        match &self.token_file {
            Some(file) => {
                text("tokenFile", &folder.join(file)).map(|it| Some(it.trim().to_owned()))
            }
            None => Ok(self.token.clone()),
        }
    }
}

/// What stands in the file itself, before what it names a file for.
fn pem(
    folder: &Path,
    (data_field, data): (&str, &Option<String>),
    (file_field, file): (&str, &Option<String>),
) -> Result<Option<String>, String> {
    if let Some(data) = data.as_ref().filter(|data| !data.is_empty()) {
        let bytes = base64::engine::general_purpose::STANDARD.decode(data.trim());
        let bytes = bytes.map_err(|error| format!("{data_field} is no base64: {error}"))?;
        return String::from_utf8(bytes).map(Some).map_err(|_| format!("{data_field} is no PEM"));
    }
    let file = file.as_ref().filter(|file| !file.is_empty());
    file.map(|file| text(file_field, &folder.join(file))).transpose()
}

fn text(field: &str, path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{field}: {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cluster: &str, user: &str, expect: Option<&str>) {
        let text = format!(
            "current-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
             clusters: [{{name: k, cluster: {{{cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
        );
        match (parse(&text, Path::new("nowhere"), None), expect) {
            (Ok(_), None) => {}
            (Err(error), Some(part)) => assert!(error.contains(part), "{error}"),
            (Ok(_), Some(part)) => panic!("accepted, though {part}"),
            (Err(error), None) => panic!("{error}"),
        }
    }

    const INSECURE: &str = "server: 'https://127.0.0.1:1', insecure-skip-tls-verify: true";

    #[test]
    fn what_is_not_supported_is_named() {
        check("server: 'http://127.0.0.1:1'", "", None);
        check(INSECURE, "token: t", None);
        check(
            "server: 'https://127.0.0.1:1'",
            "token: t",
            Some("cluster \"k\": it says nothing of whom to trust"),
        );
        check(
            &format!("{INSECURE}, certificate-authority-data: YQ=="),
            "",
            Some("take one of them out"),
        );
        check(&format!("{INSECURE}, proxy-url: 'http://a'"), "", Some("proxy-url"));
        check(&format!("{INSECURE}, tls-server-name: a"), "", Some("tls-server-name"));
        check(
            INSECURE,
            "exec: {apiVersion: v1, command: aws}",
            Some("user \"u\": exec: Trommel does not run \"aws\""),
        );
        check(INSECURE, "auth-provider: {name: gcp}", Some("auth-provider"));
        check(INSECURE, "username: a, password: b", Some("username"));
        check(INSECURE, "as: somebody", Some("as: impersonation"));
        check(INSECURE, "client-certificate-data: YQ==", Some("without a client-key"));
        check(
            INSECURE,
            "client-certificate: a.crt, client-key: a.key",
            Some("client-certificate: nowhere/a.crt"),
        );
        check(INSECURE, "client-key-data: '*'", Some("client-key-data is no base64"));
        check(INSECURE, "tokenFile: t", Some("tokenFile: nowhere/t"));
        check(
            "server: 'https://127.0.0.1:1', certificate-authority-data: YQ==",
            "",
            Some("cluster \"k\": certificate-authority"),
        );
    }

    #[test]
    fn contexts_lead_to_what_there_is() {
        let read = |text: &str, context| parse(text, Path::new("."), context).map(|_| ());
        let none = "current-context: c\ncontexts: []\n";
        assert_eq!(read(none, None), Err("it has no context \"c\"".to_owned()));
        assert_eq!(read(none, Some("d")), Err("it has no context \"d\"".to_owned()));
        assert_eq!(
            read("{}", None),
            Err("it has no current-context: name one of its contexts".to_owned())
        );
        let lost = "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n";
        assert_eq!(read(lost, None), Err("it has no cluster \"k\"".to_owned()));
    }
}
