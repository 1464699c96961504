//! What several managers apply, one after the other. First byte: the type; documents end where `---` stands on a line.
#![no_main]

use http::Method;
use libfuzzer_sys::fuzz_target;
use trommel_fuzz::START_WORLD;

const APPLY: &str = "application/apply-patch+yaml";

fuzz_target!(|data: &[u8]| {
    let [which, text @ ..] = data else { return };
    let object = START_WORLD.object(*which);
    let arm = START_WORLD.arm();
    let Ok(text) = std::str::from_utf8(text) else { return };
    for (at, document) in text.split("\n---\n").take(4).enumerate() {
        let force = at % 2 == 1;
        let path = format!("{}?fieldManager=m{at}&force={force}", object.path);
        let wrote = arm.send(Method::PATCH, &path, APPLY, document.as_bytes().to_vec());
        arm.check(object, &wrote.expect("an answer"));
    }
});
