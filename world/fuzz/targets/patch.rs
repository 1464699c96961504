//! A patch of each kind for an object of each type. First byte: the type; second: the kind of patch.
#![no_main]

use http::Method;
use libfuzzer_sys::fuzz_target;
use trommel_fuzz::START_WORLD;

const KINDS: [&str; 3] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

fuzz_target!(|data: &[u8]| {
    let [which, kind, patch @ ..] = data else { return };
    let object = START_WORLD.object(*which);
    let arm = START_WORLD.arm();
    let kind = KINDS[usize::from(*kind) % KINDS.len()];
    let wrote = arm.send(Method::PATCH, &object.path, kind, patch.to_vec());
    arm.check(object, &wrote.expect("an answer"));
});
