//! The page of `trommel model check --report`.

use std::collections::BTreeSet;

use trommel_tests::house::House;

use super::{SPECS, house, model};

/// The page of this check.
fn page(house: &House, arguments: &str, exit: i32) -> String {
    let ended = model(house, &format!("check {arguments} --report page"));
    assert!(ended.expect(exit).stdout.contains("report: page/index.html\n"), "{ended}");
    std::fs::read_to_string(house.path(SPECS).join("page/index.html")).expect("it was written")
}

/// What stands between `before` and the next quote, wherever `before` does.
fn all_after<'a>(page: &'a str, before: &str) -> BTreeSet<&'a str> {
    page.split(before).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn every_state_has_an_address_and_every_link_leads_to_one() {
    let house = house("page");
    let page = page(&house, "ns.tla", 100);
    let states: BTreeSet<String> = (0..11).map(|at| format!("s{at}")).collect();
    let ids = all_after(&page, "id=\"");
    assert!(states.iter().all(|state| ids.contains(state.as_str())), "{ids:?}");
    assert_eq!(page.matches("<article class=\"state").count(), 11);
    for link in all_after(&page, "href=\"#") {
        assert!(ids.contains(link), "{link} is no address");
    }
    // Nothing is fetched.
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains(" src="));
    assert!(page.contains("default-src 'none'"));

    for part in [
        "violated: LimitedFooObjs is false in state 6",
        "<td class=\"word violated\">violated</td>",
        "<b>13</b><span>generated</span>",
        "<td class=\"value mono changed\">&#34;MarkCreated&#34;</td>",
        "state 6 of the run",
        "RebootDuringMarkingCreation → <a href=\"#s6\">s6</a>",
    ] {
        assert!(page.contains(part), "no {part:?}");
    }
}

/// A counter that may stop at any time: the run that never ends goes round.
const ROUND: &str = "\
---- MODULE round ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Step == x' = IF x = 3 THEN 1 ELSE x + 1
Spec == Init /\\ [][Step]_x /\\ WF_x(Step)
Ends == <>[](x = 3)
====
";

#[test]
fn a_lasso_is_drawn() {
    let house = house("lasso");
    house.write(&format!("{SPECS}/round.tla"), ROUND);
    house.write(&format!("{SPECS}/round.cfg"), "SPECIFICATION Spec\nPROPERTY Ends\n");
    let page = page(&house, "round.tla", 100);
    let text = model(&house, "check round.tla");
    assert!(text.stdout.starts_with("violated: Ends is false of this run\n"), "{text}");
    assert!(text.stdout.contains("then again from state 2, by Step\n"), "{text}");
    assert!(page.contains("then again from state 2, by Step"));
    assert!(page.contains("class=\"gutter loop\" rowspan=\"3\""), "{page}");
}

#[test]
fn a_page_without_a_violation_begins_at_the_initial_state() {
    let house = house("page-held");
    let page = page(&house, "ns_fixed_name.tla", 0);
    assert!(page.contains("<article class=\"state first-shown\" id=\"s0\">"));
    assert!(!page.contains("class=\"trace\""));
}
