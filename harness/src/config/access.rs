//! Who the subject is to the API, and whether permissions count.

use std::{fmt, path::Path, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Campaign, ClusterSpec, Spec};
use crate::exit::{Exit, Expected};

/// Whether requests are refused for want of permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum AuthorizationSpec {
    /// Everyone may do everything, as the administrator that envtest gives.
    #[default]
    None,
    /// Roles and bindings decide; those that every cluster has are there from the beginning.
    Rbac,
}

/// A ServiceAccount, written `namespace/name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl FromStr for AccountName {
    type Err = String;

    fn from_str(text: &str) -> Result<AccountName, String> {
        match text.split_once('/') {
            Some((namespace, name))
                if !namespace.is_empty() && !name.is_empty() && !name.contains('/') =>
            {
                Ok(AccountName { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err(format!("{text:?} is not a ServiceAccount: write it as namespace/name")),
        }
    }
}

impl fmt::Display for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl Serialize for AccountName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AccountName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A value and where in its file it stands, for errors that are found later than by reading it.
#[derive(Debug, Clone, Default)]
pub struct Located<T> {
    /// It.
    pub value: T,
    /// Line and column from 1; none where it was left out, or came from no file.
    place: Option<(u64, u64)>,
}

impl<T> Located<T> {
    /// A value that stands in no file.
    pub fn new(value: T) -> Located<T> {
        Located { value, place: None }
    }

    /// Whether it is what is taken when nothing is said.
    pub fn is_default(&self) -> bool
    where
        T: Default + PartialEq,
    {
        self.value == T::default()
    }

    /// An error about it.
    pub fn error(&self, file: &Path, message: &str) -> anyhow::Error {
        let place = self.place.map_or(String::new(), |(line, column)| format!(":{line}:{column}"));
        Expected::error(Exit::Usage, format!("{}{place}: {message}", file.display()))
    }
}

impl<T: Serialize> Serialize for Located<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Located<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = serde_saphyr::Spanned::<T>::deserialize(deserializer)?;
        let (line, column) = (spanned.referenced.line(), spanned.referenced.column());
        let place = (line > 0).then_some((line, column));
        Ok(Located { value: spanned.value, place })
    }
}

/// Checks what belongs together.
pub(super) fn check(spec: &Spec, path: &Path) -> anyhow::Result<()> {
    let embedded = match &spec.cluster {
        ClusterSpec::Embedded(embedded) => embedded,
        ClusterSpec::Kubeconfig(_) | ClusterSpec::Kind(_) => {
            return match &spec.subject.service_account {
                Some(account) => Err(account.error(
                    path,
                    "spec.subject.serviceAccount: on a cluster behind a kubeconfig the controller is whoever the \
                     kubeconfig says: leave it out, or use the embedded cluster",
                )),
                None => Ok(()),
            };
        }
    };
    let rbac = embedded.authorization.value == AuthorizationSpec::Rbac;
    if rbac && spec.subject.service_account.is_none() {
        return Err(embedded.authorization.error(
            path,
            "spec.cluster.embedded.authorization: rbac needs spec.subject.serviceAccount: the controller is the \
             administrator without, and nothing would be refused",
        ));
    }
    Ok(())
}

impl Campaign {
    /// An error about the subject's ServiceAccount, which the manifests do not have.
    pub fn no_account(&self) -> Option<anyhow::Error> {
        let account = self.file.spec.subject.service_account.as_ref()?;
        let name = &account.value;
        Some(account.error(
            &self.path,
            &format!(
                "spec.subject.serviceAccount: there is no ServiceAccount {name}: spec.manifests must create it, with \
                 its roles and bindings"
            ),
        ))
    }
}
