//! Paths and queries. First byte: the method; the rest up to a line feed: path and query; then the body.
#![no_main]

use http::Method;
use libfuzzer_sys::fuzz_target;
use trommel_fuzz::START_WORLD;

const METHODS: [Method; 7] = [
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::HEAD,
    Method::OPTIONS,
];

fuzz_target!(|data: &[u8]| {
    let [method, rest @ ..] = data else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let (path, body) = text.split_once('\n').unwrap_or((text, ""));
    // A watch has no end; the selector of a type is another target's.
    if path.contains("watch") || path.contains("follow") {
        return;
    }
    let method = METHODS[usize::from(*method) % METHODS.len()].clone();
    let _ = START_WORLD.arm().send(method, path, "application/json", body.as_bytes().to_vec());
});
