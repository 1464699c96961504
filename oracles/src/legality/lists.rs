//! Lists: what they show is one state of the store, in etcd's order, page by page.

use trace::{Answer, Call, GroupResource, ObjectKey, Revision};

use super::{
    Look, Problem, Rule,
    content::{self, differs, revision, revision_text},
    said,
    selector::Scope,
    store::etcd_order,
};

/// Where a list goes on that came in pages.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Which state it shows; none: the present one, since its own was too old (API concepts, *retrieving large results
    /// sets in chunks*).
    revision: Option<Revision>,
    /// The last object that was shown, if any was.
    after: Option<ObjectKey>,
}

/// A token counts for the path that it was given for: it names a place below that (`DecodeContinue` of apiserver's
/// `storage`).
pub type Token = (Option<GroupResource>, String, String);

fn token(call: &Call, scope: &Scope, text: &str) -> Token {
    (scope.resource.clone(), call.namespace.clone(), text.to_owned())
}

impl Look<'_> {
    pub(super) fn listed(&mut self, call: &Call, since: Revision, answer: &Answer) {
        let scope = Scope::of(call);
        let Some(resource) = &scope.resource else { return };
        let body = answer.body.json();
        let goes_on = body.and_then(|body| body["metadata"]["continue"].as_str());
        let goes_on = goes_on.filter(|text| !text.is_empty());
        let begins = self.begins(call, &scope);
        let items = body.and_then(|body| body.get("items")?.as_array());
        if !self.store.has(resource) {
            let held = items.and_then(|items| items.iter().find(|item| revision(item).is_some()));
            return self.of_no_such_type(call, resource, held);
        }
        let Some(shown) = answer.revision.filter(|revision| revision.0 > 0) else {
            if body.is_none() {
                return self.unseen("lists whose revision was not read");
            }
            let text = format!("{} has no revision", said(call));
            return self.object(Rule::Snapshot, text);
        };
        let keys: Vec<ObjectKey> =
            items.into_iter().flatten().map(|item| content::key(resource, item)).collect();
        if let Some(wrong) = out_of_order(&keys) {
            let text = format!("{} is in no order of the store: {wrong}", said(call));
            return self.object(Rule::Snapshot, text);
        }
        if let (Some(text), Some(_)) = (goes_on, items) {
            let before = begins.as_ref().and_then(|page| page.after.clone());
            let page = Page { revision: Some(shown), after: keys.last().cloned().or(before) };
            self.pages.insert(token(call, &scope, text), page);
        }
        if resource.is_bookkeeping() {
            return self.unseen("lists of bookkeeping");
        }
        if let Some((rule, why)) = not_asked_for(&scope, begins.as_ref(), since, shown) {
            self.object(rule, format!("{} shows {}: {why}", said(call), shown.0));
        }
        if shown > self.now {
            let text = format!("{} shows {}, which is yet to come", said(call), shown.0);
            return self.object(Rule::Snapshot, text);
        }
        if items.is_none() {
            return self.unseen("lists whose items were not kept");
        }
        if scope.is_opaque(self.store) || shown < self.store.since() {
            return self.unseen("lists whose state is not known");
        }
        let (items, body) = (items.into_iter().flatten(), body.map(|body| &**body));
        let versions = keys.iter().zip(items.clone().map(revision_text)).collect();
        if let Some(wrong) = self.missed(&scope, shown, versions, begins, goes_on.is_some()) {
            let text = format!("{} is not the state at {}: {wrong}", said(call), shown.0);
            self.object(Rule::Snapshot, text);
        }
        if let Some((rule, text)) =
            items.into_iter().find_map(|item| differs(self.store, &scope, item, body))
        {
            self.object(rule, text);
        }
    }

    /// Where a list begins; none if its token was given before the history began.
    fn begins(&self, call: &Call, scope: &Scope) -> Option<Page> {
        match scope.continues() {
            true => self.pages.get(&token(call, scope, &scope.token)).cloned(),
            false => Some(Page::default()),
        }
    }

    /// A list that can't go on says with which token it goes on in the present state.
    pub(super) fn expired(&mut self, call: &Call, answer: &Answer) {
        let scope = Scope::of(call);
        let text = answer.body.json().and_then(|body| body["metadata"]["continue"].as_str());
        if let (Some(text), Some(Page { after, .. })) = (text, self.begins(call, &scope)) {
            self.pages.insert(token(call, &scope, text), Page { revision: None, after });
        }
    }

    /// What a page should have shown, or should not have. A page shows all from where it begins to its last item, and one
    /// after which nothing comes shows all the rest; with selectors it may be followed by an empty one. `begins`: none if
    /// its token was given before the history began.
    fn missed(
        &self,
        scope: &Scope,
        at: Revision,
        shown: Vec<(&ObjectKey, String)>,
        begins: Option<Page>,
        goes_on: bool,
    ) -> Option<String> {
        let mut stored: Vec<(&ObjectKey, String)> = self
            .store
            .listed(scope, at)
            .map(|(key, object)| (key, revision_text(object)))
            .collect();
        stored.sort_by(|(one, _), (other, _)| etcd_order(one, other));
        let before_first = |(key, _): &(&ObjectKey, String)| match (&begins, shown.first()) {
            (Some(page), _) => {
                page.after.as_ref().is_some_and(|after| etcd_order(key, after).is_le())
            }
            (None, Some((first, _))) => etcd_order(key, first).is_lt(),
            (None, None) => true,
        };
        let mut expected = stored.iter().skip_while(|one| before_first(one));
        for (key, version) in &shown {
            match expected.next() {
                Some(next) if next.0 == *key && next.1 == *version => {}
                Some((next, _)) if etcd_order(next, key).is_lt() => {
                    return Some(format!("{next} is missing"));
                }
                _ => return Some(format!("{key} at {version} is no part of it")),
            }
        }
        let (left, _) = expected.next().filter(|_| !goes_on)?;
        Some(format!("{left} is missing"))
    }
}

/// Lists come in the order of etcd's keys, each object once (API concepts; the watch cache keeps that order).
fn out_of_order(keys: &[ObjectKey]) -> Option<String> {
    let wrong = keys.windows(2).find(|pair| !etcd_order(&pair[0], &pair[1]).is_lt())?;
    Some(match wrong[0] == wrong[1] {
        true => format!("{} comes twice", wrong[0]),
        false => format!("{} comes before {}", wrong[0], wrong[1]),
    })
}

/// Why a list may not show the state of this revision.
fn not_asked_for(
    scope: &Scope,
    begins: Option<&Page>,
    since: Revision,
    shown: Revision,
) -> Option<Problem> {
    let is_old = || (shown < since).then(|| format!("the store was at {} already", since.0));
    if scope.continues() {
        return match begins?.revision {
            Some(first) => (first != shown).then(|| {
                (Rule::Snapshot, format!("the list that it continues is one of {}", first.0))
            }),
            // The token came with a 410.
            None => is_old().map(|why| (Rule::ConsistentRead, why)),
        };
    }
    match scope.revision {
        Some(Revision(0)) => None,
        Some(asked) if scope.is_exact() => (shown != asked)
            .then(|| (Rule::AskedRevision, format!("exactly {} was asked for", asked.0))),
        Some(asked) => (shown < asked)
            .then(|| (Rule::AskedRevision, format!("no state before {} was asked for", asked.0))),
        None => is_old().map(|why| (Rule::ConsistentRead, why)),
    }
}
