//! Which form of an answer a client wants: the `Accept` header against what is on offer.

use serde_json::Value;

/// How bytes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `application/json`
    Json,
    /// `application/yaml`
    Yaml,
    /// `application/vnd.kubernetes.protobuf`
    Protobuf,
}

/// Another kind that the answer is turned into: `as=Table;g=meta.k8s.io;v=v1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// `g`
    pub group: &'static str,
    /// `v`
    pub version: &'static str,
    /// `as`
    pub kind: &'static str,
    /// Whether it has a protobuf form.
    pub protobuf: bool,
}

impl Target {
    /// The object's metadata.
    pub const METADATA: Target = Target::meta("PartialObjectMetadata", true);
    /// The metadata of a list's objects.
    pub const METADATA_LIST: Target = Target::meta("PartialObjectMetadataList", true);
    /// Rows for kubectl.
    pub const TABLE: Target = Target::meta("Table", false);
    /// Aggregated discovery.
    pub const DISCOVERY: Target = Target {
        group: "apidiscovery.k8s.io",
        version: "v2",
        kind: "APIGroupDiscoveryList",
        protobuf: false,
    };

    /// The views of an object or a list in both of their versions. A view that does not fit what it is asked of is
    /// agreed on all the same, and refused later.
    const VIEWS: &'static [Target] = &[
        Target::METADATA,
        Target::METADATA_LIST,
        Target::TABLE,
        Target::METADATA.beta(),
        Target::METADATA_LIST.beta(),
        Target::TABLE.beta(),
    ];

    const fn meta(kind: &'static str, protobuf: bool) -> Target {
        Target { group: "meta.k8s.io", version: "v1", kind, protobuf }
    }

    const fn beta(self) -> Target {
        Target { version: "v1beta1", ..self }
    }

    /// A view in the version of this target: its own, and that of the views in it.
    pub fn versioned(self, mut view: Value) -> Value {
        let api_version = format!("{}/{}", self.group, self.version);
        let set = |part: &mut Value| {
            if part["apiVersion"] == "meta.k8s.io/v1" {
                part["apiVersion"] = Value::from(&*api_version);
            }
        };
        set(&mut view);
        for (list, path) in [("items", ""), ("rows", "/object")] {
            let parts = view.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
            parts.filter_map(|part| part.pointer_mut(path)).for_each(set);
        }
        view
    }
}

/// What an endpoint can answer with.
#[derive(Debug, Clone, Copy)]
pub struct Offer<'a> {
    /// The answer itself has a protobuf form (built-in types; not custom resources).
    pub protobuf: bool,
    /// YAML too. Not for watches.
    pub yaml: bool,
    /// Kinds that it can be turned into.
    pub targets: &'a [Target],
}

impl Offer<'static> {
    /// GET of objects, and the answers of writes.
    pub fn object(built_in: bool) -> Offer<'static> {
        Offer { protobuf: built_in, yaml: true, targets: Target::VIEWS }
    }

    /// A watch. (Metadata informers ask for `PartialObjectMetadata` on watches.)
    pub fn watch(built_in: bool) -> Offer<'static> {
        Offer { protobuf: built_in, yaml: false, targets: Target::VIEWS }
    }

    /// Status, discovery of one version, `/version`: all forms, no views.
    pub fn plain() -> Offer<'static> {
        Offer { protobuf: true, yaml: true, targets: &[] }
    }

    /// `/api` and `/apis`.
    pub fn discovery() -> Offer<'static> {
        Offer { protobuf: true, yaml: true, targets: &[Target::DISCOVERY] }
    }
}

/// What was agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaType {
    /// How it is written.
    pub format: Format,
    /// What it is turned into first; `None` for the object as it is.
    pub target: Option<Target>,
}

impl MediaType {
    /// Plain JSON.
    pub const JSON: MediaType = MediaType { format: Format::Json, target: None };

    /// The `Content-Type` of an answer that is no watch.
    pub fn content_type(self) -> String {
        let bare = self.format.name();
        match self.target {
            // Clients tell aggregated discovery from the legacy form by these parameters.
            Some(target) if target == Target::DISCOVERY => {
                format!("{bare};g={};v={};as={}", target.group, target.version, target.kind)
            }
            _ => bare.to_owned(),
        }
    }

    /// The `Content-Type` of a watch: only protobuf names the stream.
    pub fn watch_content_type(self) -> String {
        match self.format {
            Format::Protobuf => format!("{};stream=watch", self.format.name()),
            other => other.name().to_owned(),
        }
    }
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::Json => "application/json",
            Format::Yaml => "application/yaml",
            Format::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }
}

/// Nothing that the client accepts is on offer: 406.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("only the following media types are accepted: {0}")]
pub struct NotAcceptable(pub String);

/// One clause of an `Accept` header.
struct Clause<'a> {
    kind: &'a str,
    quality: f32,
    parameters: Vec<(&'a str, &'a str)>,
}

/// Chooses the first form, by quality, then by order, that is on offer. No header, or an empty one,
/// means JSON.
pub fn negotiate(accept: Option<&str>, offer: &Offer<'_>) -> Result<MediaType, NotAcceptable> {
    let accept = accept.unwrap_or("").trim();
    if accept.is_empty() {
        return Ok(MediaType::JSON);
    }
    let mut clauses: Vec<Clause<'_>> = accept.split(',').filter_map(clause).collect();
    // Wildcards come after names of the same quality; the sort is stable.
    clauses.sort_by(|left, right| {
        let wild = |clause: &Clause<'_>| clause.kind.contains('*');
        right.quality.total_cmp(&left.quality).then(wild(left).cmp(&wild(right)))
    });
    let agreed = clauses.iter().find_map(|clause| accepted(clause, offer));
    agreed.ok_or_else(|| NotAcceptable(supported(offer).to_owned()))
}

/// What upstream's serializers can write: the same of every type, also where a type can't be written so
/// (`MediaTypesForSerializer`).
fn supported(offer: &Offer<'_>) -> &'static str {
    match offer.yaml {
        true => "application/json, application/yaml, application/vnd.kubernetes.protobuf",
        false => "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
    }
}

fn serves(format: Format, offer: &Offer<'_>) -> bool {
    match format {
        Format::Json => true,
        Format::Yaml => offer.yaml,
        Format::Protobuf => offer.protobuf,
    }
}

fn clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let kind = parts.next().filter(|kind| !kind.is_empty())?;
    let mut quality = 1.0;
    let mut parameters = Vec::new();
    for part in parts {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        match name.trim() {
            "q" => quality = value.trim().parse().unwrap_or(0.0),
            name => parameters.push((name, value.trim().trim_matches('"'))),
        }
    }
    (quality > 0.0).then_some(Clause { kind, quality, parameters })
}

fn accepted(clause: &Clause<'_>, offer: &Offer<'_>) -> Option<MediaType> {
    let format = match clause.kind {
        "*/*" | "application/*" | "application/json" => Format::Json,
        "application/yaml" => Format::Yaml,
        "application/vnd.kubernetes.protobuf" => Format::Protobuf,
        _ => return None,
    };
    let parameter = |wanted: &str| {
        clause.parameters.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value)
    };
    let Some(kind) = parameter("as") else {
        return serves(format, offer).then_some(MediaType { format, target: None });
    };
    let target = offer.targets.iter().copied().find(|target| {
        target.kind == kind
            && parameter("g") == Some(target.group)
            && parameter("v") == Some(target.version)
    })?;
    let written = match format {
        Format::Json => true,
        Format::Yaml => offer.yaml,
        Format::Protobuf => target.protobuf,
    };
    written.then_some(MediaType { format, target: Some(target) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PB: &str = "application/vnd.kubernetes.protobuf";

    fn check(accept: &str, offer: Offer<'_>, format: Format, target: Option<Target>) {
        assert_eq!(negotiate(Some(accept), &offer), Ok(MediaType { format, target }), "{accept}");
    }

    #[test]
    fn clients_get_what_they_ask_for() {
        let built_in = Offer::object(true);
        check("*/*", built_in, Format::Json, None);
        check("application/json, */*", built_in, Format::Json, None);
        check(&format!("{PB},application/json"), built_in, Format::Protobuf, None);
        check(&format!("{PB}, */*"), built_in, Format::Protobuf, None);
        check(&format!("{PB}, */*"), Offer::object(false), Format::Json, None);
        check(&format!("{PB};q=0.1,application/json"), built_in, Format::Json, None);
        check("application/json;q=0.9,application/cbor;q=1", built_in, Format::Json, None);
        check("application/yaml", built_in, Format::Yaml, None);
        assert_eq!(negotiate(None, &built_in), Ok(MediaType::JSON));
    }

    #[test]
    fn views_are_negotiated_with_their_formats() {
        let list = format!(
            "{PB};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,\
             application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
        );
        check(&list, Offer::object(false), Format::Protobuf, Some(Target::METADATA_LIST));
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;\
                     v=v1beta1;g=meta.k8s.io,application/json";
        check(table, Offer::object(true), Format::Json, Some(Target::TABLE));
        let discovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                         application/json";
        check(discovery, Offer::discovery(), Format::Json, Some(Target::DISCOVERY));
        check(discovery, Offer::plain(), Format::Json, None);
        assert_eq!(
            negotiate(Some(discovery), &Offer::discovery()).unwrap().content_type(),
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        );
    }

    #[test]
    fn nothing_acceptable_is_406() {
        let check = |accept: &str, offer: Offer<'_>, listed: &str| {
            let error = negotiate(Some(accept), &offer).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("only the following media types are accepted: {listed}")
            );
        };
        let all = format!("application/json, application/yaml, {PB}");
        let streams = format!("application/json;stream=watch, {PB};stream=watch");
        check(PB, Offer::object(false), &all);
        check("application/cbor", Offer::watch(true), &streams);
        check("application/yaml", Offer::watch(false), &streams);
        check("application/json;q=0", Offer::watch(false), &streams);
    }
}
