//! Writes the inputs with which fuzzing begins: `seeds FOLDER`. A folder for each target in it.

use std::{env, fs, io, path::Path};

use trommel_fuzz::START_WORLD;

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1).ok_or_else(|| io::Error::other("seeds FOLDER"))?;
    let folder = Path::new(&folder);
    for (number, object) in START_WORLD.objects.iter().enumerate() {
        let which = u8::try_from(number).map_err(io::Error::other)?;
        let seed = |target: &str, name: &str, bytes: Vec<u8>| {
            fs::create_dir_all(folder.join(target))?;
            fs::write(folder.join(target).join(format!("{which}-{name}")), bytes)
        };
        for (at, edit) in object.edits.iter().enumerate() {
            let edit = edit.to_string();
            seed("patch", &format!("merge-{at}"), [&[which, 1], edit.as_bytes()].concat())?;
            seed("patch", &format!("strategic-{at}"), [&[which, 2], edit.as_bytes()].concat())?;
            let add = format!(r#"[{{"op":"add","path":"/metadata/annotations","value":{edit}}}]"#);
            seed("patch", &format!("json-{at}"), [&[which, 0], add.as_bytes()].concat())?;
        }
        let text = object.body.to_string();
        let twice = format!("{text}\n---\n{text}");
        seed("apply", "twice", [&[which], twice.as_bytes()].concat())?;
        seed("selector", "labels", [&[which, 0], &b"l=1,a!=b,c in (d,e),!f"[..]].concat())?;
        seed("selector", "fields", [&[which, 1], &b"metadata.name=fuzzed"[..]].concat())?;
        let line = format!("{}?dryRun=All&fieldValidation=Strict\n{text}", object.collection);
        seed("route", "create", [&[1], line.as_bytes()].concat())?;
        let line = format!("{}?resourceVersion=0&limit=1", object.collection);
        seed("route", "list", [&[0], line.as_bytes()].concat())?;
        if let Some(bytes) = START_WORLD.protobuf(object) {
            seed("protobuf", "create", [&[which, 2], &bytes[..]].concat())?;
            seed("protobuf", "replace", [&[which, 3], &bytes[..]].concat())?;
        }
    }
    Ok(())
}
