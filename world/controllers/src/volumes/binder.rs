//! The binder of claims and volumes (`pkg/controller/volume/persistentvolume`, Kubernetes 1.36).
//!
//! A claim gets the smallest free volume that satisfies it, or waits for one to be provisioned; a volume whose claim
//! is gone is released. Of several volumes of the same size upstream takes any, here the first by name. Upstream
//! looks at waiting claims every 15 s; here they are looked at when a volume or class changes. Volumes that were not
//! provisioned and are to be deleted become Failed, as upstream where no plug-in can delete them; recycling is not
//! there, and such volumes stay Released.

use serde_json::{Value, json};
use trace::{ObjectKey, Revision};

use super::{
    BIND_COMPLETED, BOUND_BY_CONTROLLER, Claim, Class, NO_PROVISIONER, PROVISIONED_BY,
    PROVISIONERS, SELECTED_NODE, Volume, bytes, claims, classes, volumes,
};
use crate::{
    calls::{Calls, Reconciled, Stop},
    controller::{Affected, Change},
    object::{Body, Labels, Meta, Object, Text},
    request::Request,
    view::View,
    write,
};

pub(crate) fn reconcile(view: &View, key: &ObjectKey, calls: &mut Calls<'_>) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    match &object.body {
        Body::Claim(claim) => Work { view, key, meta: &object.meta, claim, calls }.claim(),
        Body::Volume(volume) => sync_volume(view, key, &object.meta, volume, calls),
        _ => Ok(None),
    }
}

/// What the sync of one claim knows.
struct Work<'v, 'c, 'r> {
    view: &'v View,
    key: &'v ObjectKey,
    meta: &'v Meta,
    claim: &'v Claim,
    calls: &'c mut Calls<'r>,
}

/// Whether a volume is kept for this claim (`IsVolumeBoundToClaim`).
fn is_for(volume: &Volume, key: &ObjectKey, uid: &str) -> bool {
    volume.claim.as_ref().is_some_and(|of| {
        of.name == key.name
            && of.namespace == key.namespace
            && (of.uid.is_empty() || *of.uid == *uid)
    })
}

fn volume_named<'v>(view: &'v View, name: &str) -> Option<(ObjectKey, &'v Meta, &'v Volume)> {
    let key = ObjectKey::new(volumes(), "", name);
    let object = view.get(&key)?;
    match &object.body {
        Body::Volume(volume) => Some((key, &object.meta, volume)),
        _ => None,
    }
}

fn class_of<'v>(view: &'v View, claim: &Claim) -> Option<&'v Class> {
    let name = claim.class.as_ref().filter(|name| !name.is_empty())?;
    match &view.get(&ObjectKey::new(classes(), "", name))?.body {
        Body::Class(class) => Some(class),
        _ => None,
    }
}

impl<'v> Work<'v, '_, '_> {
    fn claim(&mut self) -> Reconciled {
        let bound = self.meta.annotations.contains_key(BIND_COMPLETED);
        match (bound, self.claim.volume.is_empty()) {
            (false, true) => self.find(),
            (false, false) => self.as_asked(),
            (true, true) => {
                branch!(ClaimLostName);
                self.phase("Lost")
            }
            (true, false) => match volume_named(self.view, &self.claim.volume) {
                None => {
                    branch!(ClaimLost);
                    self.phase("Lost")
                }
                Some(found) => match &found.2.claim {
                    Some(of) if of.uid != self.meta.uid => self.phase("Lost"),
                    _ => self.bind(found),
                },
            },
        }
    }

    /// A claim that takes any volume.
    fn find(&mut self) -> Reconciled {
        let class = class_of(self.view, self.claim);
        let waits = class.is_some_and(|class| class.waits);
        if let Some(found) = self.best_match(waits) {
            branch!(ClaimFinds);
            return self.bind(found);
        }
        if self.claim.class.is_none()
            && let Some(name) = self.default_class()
        {
            branch!(ClaimDefaultClass);
            self.update(self.meta.revision, vec![("/spec/storageClassName", json!(name))])?;
            return Ok(None);
        }
        if waits && !self.meta.annotations.contains_key(SELECTED_NODE) {
            branch!(ClaimWaits);
            return self.phase("Pending");
        }
        match class {
            Some(class) if *class.provisioner != *NO_PROVISIONER => {
                self.ask_for(&class.provisioner)?;
                Ok(None)
            }
            _ if self.claim.class.as_deref().unwrap_or("").is_empty() => self.phase("Pending"),
            _ => Ok(None),
        }
    }

    /// Marks the claim for its provisioner (`setClaimProvisioner`).
    fn ask_for(&mut self, provisioner: &Text) -> Result<(), Stop> {
        let mut annotations = self.meta.annotations.clone();
        for name in PROVISIONERS {
            annotations.insert(name.into(), provisioner.clone());
        }
        if annotations != self.meta.annotations {
            let fields = vec![("/metadata/annotations", write::labels(&annotations))];
            self.update(self.meta.revision, fields)?;
        }
        Ok(())
    }

    /// The newest of the classes that are the default.
    fn default_class(&self) -> Option<Text> {
        let classes_of = classes();
        let all = self.view.list(&classes_of, "");
        let default = all
            .filter(|(_, object)| matches!(&object.body, Body::Class(class) if class.is_default));
        let newest = default.max_by(|a, b| {
            let age = a.1.meta.created.cmp(&b.1.meta.created);
            age.then_with(|| b.0.name.cmp(&a.0.name))
        });
        newest.map(|(key, _)| key.name)
    }

    /// A claim that names its volume.
    fn as_asked(&mut self) -> Reconciled {
        let Some(found) = volume_named(self.view, &self.claim.volume) else {
            return self.phase("Pending");
        };
        if found.2.claim.is_none() {
            branch!(ClaimAsks);
            let fits = !found.1.is_deleted() && self.fits(found.2);
            return if fits { self.bind(found) } else { self.phase("Pending") };
        }
        if is_for(found.2, self.key, &self.meta.uid) {
            return self.bind(found);
        }
        if !self.meta.annotations.contains_key(BOUND_BY_CONTROLLER) {
            branch!(ClaimTaken);
            return self.phase("Pending");
        }
        Err(Stop::Failed(format!("volume {} is already claimed", self.claim.volume)))
    }

    /// `checkVolumeSatisfyClaim`, without deletion.
    fn fits(&self, volume: &Volume) -> bool {
        bytes(&volume.capacity) >= bytes(&self.claim.request)
            && *volume.class == *self.claim.class.as_deref().unwrap_or("")
            && volume.volume_mode == self.claim.volume_mode
            && self.claim.modes.iter().all(|mode| volume.modes.contains(mode))
    }

    /// `findBestMatchForClaim`: fewest access modes first, then the smallest.
    fn best_match(&self, waits: bool) -> Option<(ObjectKey, &'v Meta, &'v Volume)> {
        let resource = volumes();
        let all: Vec<_> = self
            .view
            .list(&resource, "")
            .filter_map(|(key, object)| match &object.body {
                Body::Volume(volume) => Some((key, &*object.meta, &**volume)),
                _ => None,
            })
            .filter(|(_, meta, volume)| {
                let taken = volume.claim.is_some() && !is_for(volume, self.key, &self.meta.uid);
                !taken
                    && !meta.is_deleted()
                    && bytes(&volume.capacity) >= bytes(&self.claim.request)
                    && volume.volume_mode == self.claim.volume_mode
                    && self.claim.modes.iter().all(|mode| volume.modes.contains(mode))
            })
            .collect();
        let kept = all.iter().find(|(_, _, volume)| is_for(volume, self.key, &self.meta.uid));
        if kept.is_some() || waits {
            return kept.cloned();
        }
        let selects = |meta: &Meta| {
            self.claim.selector.as_ref().is_none_or(|selector| selector.matches(&meta.labels))
        };
        all.into_iter()
            .filter(|(_, meta, volume)| {
                *volume.phase == *"Available" && selects(meta) && self.fits(volume)
            })
            .min_by_key(|(_, _, volume)| (volume.modes.len(), bytes(&volume.capacity)))
    }

    fn update(
        &mut self,
        revision: Revision,
        fields: Vec<(&'static str, Value)>,
    ) -> Result<Option<Object>, Stop> {
        let key = self.key.clone();
        self.calls.must(|| Request::Update { key, revision, subresource: "", fields })
    }

    /// `bind`: volume, its phase, claim, its status, each if it is not so already.
    fn bind(&mut self, (key, meta, volume): (ObjectKey, &Meta, &Volume)) -> Reconciled {
        let mut revision = meta.revision;
        let (mine, uid) = (is_for(volume, self.key, &self.meta.uid), &self.meta.uid);
        if volume.claim.as_ref().is_none_or(|of| of.uid != *uid) {
            let mut annotations = meta.annotations.clone();
            if !mine {
                annotations.entry(BOUND_BY_CONTROLLER.into()).or_insert_with(|| "yes".into());
            }
            let reference = super::reference(self.key, self.meta);
            let written = self.calls.must(|| Request::Update {
                key: key.clone(),
                revision,
                subresource: "",
                fields: vec![
                    ("/metadata/annotations", write::labels(&annotations)),
                    ("/spec/claimRef", reference),
                ],
            })?;
            revision = written.map_or(revision, |object| object.meta.revision);
        }
        set_phase(&key, revision, volume, "Bound", "", self.calls)?;
        let revision = self.complete(&key.name)?;
        self.status(revision, "Bound", Some(volume))
    }

    /// `bindClaimToVolume`. The claim's revision after it.
    fn complete(&mut self, volume: &Text) -> Result<Revision, Stop> {
        let mut annotations: Labels = self.meta.annotations.clone();
        let yes = || Text::from("yes");
        if self.claim.volume != *volume {
            annotations.entry(BOUND_BY_CONTROLLER.into()).or_insert_with(yes);
        }
        annotations.entry(BIND_COMPLETED.into()).or_insert_with(yes);
        if annotations == self.meta.annotations && self.claim.volume == *volume {
            return Ok(self.meta.revision);
        }
        let fields = vec![
            ("/metadata/annotations", write::labels(&annotations)),
            ("/spec/volumeName", json!(volume)),
        ];
        let written = self.update(self.meta.revision, fields)?;
        Ok(written.map_or(self.meta.revision, |object| object.meta.revision))
    }

    /// A phase without a volume. A lost claim stays as it is.
    fn phase(&mut self, phase: &'static str) -> Reconciled {
        if phase == "Lost" && *self.claim.phase == *phase {
            return Ok(None);
        }
        self.status(self.meta.revision, phase, None)
    }

    /// `updateClaimStatus`.
    fn status(&mut self, revision: Revision, phase: &str, volume: Option<&Volume>) -> Reconciled {
        let (modes, capacity) = match volume {
            None => (&[][..], Text::from("")),
            Some(volume) if *self.claim.phase == *phase => {
                (&volume.modes[..], self.claim.capacity.clone())
            }
            Some(volume) => (&volume.modes[..], volume.capacity.clone()),
        };
        let same = *self.claim.phase == *phase
            && self.claim.bound_modes == modes
            && self.claim.capacity == capacity;
        if same {
            return Ok(None);
        }
        let none = |value: Value, absent: bool| if absent { Value::Null } else { value };
        let fields = vec![
            ("/status/phase", json!(phase)),
            ("/status/accessModes", none(json!(modes), modes.is_empty())),
            ("/status/capacity", none(json!({"storage": capacity}), capacity.is_empty())),
        ];
        let key = self.key.clone();
        self.calls.must(|| Request::Update { key, revision, subresource: "status", fields })?;
        Ok(None)
    }
}

fn set_phase(
    key: &ObjectKey,
    revision: Revision,
    volume: &Volume,
    phase: &str,
    message: &str,
    calls: &mut Calls<'_>,
) -> Result<Option<Object>, Stop> {
    if *volume.phase == *phase {
        return Ok(None);
    }
    let message = if message.is_empty() { Value::Null } else { json!(message) };
    calls.must(|| Request::Update {
        key: key.clone(),
        revision,
        subresource: "status",
        fields: vec![("/status/phase", json!(phase)), ("/status/message", message)],
    })
}

/// `syncVolume`.
fn sync_volume(
    view: &View,
    key: &ObjectKey,
    meta: &Meta,
    volume: &Volume,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let of = match &volume.claim {
        Some(of) if !of.uid.is_empty() => of,
        _ => {
            set_phase(key, meta.revision, volume, "Available", "", calls)?;
            return Ok(None);
        }
    };
    let claim = view.get(&of.key()).filter(|claim| claim.meta.uid == of.uid);
    let claim = claim.and_then(|object| match &object.body {
        Body::Claim(claim) => Some(claim),
        _ => None,
    });
    let provisioned = meta.annotations.contains_key(PROVISIONED_BY);
    match claim {
        // The claim's own turn binds it.
        Some(claim) if claim.volume.is_empty() => {}
        Some(claim) if claim.volume == key.name => {
            set_phase(key, meta.revision, volume, "Bound", "", calls)?;
        }
        Some(_) if !provisioned || *volume.reclaim != *"Delete" => unbind(key, meta, calls)?,
        _ => release(key, meta, volume, provisioned, calls)?,
    }
    Ok(None)
}

/// Its claim is gone, or has another volume.
fn release(
    key: &ObjectKey,
    meta: &Meta,
    volume: &Volume,
    provisioned: bool,
    calls: &mut Calls<'_>,
) -> Result<(), Stop> {
    let mut revision = meta.revision;
    if !matches!(&*volume.phase, "Released" | "Failed") {
        branch!(VolumeReleased);
        let written = set_phase(key, revision, volume, "Released", "", calls)?;
        revision = written.map_or(revision, |object| object.meta.revision);
    }
    if *volume.reclaim == *"Delete" && !provisioned {
        let why = format!(
            "error getting deleter volume plugin for volume {:?}: no deletable volume plugin matched",
            key.name
        );
        branch!(VolumeFails);
        set_phase(key, revision, volume, "Failed", &why, calls)?;
    }
    Ok(())
}

/// `unbindVolume`: free again if the controller had bound it, else kept for the claim's name.
fn unbind(key: &ObjectKey, meta: &Meta, calls: &mut Calls<'_>) -> Result<(), Stop> {
    branch!(VolumeUnbound);
    let mut annotations = meta.annotations.clone();
    let fields = match annotations.remove(BOUND_BY_CONTROLLER) {
        Some(_) => vec![
            ("/metadata/annotations", write::labels(&annotations)),
            ("/spec/claimRef", Value::Null),
        ],
        None => vec![("/spec/claimRef/uid", Value::Null)],
    };
    let (key, revision) = (key.clone(), meta.revision);
    calls.must(|| Request::Update { key, revision, subresource: "", fields })?;
    Ok(())
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let resource = &change.key.resource;
    let mut affected = Vec::new();
    let bodies = || [change.before, change.after].into_iter().flatten().map(|object| &object.body);
    if *resource == claims() {
        affected.push(Affected::now(change.key));
        for body in bodies() {
            let Body::Claim(claim) = body else { continue };
            if !claim.volume.is_empty() {
                affected.push(Affected::now(&ObjectKey::new(volumes(), "", &claim.volume)));
            }
        }
    } else if *resource == volumes() || *resource == classes() {
        if *resource == volumes() {
            affected.push(Affected::now(change.key));
        }
        for body in bodies() {
            let Body::Volume(volume) = body else { continue };
            affected.extend(volume.claim.as_ref().map(|of| Affected::now(&of.key())));
        }
        let resource = claims();
        for (key, object) in view.list(&resource, "") {
            if matches!(&object.body, Body::Claim(claim) if *claim.phase != *"Bound") {
                affected.push(Affected::now(&key));
            }
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    affected.retain(|one| seen.insert(one.key.clone()));
    affected
}
