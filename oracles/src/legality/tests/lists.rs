//! Lists: one state, in etcd's order, page by page.

use serde_json::{Value, json};

use super::*;

const SNAPSHOT: [Rule; 1] = [Rule::Snapshot];

#[test]
fn lists_are_states() {
    let now = || list(14, &[("a", 12, 2), ("c", 14, 1)]);
    let old = || list(11, &[("a", 10, 1), ("b", 11, 1)]);
    assert_eq!(read(Verb::List, "", 200, now()), []);
    assert_eq!(read(Verb::List, "?resourceVersion=0", 200, old()), [], "any state");
    assert_eq!(read(Verb::List, "?resourceVersion=11", 200, old()), []);
    assert_eq!(read(Verb::List, "?labelSelector=app+in+(c,d)", 200, list(14, &[("c", 14, 1)])), []);
    assert_eq!(read(Verb::List, "", 200, old()), [Rule::ConsistentRead]);
    assert_eq!(read(Verb::List, "?resourceVersion=12", 200, old()), [Rule::AskedRevision]);
    let exact = "?resourceVersion=12&resourceVersionMatch=Exact";
    assert_eq!(read(Verb::List, exact, 200, now()), [Rule::AskedRevision]);
    assert_eq!(read(Verb::List, "", 200, list(14, &[("a", 12, 2)])), SNAPSHOT, "one is missing");
    let mixed = list(14, &[("a", 10, 1), ("c", 14, 1)]);
    assert_eq!(read(Verb::List, "", 200, mixed), SNAPSHOT, "one is older");
    assert_eq!(read(Verb::List, "", 200, list(20, &[])), SNAPSHOT, "yet to come");
    let page = list(14, &[("b", 11, 1)]);
    assert_eq!(read(Verb::List, "?limit=1&continue=x", 200, page), SNAPSHOT, "of another state");
    let changed = list(14, &[("a", 12, 7), ("c", 14, 1)]);
    assert_eq!(read(Verb::List, "", 200, changed), [Rule::Content]);
}

#[test]
fn a_list_has_a_revision() {
    let without = |name: &str, value: Value| {
        let mut body = list(14, &[("a", 12, 2), ("c", 14, 1)]);
        body["metadata"][name] = value;
        read(Verb::List, "", 200, body)
    };
    assert_eq!(without("resourceVersion", Value::Null), SNAPSHOT);
    assert_eq!(without("resourceVersion", "".into()), SNAPSHOT);
    assert_eq!(without("resourceVersion", "0".into()), SNAPSHOT);
    assert_eq!(without("continue", "".into()), [], "as lists of custom types have it");
}

#[test]
fn items_come_once_and_in_the_order_of_etcd() {
    let (a, c) = (("a", 12, 2), ("c", 14, 1));
    assert_eq!(read(Verb::List, "", 200, list(14, &[c, a])), SNAPSHOT);
    assert_eq!(read(Verb::List, "", 200, list(14, &[a, a, c])), SNAPSHOT);
    assert_eq!(read(Verb::List, "?resourceVersion=0", 200, list(14, &[c, a])), SNAPSHOT);
    // `a-b/x` comes before `a/x`, as `-` does before `/`; and `a/x` before `a0/x`.
    let all = |order: &[&str]| {
        let in_namespace = |at: usize, namespace: &str| {
            let mut logged = logged(11 + at as u64, Change::Created, "x", 1);
            logged.key = ObjectKey::new(foos(), namespace, "x");
            Arc::make_mut(&mut logged.object)["metadata"]["namespace"] = namespace.into();
            logged
        };
        let log: Vec<_> =
            ["a", "a-b", "a0"].iter().enumerate().map(|(at, one)| in_namespace(at, one)).collect();
        let find = |namespace: &&str| log.iter().find(|one| *one.key.namespace == **namespace);
        let mut items: Vec<Value> =
            order.iter().filter_map(find).map(|one| (*one.object).clone()).collect();
        items.push((*object("a", 10, 1)).clone());
        let body =
            json!({"kind": "FooList", "metadata": {"resourceVersion": "13"}, "items": items});
        let mut events: Vec<_> = log.iter().map(commit).collect();
        let Event::Call(mut asked) = call(1, Verb::List, "GET", "/apis/example.com/v1/foos", None)
        else {
            unreachable!()
        };
        asked.namespace = String::new();
        events.extend([Event::Call(asked), answer(1, 200, body)]);
        rules(log, events)
    };
    assert_eq!(all(&["a-b", "a", "a0"]), []);
    assert_eq!(all(&["a", "a-b", "a0"]), SNAPSHOT);
}

/// A list in pages of the state at 14, where `a`, `c`, `d` and `e` are. Of each page: the token by which it is asked for,
/// the one that it gives, and its items.
fn paged(pages: &[(&str, &str, &[&str])]) -> Vec<Rule> {
    let log: Vec<_> = ["c", "d", "e"]
        .into_iter()
        .zip(12..)
        .map(|(name, revision)| logged(revision, Change::Created, name, 1))
        .collect();
    let mut events: Vec<_> = log.iter().map(commit).collect();
    let at = |name: &str| match name {
        "a" => 10,
        _ => u64::from(name.as_bytes()[0] - b'c') + 12,
    };
    for (id, (asked, given, items)) in (1..).zip(pages) {
        let token = if asked.is_empty() { String::new() } else { format!("&continue={asked}") };
        let items: Vec<_> = items.iter().map(|name| (*name, at(name), 1)).collect();
        let mut body = list(14, &items);
        body["metadata"]["continue"] = (*given).into();
        events.push(call(id, Verb::List, "GET", &format!("{PATH}?limit=2{token}"), None));
        events.push(answer(id, 200, body));
    }
    rules(log, events)
}

#[test]
fn pages_leave_nothing_out_and_repeat_nothing() {
    assert_eq!(paged(&[("", "t", &["a", "c"]), ("t", "", &["d", "e"])]), []);
    assert_eq!(paged(&[("", "t", &["a", "c"]), ("t", "", &["c", "d", "e"])]), SNAPSHOT, "again");
    assert_eq!(paged(&[("", "t", &["a", "c"]), ("t", "", &["e"])]), SNAPSHOT, "`d` is missing");
    assert_eq!(paged(&[("", "t", &["a", "c"]), ("t", "", &["d"])]), SNAPSHOT, "`e` is missing");
    assert_eq!(paged(&[("", "t", &["a", "d"])]), SNAPSHOT, "`c` is missing");
    assert_eq!(paged(&[("", "t", &["c"])]), SNAPSHOT, "`a` is missing");
    assert_eq!(paged(&[("", "t", &["c", "a"])]), SNAPSHOT, "in no order");
    let between = |second: &'static [&'static str]| {
        paged(&[("", "t", &["a"]), ("t", "u", second), ("u", "", &["d", "e"])])
    };
    assert_eq!(between(&["c"]), []);
    assert_eq!(between(&[]), SNAPSHOT, "`c` comes never");
    assert_eq!(between(&["c", "d"]), SNAPSHOT, "`d` comes again");
    assert_eq!(paged(&[("", "t", &["a", "c", "d", "e"]), ("t", "", &[])]), []);
    // Of a token that was given before the history it is not known where it goes on.
    assert_eq!(paged(&[("t", "", &["d", "e"])]), []);
    assert_eq!(paged(&[("t", "", &["c", "e"])]), SNAPSHOT);
    assert_eq!(paged(&[("t", "", &["c", "d"])]), SNAPSHOT);
}

#[test]
fn a_list_that_is_too_old_goes_on_at_the_same_place() {
    let asks = |id, token: &str| {
        call(id, Verb::List, "GET", &format!("{PATH}?limit=1&continue={token}"), None)
    };
    let goes_on = |token: &str, mut body: Value| {
        body["metadata"]["continue"] = token.into();
        body
    };
    let then = |answered: Value| {
        let mut events = vec![commit(&log()[0])];
        events.push(call(1, Verb::List, "GET", &format!("{PATH}?limit=1"), None));
        events.push(answer(1, 200, goes_on("t", list(11, &[("a", 10, 1)]))));
        events.extend(log()[1..].iter().map(commit));
        let expired = json!({"kind": "Status", "reason": "Expired", "metadata": {}});
        events.extend([asks(2, "t"), answer(2, 410, goes_on("u", expired))]);
        events.extend([asks(3, "u"), answer(3, 200, answered)]);
        rules(log(), events)
    };
    assert_eq!(then(list(14, &[("c", 14, 1)])), []);
    assert_eq!(then(list(14, &[("a", 12, 2), ("c", 14, 1)])), SNAPSHOT, "`a` comes again");
    assert_eq!(then(list(14, &[])), SNAPSHOT, "`c` is missing");
    assert_eq!(then(list(11, &[("b", 11, 1)])), [Rule::ConsistentRead], "not the present state");
}

#[test]
fn pages_are_of_one_state() {
    let page = |token: &str, revision, items: &[(&str, u64, u64)]| {
        let mut page = list(revision, items);
        page["metadata"]["continue"] = token.into();
        page
    };
    let first = |during: Vec<Event>, second: Value| {
        let begins = format!("{PATH}?limit=1");
        let goes_on = format!("{PATH}?limit=1&continue=t");
        let mut events = vec![commit(&log()[0])];
        events.push(call(1, Verb::List, "GET", &begins, None));
        events.push(answer(1, 200, page("t", 11, &[("a", 10, 1)])));
        events.extend(during);
        events.push(call(2, Verb::List, "GET", &goes_on, None));
        events.push(answer(2, 200, second));
        rules(log(), events)
    };
    let rest = || log()[1..].iter().map(commit).collect::<Vec<_>>();
    assert_eq!(first(rest(), list(11, &[("b", 11, 1)])), [], "older than the present");
    assert_eq!(first(rest(), list(14, &[("c", 14, 1)])), [Rule::Snapshot], "another state");
    // A token that came with a 410 goes on in the present state.
    let other = format!("{PATH}?limit=1&continue=other");
    let events = all().into_iter().chain([call(3, Verb::List, "GET", &other, None)]);
    let events = events.chain([answer(3, 200, list(14, &[("c", 14, 1)]))]);
    assert_eq!(rules(log(), events.collect()), []);
}
