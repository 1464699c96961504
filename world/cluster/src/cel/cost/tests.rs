//! What upstream estimates of the same rules (`TestCostEstimation` in
//! `apiextensions-apiserver/pkg/apiserver/schema/cel/compilation_test.go`), without and with limits.

use serde_json::{Value, json};

use crate::{
    cel::Subject,
    schema::{Gvk, Schema},
};

/// What a rule on a value of this schema costs.
fn cost(schema: &Value, rule: &str) -> Option<u64> {
    let gvk = Gvk { group: "g".into(), version: "v1".into(), kind: "K".into() };
    let root = json!({"type": "object", "properties": {"x": schema}});
    let schema = Schema::custom(&gvk, Some(&root)).expect("a schema");
    let node = schema.node(schema.root_id()).properties["x"];
    let subject = Subject { schema: &schema, node, root: false, optional_old: false };
    subject.estimate(rule).expect(rule).1
}

fn check(schema: &Value, rule: &str, expect: u64) {
    assert_eq!(cost(schema, rule), Some(expect), "{rule} on {schema}");
}

/// A schema with a limit and without one.
fn both(mut schema: Value, limit: (&str, u64)) -> [Value; 2] {
    let free = schema.clone();
    schema[limit.0] = json!(limit.1);
    [free, schema]
}

fn simple(name: &str) -> Value {
    match name {
        "int-or-string" => json!({"x-kubernetes-int-or-string": true}),
        "date" | "date-time" | "duration" | "byte" => json!({"type": "string", "format": name}),
        name => json!({"type": name}),
    }
}

/// Checks a rule on lists of these, of any length and of `most`.
fn on_list(items: Value, rule: &str, free: u64, most: u64, limited: u64) {
    let [schema, with] = both(json!({"type": "array", "items": items}), ("maxItems", most));
    check(&schema, rule, free);
    check(&with, rule, limited);
}

fn on_map(values: Value, rule: &str, free: u64, most: u64, limited: u64) {
    let map = json!({"type": "object", "additionalProperties": values});
    let [schema, with] = both(map, ("maxProperties", most));
    check(&schema, rule, free);
    check(&with, rule, limited);
}

fn on_text(rule: &str, free: u64, most: u64, limited: u64) {
    let [schema, with] = both(simple("string"), ("maxLength", most));
    check(&schema, rule, free);
    check(&with, rule, limited);
}

#[test]
fn loops_cost_as_much_as_there_are_items() {
    let all = "self.all(x, true)";
    on_list(simple("number"), all, 4_718_591, 10, 32);
    on_list(simple("string"), all, 3_145_727, 20, 62);
    on_list(simple("boolean"), all, 1_887_437, 5, 17);
    on_list(json!({"type": "array", "items": simple("number")}), all, 3_145_727, 100, 302);
    on_list(simple("int-or-string"), all, 4_718_591, 10, 32);
    on_list(simple("duration"), all, 2_359_295, 5, 17);
    on_list(simple("date"), all, 725_936, 15, 47);
    on_list(simple("date-time"), all, 428_963, 25, 77);
    on_list(simple("number"), "self.all(x, x == 0.0)", 6_291_454, 3 * 1024 * 2048, 25_165_826);
    let map = json!({"type": "object", "additionalProperties": simple("number")});
    on_list(map, "self.all(x, x.y == 25.2)", 6_291_452, 12, 74);
    on_map(simple("number"), all, 1_348_169, 10, 32);
    on_map(simple("string"), all, 1_179_647, 3, 11);
    on_map(simple("boolean"), all, 943_718, 100, 302);
    on_map(simple("int-or-string"), all, 1_348_169, 15, 47);
    on_map(json!({"type": "array", "items": simple("number")}), all, 1_179_647, 25, 77);
    on_map(simple("duration"), all, 1_048_577, 5, 17);
    on_map(simple("date"), all, 524_288, 10, 32);
    on_map(simple("date-time"), all, 349_526, 25, 77);
}

#[test]
fn loops_in_loops_cost_their_product() {
    let list = |limit: Option<u64>| match limit {
        Some(limit) => json!({"type": "array", "maxItems": limit, "items": simple("number")}),
        None => json!({"type": "array", "items": simple("number")}),
    };
    let twice = "self.all(x, self.all(y, true))";
    check(&list(Some(10)), twice, 352);
    check(&list(Some(10)), "self.all(x, self.all(y, self.all(z, true)))", 3552);
    assert!(cost(&list(None), twice) > Some(10_000_000));
}

#[test]
fn texts_cost_as_much_as_they_are_long() {
    on_text("self.contains('test')", 314_574, 10, 5);
    on_text("self.startsWith('test')", 2, 15, 2);
    on_text("self.endsWith('test')", 2, 30, 2);
    on_text(r#"size(self + "hello") > size("hello")"#, 314_578, 4, 7);
    on_text(r#"self.matches("x")"#, 314_574, 50, 22);
    on_text(r#""".matches("(((((((((())))))))))[0-9]")"#, 7, 10, 7);
    on_text(r#"self.matches("")"#, 1, 100, 1);
    on_text(r#"self == "x""#, 2, 0, 1);
    on_text("self.find('[0-9]+') == ''", 629_147, 10, 11);
    on_text("self.lowerAscii() == 'lower!'", 314_575, 10, 6);
    let [bytes, limited] = both(simple("byte"), ("maxLength", 0));
    check(&bytes, r#"self == b"x""#, 2);
    check(&limited, r#"self == b"x""#, 1);
    let choice = json!({"type": "string", "enum": ["A", "B", "C", "LongValue"]});
    let [choice, limited] = both(choice, ("maxLength", 1000));
    check(&choice, "self.contains('A')", 2);
    check(&limited, "self.contains('A')", 401);
    let [either, limited] = both(simple("int-or-string"), ("maxLength", 20));
    check(&either, "isQuantity(self)", 314_574);
    check(&limited, "isQuantity(self)", 9);
}

#[test]
fn parts_have_the_size_that_their_schema_allows() {
    on_list(simple("number"), "self[1] == 0.0", 2, 5000, 2);
    on_list(simple("number"), "self[3] == 0.0", 2, 0, 2);
    on_list(simple("string"), "self[1] == self[1]", 314_577, 8, 314_577);
    on_list(simple("int-or-string"), "self[0] == 5", 3, 10, 3);
    on_list(simple("boolean"), "self[0] == false", 2, 25, 2);
    on_list(json!({"type": "array", "items": simple("number")}), "self[0][0] == -1.0", 3, 51, 3);
    let map = json!({"type": "object", "additionalProperties": simple("number")});
    on_list(map, "self[0].x > 2.0", 4, 3000, 4);
    on_list(simple("duration"), "self[0].getHours() == 2", 4, 525, 4);
    on_list(simple("date"), "self[2].getDayOfMonth() == 13", 4, 42, 4);
    on_list(simple("date-time"), "self[2].getMinutes() == 45", 4, 99, 4);
    on_map(simple("number"), r#"self["x"] == 0.0"#, 2, 0, 2);
    on_map(simple("integer"), "oldSelf.size() == self.size()", 5, 10, 5);
    on_map(simple("date-time"), r#"self["a"] == self["b"]"#, 8, 7, 8);
    on_map(simple("duration"), r#"self["c"] == self["d"]"#, 8, 42, 8);
}

#[test]
fn functions_of_kubernetes_cost_what_they_look_at() {
    let free = json!({"type": "array", "items": simple("string")});
    let texts = json!({"type": "string", "maxLength": 10});
    let limited = json!({"type": "array", "maxItems": 10, "items": texts});
    check(&free, "self.join(' ') == 'aa bb'", 329_853_068_905);
    check(&limited, "self.join(' ') == 'aa bb'", 43);
    check(&free, "self.isSorted() == true", 329_854_432_052);
    check(&limited, "self.isSorted() == true", 52);
    let object = |text: Value| {
        json!({"type": "object", "properties": {
            "str": text, "separator": text,
            "before": {"type": "string", "maxLength": 2}, "after": {"type": "string", "maxLength": 4},
        }})
    };
    let replace = "self.str.replace(self.before, self.after) == 'does not matter'";
    check(&object(simple("string")), replace, 629_154);
    check(&object(json!({"type": "string", "maxLength": 4})), replace, 12);
    let split = "self.str.split(self.separator) == []";
    check(&object(simple("string")), split, 629_160);
    check(&object(texts), split, 22);
}

#[test]
fn what_is_not_known_has_no_estimate() {
    let list = json!({"type": "array", "items": simple("string")});
    assert_eq!(cost(&list, "self.all(i, x, i < 3 || x == '')"), None);
    assert_eq!(cost(&list, "lists.range(3).all(i, self[i] == '')"), None);
}
