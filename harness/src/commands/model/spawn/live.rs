//! What upstream's controllers read from the API server itself, because a cache that is behind would do harm.
//!
//! The pure controllers decide all of it by what they see, which in the embedded cluster is the store. In front of watches,
//! each of which may be behind, what they are about to conclude from something that they do *not* see is checked here
//! first. Where the server knows better, the key fails, and comes back when the watch may have told.

use controllers::{Controller, Owner, Request, View, object::Text, wire::JSON};
use serde_json::Value;
use trace::{GroupResource, ObjectKey, Revision};

use super::{manager::Manager, types::Type, watches::News};

/// A controller at an API server.
pub struct Live<'a> {
    /// What is known.
    pub manager: &'a Manager,
    /// Who asks.
    pub controller: Controller,
}

impl Live<'_> {
    /// What is to be known before a key is taken up.
    ///
    /// # Errors
    /// The caches are behind, or the server does not say.
    pub async fn check(&self, key: &ObjectKey) -> Result<(), String> {
        self.list_unwatched().await?;
        match self.controller {
            Controller::GarbageCollector => self.owners_are_gone(key).await,
            Controller::Namespace => self.namespace_is_seen(key).await,
            Controller::ClaimProtection => self.pods_are_seen(key).await,
            _ => Ok(()),
        }
    }

    /// What is to be known before a request is sent: who adopts is still there, and to stay (`RecheckDeletionTimestamp` of
    /// `pkg/controller`).
    ///
    /// # Errors
    /// It is not, or the server does not say.
    pub async fn check_request(&self, request: &Request) -> Result<(), String> {
        let Request::Adopt { key, owner, .. } = request else { return Ok(()) };
        let at = self.with_view(|view| owner_key(view, key, owner));
        let Some((of, at)) = at.and_then(|at| Some((self.of(&at.resource)?, at))) else {
            return Err(format!("{} {} can't be looked up", owner.kind, owner.name));
        };
        let (code, found) = self.get(&of.path(&at.namespace, &at.name, "")).await?;
        let meta = &found["metadata"];
        match code == 200 && meta["uid"] == *owner.uid && meta["deletionTimestamp"].is_null() {
            true => Ok(()),
            false => Err(format!("{at} adopts nothing any more")),
        }
    }

    /// Metrics are made when they are asked for.
    async fn list_unwatched(&self) -> Result<(), String> {
        for of in self.manager.unwatched(self.controller) {
            let (code, mut list) = self.get(&of.path("", "", "")).await?;
            if code == 200 {
                let items = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
                let listed = News::Listed(items, Revision::default());
                self.manager.state.borrow_mut().hear(&of, listed);
            }
        }
        Ok(())
    }

    /// An owner that no watch has told of may be there (`attemptToDeleteItem` of `pkg/controller/garbagecollector`).
    async fn owners_are_gone(&self, key: &ObjectKey) -> Result<(), String> {
        for (owner, uid) in self.with_view(|view| unknown_owners(view, key)) {
            let Some(of) = self.of(&owner.resource) else { continue };
            let path = of.path(&owner.namespace, &owner.name, "");
            match self.get(&path).await? {
                (404, _) => {}
                (200, found) if found["metadata"]["uid"] != *uid => {}
                (200, _) => return Err(format!("{owner} is not seen yet")),
                (code, answer) => return Err(format!("GET {path}: {code} {}", answer["message"])),
            }
        }
        Ok(())
    }

    /// What a namespace still holds is listed before it is called empty (`deleteAllContent` of
    /// `pkg/controller/namespace/deletion`).
    async fn namespace_is_seen(&self, key: &ObjectKey) -> Result<(), String> {
        let goes = |view: &View| view.get(key).is_some_and(|found| found.meta.is_deleted());
        if !self.with_view(goes) {
            return Ok(());
        }
        let types: Vec<Type> = self.manager.state.borrow().types.iter().cloned().collect();
        for of in types.iter().filter(|of| of.namespaced && of.watches) {
            let seen = |view: &View| view.list(&of.resource, &key.name).next().is_some();
            let watched = self.manager.state.borrow().cache.reached(&of.resource).is_some();
            if !watched || self.with_view(seen) {
                continue;
            }
            let path = format!("{}?limit=1", of.path(&key.name, "", ""));
            let (code, list) = self.get(&path).await?;
            let items = list["items"].as_array().map_or(0, Vec::len);
            match code {
                200 if items > 0 && !self.with_view(seen) => {
                    return Err(format!("{} of {} are not seen yet", of.resource, key.name));
                }
                200 | 404 => {}
                _ => return Err(format!("GET {path}: {code} {}", list["message"])),
            }
        }
        Ok(())
    }

    /// A pod that uses a claim may not be seen yet (`askAPIServer` of `pkg/controller/volume/pvcprotection`).
    async fn pods_are_seen(&self, key: &ObjectKey) -> Result<(), String> {
        let goes = |view: &View| view.get(key).is_some_and(|found| found.meta.is_deleted());
        let Some(pods) = self.of(&GroupResource::new("", "pods")) else { return Ok(()) };
        if !self.with_view(goes) {
            return Ok(());
        }
        let path = pods.path(&key.namespace, "", "");
        let (code, list) = self.get(&path).await?;
        if code != 200 {
            return Err(format!("GET {path}: {code} {}", list["message"]));
        }
        let mut there = list["items"].as_array().into_iter().flatten().map(|pod| pods.key(pod));
        match there.find(|pod| self.with_view(|view| view.get(pod).is_none())) {
            Some(unseen) => Err(format!("{unseen} is not seen yet")),
            None => Ok(()),
        }
    }

    fn of(&self, resource: &GroupResource) -> Option<Type> {
        self.manager.state.borrow().types.get(resource).cloned()
    }

    fn with_view<T>(&self, look: impl FnOnce(&View) -> T) -> T {
        look(&self.manager.state.borrow().cache.view)
    }

    async fn get(&self, path: &str) -> Result<(u16, Value), String> {
        let program = self.controller.program();
        self.manager.api.exchange("GET", path, JSON, &Value::Null, program).await
    }
}

/// The key that an owner reference of an object means; none where its type is not served.
fn owner_key(view: &View, of: &ObjectKey, owner: &Owner) -> Option<ObjectKey> {
    let kind = view.kinds.get(&owner.api_version, &owner.kind)?;
    let namespace = if kind.namespaced { &*of.namespace } else { "" };
    Some(ObjectKey::new(kind.resource.clone(), namespace, &owner.name))
}

/// The owners that an object names and of which nothing is known, with their uids.
fn unknown_owners(view: &View, key: &ObjectKey) -> Vec<(ObjectKey, Text)> {
    let owners = view.get(key).map(|object| &*object.meta.owners).unwrap_or_default();
    let unknown = owners.iter().filter_map(|owner| {
        let at = owner_key(view, key, owner)?;
        let known = view.get(&at).is_some_and(|found| found.meta.uid == owner.uid);
        (!known).then(|| (at, owner.uid.clone()))
    });
    unknown.collect()
}
