//! Templates, a line each: what they make, and how they fail.

use serde_json::{Value, json};
use trace::Time;

use super::*;

/// A world of one node.
pub(crate) struct Here;

impl Surroundings for Here {
    fn now(&self) -> Time {
        Time(1_767_225_600_000_000_000)
    }

    fn start(&self) -> Time {
        Time(0)
    }

    fn node_ips(&self, node: &str) -> Vec<String> {
        vec![format!("ip-of-{node}")]
    }

    fn pod_ip(&mut self, _: &str) -> String {
        "10.0.0.9".to_owned()
    }
}

fn object() -> Value {
    json!({
        "metadata": {"name": "web", "labels": {"app": "web"}, "generation": 2},
        "spec": {"nodeName": "n", "containers": [{"name": "a", "image": "i"}, {"name": "b"}]},
        "status": {"podIP": ""},
    })
}

fn check(template: &str, expect: &str) {
    let parsed = Template::parse(template).unwrap_or_else(|error| panic!("{template}: {error}"));
    let text = parsed.text(&object(), &mut Here);
    assert_eq!(text.as_deref(), Ok(expect), "{template}");
}

#[test]
fn fields_and_variables() {
    check("{{ .metadata.name }}", "web");
    check("{{ .metadata.none.deeper }}", "<no value>");
    check("{{ $x := .metadata }}{{ $x.name }}", "web");
    check("{{ $.metadata.name }}{{ with .spec }}{{ $.metadata.name }}{{ end }}", "webweb");
    check("{{ $a := false }}{{ if true }}{{ $a = true }}{{ end }}{{ $a }}", "true");
    check("{{ $a := 1 }}{{ if true }}{{ $a := 2 }}{{ end }}{{ $a }}", "1");
    check("{{ (index .spec.containers 0).name }}", "a");
    check("a {{- 1 -}} b", "a1b");
    check("a{{/* nothing }} */}}b", "ab");
    check("{{ `raw \"text\"` }}{{ \"a\\\"}}\" }}", "raw \"text\"a\"}}");
}

#[test]
fn control() {
    check("{{ range .spec.containers }}[{{ .name }}]{{ end }}", "[a][b]");
    check("{{ range $i, $c := .spec.containers }}{{ $i }}{{ $c.name }}{{ end }}", "0a1b");
    check("{{ range .none }}x{{ else }}none{{ end }}", "none");
    check("{{ range $k, $v := .metadata.labels }}{{ $k }}={{ $v }}{{ end }}", "app=web");
    check("{{ range .spec.containers }}{{ .name }}{{ break }}{{ end }}", "a");
    check("{{ if .none }}a{{ else if eq .metadata.name \"web\" }}b{{ else }}c{{ end }}", "b");
    check("{{ with .none }}a{{ else with .metadata }}{{ .name }}{{ end }}", "web");
    check("{{ with .status.podIP }}a{{ else }}{{ .metadata.name }}{{ end }}", "web");
}

#[test]
fn calls() {
    check("{{ or .none \"x\" }}{{ and .metadata.name 3 }}", "x3");
    check("{{ or ( index ( or .metadata.annotations dict ) \"a/b\" ) \"none\" }}", "none");
    check(
        "{{ .metadata.name | Quote }} {{ 1 | Quote }} {{ true | Quote }}",
        "\"web\" \"1\" \"true\"",
    );
    check("{{ Now }}", "2026-01-01T00:00:00Z");
    check("{{ NodeIPWith .spec.nodeName | Quote }}", "\"ip-of-n\"");
    check("{{ PodIPWith .spec.nodeName true \"\" \"\" \"\" }}", "ip-of-n");
    check("{{ printf \"%s-%03d %q\" .metadata.name 7 \"x\" }}", "web-007 \"x\"");
    check(
        "{{ eq .metadata.none \"x\" }}{{ eq .metadata.generation 2 }}{{ ne 1 2 }}",
        "falsetruetrue",
    );
    check("{{ not .none }}{{ len .spec.containers }}{{ add 1 2 3 }}", "true26");
    check(
        "{{ default \"d\" .none }}{{ ternary \"y\" \"n\" true }}{{ join \",\" (list 1 2) }}",
        "dy1,2",
    );
    check("{{ YAML .metadata.labels 1 }}", "\n  \"app\": \"web\"\n  ");
    check("{{ index .metadata.labels \"app\" }}{{ .metadata.labels }}", "webmap[app:web]");
}

#[test]
fn what_fails_says_where() {
    let check = |template: &str, line: u64, expect: &str| {
        let error = match Template::parse(template) {
            Ok(parsed) => parsed.text(&object(), &mut Here).expect_err(template),
            Err(error) => error,
        };
        assert!(error.message.contains(expect), "{template}: {error}");
        assert_eq!(error.line, line, "{template}");
    };
    check("\n{{ nonsense . }}", 2, "no function `nonsense`");
    check("{{ if true }}", 1, "if has no end");
    check("\n\n{{ end }}", 3, "an end or an else of nothing");
    check("{{ $x }}", 1, "no variable $x");
    check("{{ range .spec }}{{ $i := 1 }}{{ end }}{{ $i }}", 1, "no variable $i");
    check("{{ .a ", 1, "no end");
    check("\n{{ index .spec.containers 5 }}", 2, "index out of range");
    check("{{ index .none 0 }}", 1, "untyped nil");
    check("{{ .metadata.name.x }}", 1, "can't evaluate field x");
    check("{{ eq .metadata.name 1 }}", 1, "incompatible types");
    check("{{ template \"x\" }}", 1, "template is not supported");
    check("{{ break }}", 1, "break stands in no range");
    check("{{ .a .b }}", 1, "no arguments");
    check("{{ fail \"so\" }}", 1, "so");
}

#[test]
fn what_it_makes_is_yaml() {
    let template = "\n{{ $now := Now }}\nlist:\n{{ range .spec.containers }}\n- name: {{ .name | Quote }}\n{{ end }}\n{{ with .metadata.labels }}\nlabels: {{ YAML . 1 }}\n{{ end }}";
    let made = Template::parse(template).expect("a template").yaml(&object(), &mut Here);
    let expect = json!({"list": [{"name": "a"}, {"name": "b"}], "labels": {"app": "web"}});
    assert_eq!(made, Ok(expect));
    let broken = Template::parse("a: [").expect("a template").yaml(&object(), &mut Here);
    assert!(broken.expect_err("no YAML").message.contains("is no YAML"));
}
