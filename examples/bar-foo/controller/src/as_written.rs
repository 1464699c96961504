//! As written: the server chooses the name, and only the Bar's status will know it.
//!
//! Between the POST below and the write of `status.objRef` the Foo exists and nothing says so. A
//! controller that is killed there starts again, sees a Bar without `objRef`, and makes a second
//! Foo. The first one stays for as long as its Bar lives, used by nobody.

use kube::Result;
use kube::api::{Api, PostParams};

use crate::resources::{Bar, Foo, foo_for};

/// Makes a Foo for `bar` and returns it as the server stored it.
pub async fn create_foo(foos: &Api<Foo>, bar: &Bar) -> Result<Foo> {
    let mut foo = foo_for(bar);
    foo.metadata.generate_name = Some("foo-".into());
    foos.create(&PostParams::default(), &foo).await
}
