//! get, list, watch (kubernetes-api.md §3, §4).
//!
//! Every read is as fresh as it can be: there is one store and no cache before it. Stale reads that a
//! client allows are made by others, in front of the server.

use std::ops::Bound;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use trace::{ObjectKey, Revision};

use super::{List, Outcome, Payload, Work, options, options::RevisionMatch, scope::Scope};
use crate::{
    status::Refusal,
    store::{Root, Slot, Stored},
    watch,
};

/// Where a chunked list goes on.
struct Continue {
    revision: Revision,
    /// The list is no longer one snapshot: the token came with a 410.
    inconsistent: bool,
    after: Slot,
}

impl Work<'_> {
    pub(super) fn get(&mut self) -> Result<Outcome, Refusal> {
        let now = self.live.world.revision();
        if let (Some(asked), _) = options::revision(self.request, Some(&self.route.name))?
            && asked > now
        {
            return Err(Refusal::too_large_revision(asked, now));
        }
        let object = self.stored()?;
        Ok(Outcome::object(200, self.present(&object)?))
    }

    pub(super) fn watch(&mut self) -> Result<Outcome, Refusal> {
        let scope = Scope::read(self.kind.clone(), self.route, self.request)?;
        let number = watch::start(self.live, self.request, scope)?;
        Ok(Outcome { code: 200, payload: Payload::Watch(number), warnings: Vec::new() })
    }

    pub(super) fn list(&mut self) -> Result<Outcome, Refusal> {
        options::check_list(self.request)?;
        let scope = Scope::read(self.kind.clone(), self.route, self.request)?;
        let (asked, matching) = options::revision(self.request, None)?;
        let mut limit = self.request.query("limit").parse::<usize>().unwrap_or(0);
        let token = match self.request.query("continue") {
            "" => None,
            text => Some(self.read_continue(text, asked)?),
        };
        let now = self.live.world.revision();
        let (revision, from) = match &token {
            Some(token) if token.inconsistent => (now, Bound::Excluded(token.after.clone())),
            Some(token) => (token.revision, Bound::Excluded(token.after.clone())),
            None => match (asked, matching) {
                (Some(asked), _) if asked > now => {
                    return Err(Refusal::too_large_revision(asked, now));
                }
                (Some(Revision(0)), _) => {
                    // Served as from the watch cache, which ignores the limit.
                    limit = 0;
                    (now, Bound::Unbounded)
                }
                (Some(asked), RevisionMatch::Exact) => (asked, Bound::Unbounded),
                (Some(asked), RevisionMatch::Unset) if limit > 0 => (asked, Bound::Unbounded),
                _ => (now, Bound::Unbounded),
            },
        };
        let world = &self.live.world;
        let root = match world.store.root_at(revision) {
            Ok(Some(root)) => root.clone(),
            Ok(None) => return Err(Refusal::too_large_revision(revision, now)),
            Err(_) => return Err(self.expired(token.as_ref(), revision)),
        };
        let list = self.page(&scope, &root, revision, from, limit)?;
        Ok(Outcome { code: 200, payload: Payload::List(list), warnings: Vec::new() })
    }

    fn page(
        &mut self,
        scope: &Scope,
        root: &Root,
        revision: Revision,
        from: Bound<Slot>,
        limit: usize,
    ) -> Result<List, Refusal> {
        let mut metadata = self.list_metadata(revision);
        let mut items = Vec::new();
        let mut last: Option<&ObjectKey> = None;
        let mut rest = self.found(scope, root, from)?;
        for (key, stored) in rest.by_ref() {
            if limit > 0 && items.len() == limit {
                // One more exists: this one and those behind it remain.
                let last = last.expect("the limit is at least one");
                metadata["continue"] = json!(write_continue(revision, last));
                if !scope.is_selective() {
                    metadata["remainingItemCount"] = json!(1 + rest.count());
                }
                break;
            }
            items.push(stored);
            last = Some(key);
        }
        Ok(List { items: self.present_stored(items)?, metadata })
    }

    /// The objects of a scope at a root, from a slot on, in list order: as they are stored, but those that have to be
    /// converted before it can be told whether they are selected.
    pub(super) fn found<'a>(
        &mut self,
        scope: &'a Scope,
        root: &'a Root,
        from: Bound<Slot>,
    ) -> Result<Box<dyn Iterator<Item = (&'a ObjectKey, Stored)> + 'a>, Refusal> {
        let covered = scope.covered(root, from).map(|(key, stored)| (key, stored.clone()));
        if !scope.looks_inside() {
            return Ok(Box::new(covered));
        }
        let selected = move |stored: &Stored| scope.selects(stored.object());
        if !self.kind.has_converter() {
            return Ok(Box::new(covered.filter(move |(_, stored)| selected(stored))));
        }
        let (keys, stored): (Vec<_>, Vec<_>) = covered.unzip();
        let shown = keys.into_iter().zip(self.present_stored(stored)?);
        Ok(Box::new(shown.filter(move |(_, stored)| selected(stored))))
    }

    /// Lists of custom types always show where they go on: nowhere.
    pub(super) fn list_metadata(&self, revision: Revision) -> Value {
        match self.kind.is_custom() {
            true => json!({"continue": "", "resourceVersion": revision.to_string()}),
            false => json!({"resourceVersion": revision.to_string()}),
        }
    }

    fn read_continue(&self, text: &str, asked: Option<Revision>) -> Result<Continue, Refusal> {
        let invalid = || Refusal::bad_request("continue key is not valid: the token is malformed");
        if asked.is_some_and(|asked| asked != Revision(0)) {
            let message = "specifying resource version is not allowed when using continue";
            return Err(Refusal::bad_request(message));
        }
        let bytes =
            BASE64_URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).map_err(|_| invalid())?;
        let token: Value = serde_json::from_slice(&bytes).map_err(|_| invalid())?;
        let version = token.get("v").and_then(Value::as_str).unwrap_or("");
        let revision = token.get("rv").and_then(Value::as_i64).ok_or_else(invalid)?;
        let start = token.get("start").and_then(Value::as_str).ok_or_else(invalid)?;
        if version != "meta.k8s.io/v1" {
            return Err(invalid());
        }
        let path = start.trim_start_matches('/').trim_end_matches('\0');
        let (namespace, name) = path.split_once('/').unwrap_or((&self.route.namespace, path));
        let after = Slot(ObjectKey::new(self.kind.storage.clone(), namespace, name));
        let inconsistent = revision < 0;
        Ok(Continue { revision: Revision(revision.max(0) as u64), inconsistent, after })
    }

    /// 410; for a chunked list with a token that goes on at the same place in the current state.
    fn expired(&self, token: Option<&Continue>, asked: Revision) -> Refusal {
        let Some(token) = token else {
            return Refusal::too_old(asked, self.live.world.store.compacted());
        };
        let mut refusal = Refusal::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start \
             a new list without the continue parameter, or use the continue token in this response to \
             retrieve the remainder of the results. Continuing with the provided token results in an \
             inconsistent list - objects that were created, modified, or deleted between the time the first \
             chunk was returned and now may show up in the list.",
        );
        refusal.continue_token = Some(encode_continue(-1, &token.after.0).into());
        refusal
    }
}

fn write_continue(revision: Revision, last: &ObjectKey) -> String {
    encode_continue(revision.0 as i64, last)
}

fn encode_continue(revision: i64, last: &ObjectKey) -> String {
    let slash = if last.namespace.is_empty() { "" } else { "/" };
    let start = format!("{}{slash}{}\0", last.namespace, last.name);
    let token = json!({"v": "meta.k8s.io/v1", "rv": revision, "start": start});
    BASE64_URL_SAFE_NO_PAD.encode(token.to_string())
}
