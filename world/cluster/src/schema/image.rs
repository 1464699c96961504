//! What a container's image is called, as far as its pull policy follows from it (`github.com/distribution/reference`).

use std::sync::LazyLock;

use regex::Regex;

const DEFAULT_DOMAIN: &str = "docker.io";
const LEGACY_DOMAIN: &str = "index.docker.io";
/// Longest repository name without its domain.
const NAME_MOST_BYTES: usize = 255;

/// `referencePat`: a name, a tag and a digest.
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    let label = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
    let domain = format!(r"(?:{label}(?:\.{label})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?");
    let part = "[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*";
    let tag = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}";
    let digest = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[[:xdigit:]]{32,}";
    let whole = format!("^((?:{domain}/)?{part}(?:/{part})*)(?::({tag}))?(?:@({digest}))?$");
    Regex::new(&whole).expect("a regular expression")
});

/// Whether it is the newest of its name that is meant: by the tag `latest`, or without tag and digest. What is no name
/// of an image means nothing (`parsers.ParseImageName`).
pub(super) fn is_latest(image: &str) -> bool {
    let (domain, rest) = split_domain(image);
    let remote = rest.split(':').next().unwrap_or("");
    let hexadecimal = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let identifier = image.len() == 64 && image.bytes().all(hexadecimal);
    if identifier || remote.to_lowercase() != remote {
        return false;
    }
    let whole = format!("{domain}/{rest}");
    let Some(found) = REFERENCE.captures(&whole) else { return false };
    if found[1].len() > domain.len() + 1 + NAME_MOST_BYTES {
        return false;
    }
    match (found.get(2), found.get(3)) {
        (None, None) => true,
        (tag, _) => tag.is_some_and(|tag| tag.as_str() == "latest"),
    }
}

/// The registry, and the rest in full (`splitDockerDomain`).
fn split_domain(image: &str) -> (&str, String) {
    let Some((first, rest)) = image.split_once('/') else {
        return (DEFAULT_DOMAIN, format!("library/{image}"));
    };
    let is_domain =
        first == "localhost" || first.contains(['.', ':']) || first.to_lowercase() != first;
    let (domain, rest) = match first {
        LEGACY_DOMAIN => (DEFAULT_DOMAIN, rest),
        first if is_domain => (first, rest),
        _ => (DEFAULT_DOMAIN, image),
    };
    match domain == DEFAULT_DOMAIN && !rest.contains('/') {
        true => (domain, format!("library/{rest}")),
        false => (domain, rest.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_meant_by_its_tag_or_by_none() {
        for (image, latest) in [
            ("nginx", true),
            ("nginx:latest", true),
            ("nginx:1.2", false),
            ("reg:5000/a", true),
            ("reg:5000/a:1", false),
            ("localhost/a/b:latest", true),
            ("a.io/b@sha256:0123456789abcdef0123456789abcdef", false),
            ("a.io/b:latest@sha256:0123456789abcdef0123456789abcdef", true),
            // What is no image's name.
            ("", false),
            ("Not_A-Name!", false),
            ("Nginx", false),
            ("a b", false),
            ("docker.io/Nginx", false),
        ] {
            assert_eq!(is_latest(image), latest, "{image}");
        }
        assert!(is_latest(&"x".repeat(247)));
        assert!(!is_latest(&"x".repeat(248)));
        assert!(!is_latest(&"a".repeat(64)));
    }
}
