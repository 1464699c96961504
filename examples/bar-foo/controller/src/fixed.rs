//! Fixed: the name follows from the Bar, so making the Foo a second time can't make a second Foo.
//!
//! Whoever is killed after the POST finds on the next try that the name is taken (409
//! AlreadyExists), looks who owns the Foo, and adopts it if that is this very Bar (by uid: a Bar of
//! the same name may have lived and died before). Listing our Foos before the POST would do too,
//! but only from the server; a list from the cache may be older than the Foo.

use kube::api::{Api, PostParams};
use kube::{Error, ResourceExt, Result};

use crate::resources::{Bar, Foo, foo_for};

/// Makes the Foo of `bar`, or returns the one that an earlier try has made.
///
/// # Errors Conflict if the name is taken by a Foo that isn't ours; it may go away, so trying again
/// is right.
pub async fn create_foo(foos: &Api<Foo>, bar: &Bar) -> Result<Foo> {
    let name = format!("foo-{}", bar.name_any());
    let mut foo = foo_for(bar);
    foo.metadata.name = Some(name.clone());

    let taken = match foos.create(&PostParams::default(), &foo).await {
        Err(Error::Api(status)) if status.is_already_exists() => status,
        made_or_failed => return made_or_failed,
    };
    let existing = foos.get(&name).await?;
    let ours =
        existing.owner_references().iter().any(|owner| Some(&owner.uid) == bar.uid().as_ref());
    if ours { Ok(existing) } else { Err(Error::Api(taken)) }
}
