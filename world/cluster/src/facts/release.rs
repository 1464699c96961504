//! The release of Kubernetes that a world says it is.
//!
//! It decides two things: what `/version` says, and which beta versions are served beside the stable ones
//! ([`super::older`]). All else is as in 1.36 whatever the release: what was added since then is there, and what stable
//! versions do did not change. So a controller that decides by the server's version what it may use finds what it
//! expects; one that expects something to be *missing* does not.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A minor release, from 1.16 to 1.37.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Release {
    minor: u8,
}

/// Text that is no release.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no release of Kubernetes from 1.16 to 1.37")]
pub struct NoRelease(String);

impl Release {
    /// The release whose API this is.
    pub const CURRENT: Release = Release { minor: 36 };
    /// The first in which definitions, webhooks and leases are stable. What came before had no stable version to
    /// convert to.
    pub const OLDEST: Release = Release { minor: 16 };
    /// The newest that can be asked for.
    pub const NEWEST: Release = Release { minor: 37 };

    /// The release 1.MINOR, whether or not a world can be of it.
    pub(super) const fn of(minor: u8) -> Release {
        Release { minor }
    }

    /// `36`.
    pub fn minor(self) -> u8 {
        self.minor
    }

    /// `v1.21.0`; of the current release the patch that its facts were read from.
    pub fn git_version(self) -> String {
        let patch = if self == Release::CURRENT { 3 } else { 0 };
        format!("v{self}.{patch}")
    }
}

impl Default for Release {
    fn default() -> Release {
        Release::CURRENT
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor)
    }
}

impl FromStr for Release {
    type Err = NoRelease;

    fn from_str(text: &str) -> Result<Release, NoRelease> {
        let minor = text.strip_prefix("1.").and_then(|minor| minor.parse().ok());
        minor
            .map(Release::of)
            .filter(|release| (Release::OLDEST..=Release::NEWEST).contains(release))
            .filter(|release| release.to_string() == text)
            .ok_or_else(|| NoRelease(text.to_owned()))
    }
}

impl TryFrom<String> for Release {
    type Error = NoRelease;

    fn try_from(text: String) -> Result<Release, NoRelease> {
        text.parse()
    }
}

impl From<Release> for String {
    fn from(release: Release) -> String {
        release.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_as_they_are_written() {
        for text in ["1.16", "1.21", "1.36", "1.37"] {
            assert_eq!(text.parse::<Release>().expect(text).to_string(), text);
        }
        for text in ["", "1", "1.15", "1.38", "2.20", "1.021", "v1.20", "1.20.3", "1.+20"] {
            assert!(text.parse::<Release>().is_err(), "{text}");
        }
        assert_eq!(Release::default().git_version(), "v1.36.3");
    }
}
