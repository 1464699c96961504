//! Bodies in protobuf. First byte: the type; second: created or replaced, and whether the magic number is put before it.
#![no_main]

use http::Method;
use libfuzzer_sys::fuzz_target;
use trommel_fuzz::START_WORLD;

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

fuzz_target!(|data: &[u8]| {
    let [which, how, bytes @ ..] = data else { return };
    let object = START_WORLD.object(*which);
    let arm = START_WORLD.arm();
    let mut body = if how & 2 == 0 { b"k8s\0".to_vec() } else { Vec::new() };
    body.extend(bytes);
    let wrote = match how & 1 {
        0 => arm.send(Method::POST, &object.collection, PROTOBUF, body),
        _ => arm.send(Method::PUT, &object.path, PROTOBUF, body),
    };
    arm.check(object, &wrote.expect("an answer"));
});
