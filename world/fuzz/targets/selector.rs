//! Label and field selectors of lists. First byte: the type; second: which of both.
#![no_main]

use http::Method;
use libfuzzer_sys::fuzz_target;
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use trommel_fuzz::START_WORLD;

fuzz_target!(|data: &[u8]| {
    let [which, kind, text @ ..] = data else { return };
    let object = START_WORLD.object(*which);
    let kind = if kind % 2 == 0 { "labelSelector" } else { "fieldSelector" };
    let path = format!("{}?{kind}={}", object.collection, percent_encode(text, NON_ALPHANUMERIC));
    let answer = START_WORLD.arm().send(Method::GET, &path, "", Vec::new()).expect("an answer");
    assert!([200, 400].contains(&answer.code), "{path}: {answer:?}");
});
