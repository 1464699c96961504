//! What a request asks of caches that are behind: which reads they answer, and of what in the store's history their answer
//! is made (API concepts, `resourceVersion`; read off kube-apiserver 1.36 by `tests/reality`).

use http::Uri;
use proxy::Target;
use trace::{GroupResource, Revision, Verb};

use super::caches::Cached;

/// What the caches are asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    /// A list: this one of the store.
    List { exact: Uri },
    /// An object: the only one of this list of the store.
    Get { list: Uri, resource: GroupResource, name: String },
    /// A watch: this one of the store, after the initial events.
    Watch { follow: Uri, initial: Option<Initial> },
    /// Something newer than what they have.
    Ahead { least: Revision, watches: bool },
}

/// The events with which a watch begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Initial {
    /// One for each object of this list of the store.
    pub list: Uri,
    /// Whether a bookmark says where they end (KEP-3157).
    pub marker: bool,
}

impl Asked {
    /// None: what the caches don't answer, but the store.
    pub fn of(cached: &Cached, method: &str, uri: &Uri) -> Option<Asked> {
        let target = Target::parse(method, uri.path(), uri.query());
        let meant = method == "GET" && target.subresource.is_empty();
        if !meant || !cached.covers(target.resource.as_ref()) {
            return None;
        }
        let query = Query::of(uri);
        match target.verb {
            Verb::List => query.list(cached, uri),
            Verb::Get => {
                let least = query.revision?;
                if least > cached.at {
                    return Some(Asked::Ahead { least, watches: false });
                }
                let name = format!("metadata.name={}", target.name);
                let list = exact(collection(uri.path())?, [("fieldSelector", &*name)], cached.at)?;
                Some(Asked::Get { list, resource: target.resource?, name: target.name })
            }
            // Older forms of the path name an object, or say that it is a watch.
            Verb::Watch if target.name.is_empty() && query.watches => query.watch(cached, uri),
            _ => None,
        }
    }
}

/// The parameters that matter here.
#[derive(Default)]
struct Query {
    /// `resourceVersion`; none if it is not given, or no number.
    revision: Option<Revision>,
    exact: bool,
    limited: bool,
    continues: bool,
    watches: bool,
    bookmarks: bool,
    /// `sendInitialEvents`.
    initial: Option<bool>,
    /// What selects objects, and how long a watch lasts.
    kept: Vec<(String, String)>,
}

impl Query {
    fn of(uri: &Uri) -> Query {
        let mut query = Query::default();
        let is_true = |value: &str| !matches!(value, "0" | "false");
        for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
            match &*name {
                "resourceVersion" => query.revision = Revision::parse(&value),
                "resourceVersionMatch" => query.exact = value == "Exact",
                "limit" => query.limited = !value.is_empty() && value != "0",
                "continue" => query.continues = !value.is_empty(),
                "watch" => query.watches = is_true(&value),
                "sendInitialEvents" => query.initial = Some(is_true(&value)),
                _ => {
                    query.bookmarks |= name == "allowWatchBookmarks" && is_true(&value);
                    query.kept.push((name.into_owned(), value.into_owned()));
                }
            }
        }
        query
    }

    fn kept(&self) -> impl Iterator<Item = (&str, &str)> {
        self.kept.iter().map(|(name, value)| (&**name, &**value))
    }

    fn list(&self, cached: &Cached, uri: &Uri) -> Option<Asked> {
        let least = self.revision.filter(|_| !self.exact && !self.continues)?;
        // The older meaning of a limit with a revision: exactly that one.
        if self.limited && least.0 > 0 {
            return None;
        }
        if least > cached.at {
            return Some(Asked::Ahead { least, watches: false });
        }
        Some(Asked::List { exact: exact(uri.path(), self.kept(), cached.at)? })
    }

    fn watch(&self, cached: &Cached, uri: &Uri) -> Option<Asked> {
        let any = self.revision.is_none_or(|revision| revision.0 == 0);
        // Where lists are streamed, a watch that begins anew is one (`SetListOptionsDefaults` of apimachinery).
        let streams = self.initial.unwrap_or(any && cached.streams_lists);
        if streams && !cached.streams_lists {
            return None;
        }
        let least = match self.revision {
            // Consistent: etcd is asked first (`getWatchCacheResourceVersion` of apiserver's `cacher`).
            None if streams || self.initial.is_some() => return None,
            None => Revision(0),
            Some(revision) => revision,
        };
        if streams && least > cached.at {
            return Some(Asked::Ahead { least, watches: true });
        }
        if !any && !streams {
            // What came later is asked for, and held on its way.
            return None;
        }
        let kept = || self.kept();
        let initial = match self.initial {
            Some(false) => None,
            _ => {
                let list = exact(uri.path(), kept(), cached.at)?;
                Some(Initial { list, marker: streams && self.bookmarks })
            }
        };
        let begins = [("watch", "true"), ("resourceVersion", &cached.at.to_string())];
        Some(Asked::Watch { follow: with(uri.path(), kept(), &begins)?, initial })
    }
}

/// A list of what a path names, at exactly this revision.
fn exact<'p>(
    path: &str,
    kept: impl IntoIterator<Item = (&'p str, &'p str)>,
    at: Revision,
) -> Option<Uri> {
    let of_watches = ["allowWatchBookmarks", "timeoutSeconds"];
    let kept = kept.into_iter().filter(|(name, _)| !of_watches.contains(name));
    with(path, kept, &[("resourceVersion", &at.to_string()), ("resourceVersionMatch", "Exact")])
}

/// The path with these parameters, and then those.
fn with<'p>(
    path: &str,
    kept: impl IntoIterator<Item = (&'p str, &'p str)>,
    then: &[(&str, &str)],
) -> Option<Uri> {
    let mut query = form_urlencoded::Serializer::new(String::new());
    let query = query.extend_pairs(kept).extend_pairs(then).finish();
    format!("{path}?{query}").parse().ok()
}

/// The path of the collection that an object is in.
fn collection(path: &str) -> Option<&str> {
    path.trim_end_matches('/').rsplit_once('/').map(|(collection, _)| collection)
}

#[cfg(test)]
mod tests {
    use plans::Behind;

    use super::*;

    fn cached(resource: Option<&str>, streams_lists: bool) -> Cached {
        let resource = resource.map(|text| text.parse().expect("a type"));
        let behind = Behind { resource, up_to: None, before: false };
        Cached { behind, at: Revision(7), streams_lists }
    }

    fn asked_of(cached: &Cached, uri: &str) -> Option<Asked> {
        Asked::of(cached, "GET", &uri.parse().expect("a uri"))
    }

    fn asked(uri: &str) -> Option<Asked> {
        asked_of(&cached(Some("pods"), true), uri)
    }

    fn uri(text: &str) -> Uri {
        text.parse().expect("a uri")
    }

    fn ahead(least: u64, watches: bool) -> Option<Asked> {
        Some(Asked::Ahead { least: Revision(least), watches })
    }

    const EXACT: &str = "resourceVersion=7&resourceVersionMatch=Exact";

    #[test]
    fn lists() {
        let check = |query: &str, expect: Option<&str>| {
            let expect =
                expect.map(|query| Asked::List { exact: uri(&format!("/api/v1/pods?{query}")) });
            assert_eq!(asked(&format!("/api/v1/pods?{query}")), expect, "{query}");
        };
        check("limit=500&resourceVersion=0", Some(EXACT));
        check("resourceVersion=0&resourceVersionMatch=NotOlderThan", Some(EXACT));
        check("resourceVersion=5", Some(EXACT));
        check("resourceVersion=7", Some(EXACT));
        let labels = "labelSelector=a%3Db&resourceVersion=0";
        check(labels, Some(&format!("labelSelector=a%3Db&{EXACT}")));
        // Consistent, exact, or a page of one that began.
        check("", None);
        check("resourceVersion=", None);
        check("resourceVersion=5&resourceVersionMatch=Exact", None);
        check("resourceVersion=5&limit=500", None);
        check("limit=500&continue=abc", None);
        assert_eq!(asked("/api/v1/pods?resourceVersion=9"), ahead(9, false));
        assert_eq!(asked("/api/v1/secrets?resourceVersion=0"), None);
    }

    #[test]
    fn gets() {
        let path = "/api/v1/namespaces/default/pods";
        let list = uri(&format!("{path}?fieldSelector=metadata.name%3Da&{EXACT}"));
        let get = Asked::Get { list, resource: GroupResource::new("", "pods"), name: "a".into() };
        let check =
            |rest: &str, expect| assert_eq!(asked(&format!("{path}/{rest}")), expect, "{rest}");
        check("a?resourceVersion=0", Some(get.clone()));
        check("a?resourceVersion=5", Some(get));
        check("a?resourceVersion=8", ahead(8, false));
        check("a", None);
        check("a?resourceVersion=", None);
        check("a/status?resourceVersion=0", None);
    }

    /// What a watch of pods is answered with: what follows, and what stands before it.
    fn watch(query: &str, selector: &str, initial: Option<bool>) -> (String, Option<Asked>) {
        let list =
            |marker| Initial { list: uri(&format!("/api/v1/pods?{selector}{EXACT}")), marker };
        let follow = uri(&format!("/api/v1/pods?{query}watch=true&resourceVersion=7"));
        (query.to_owned(), Some(Asked::Watch { follow, initial: initial.map(list) }))
    }

    #[test]
    fn watches() {
        let streams = cached(Some("pods"), true);
        let older = cached(Some("pods"), false);
        let check = |cached: &Cached, query: &str, expect: Option<Asked>| {
            let found = asked_of(cached, &format!("/api/v1/pods?watch=true&{query}"));
            assert_eq!(found, expect, "{query}");
        };
        let any = "resourceVersion=0";
        let bookmarks = "allowWatchBookmarks=true&";
        let of = |query: &str, selector: &str, initial| watch(query, selector, initial).1;
        check(&streams, any, of("", "", Some(false)));
        check(&streams, &format!("{bookmarks}{any}"), of(bookmarks, "", Some(true)));
        check(&older, &format!("{bookmarks}{any}"), of(bookmarks, "", Some(false)));
        let labels = "labelSelector=a%3Db&";
        check(&streams, &format!("{labels}{any}"), of(labels, labels, Some(false)));
        // Without a revision it is consistent where lists are streamed.
        check(&streams, "", None);
        check(&older, "", of("", "", Some(false)));
        // From a revision, what came later is held on its way.
        check(&streams, "resourceVersion=5", None);
        check(&streams, "resourceVersion=9", None);
    }

    #[test]
    fn streamed_lists() {
        let streams = cached(Some("pods"), true);
        let streamed =
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
        let of = |cached: &Cached, rest: &str| {
            asked_of(cached, &format!("/api/v1/pods?watch=true&{streamed}{rest}"))
        };
        let old = watch("allowWatchBookmarks=true&", "", Some(true)).1;
        assert_eq!(of(&streams, "&resourceVersion=0"), old);
        assert_eq!(of(&streams, "&resourceVersion=5"), old);
        assert_eq!(of(&streams, "&resourceVersion=9"), ahead(9, true));
        assert_eq!(of(&streams, ""), None, "consistent");
        assert_eq!(of(&cached(Some("pods"), false), "&resourceVersion=0"), None, "refused");
        let none = "watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
        let from_here = asked(&format!("/api/v1/pods?{none}&resourceVersion=0"));
        assert_eq!(from_here, watch("", "", None).1);
        assert_eq!(asked(&format!("/api/v1/pods?{none}")), None);
    }

    #[test]
    fn all_types_but_leases_and_events_are_behind_together() {
        let all = cached(None, true);
        assert!(asked_of(&all, "/api/v1/secrets?resourceVersion=0").is_some());
        let leases = "/apis/coordination.k8s.io/v1/leases?resourceVersion=0";
        assert_eq!(asked_of(&all, leases), None);
    }
}
