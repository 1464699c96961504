//! What a check says of a module, in plain words.

use model::tla::{Asked, Broken, Counts, Explored, Verdict};

use crate::exit::Exit;

/// Whether one of the things that were asked holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Held,
    Violated,
    Unknown,
}

impl Answer {
    pub fn word(self) -> &'static str {
        match self {
            Answer::Held => "held",
            Answer::Violated => "violated",
            Answer::Unknown => "unknown",
        }
    }
}

/// The verdict on the whole.
pub(super) fn of_all(explored: &Explored) -> Answer {
    match explored.verdict {
        Verdict::Held => Answer::Held,
        Verdict::Violated(..) => Answer::Violated,
        Verdict::Unknown(_) | Verdict::Failed(..) => Answer::Unknown,
    }
}

/// The verdict on one of the things that were asked. A search ends with the first violation, so others are open then;
/// properties are looked at when all states were, and those keep all invariants.
pub(super) fn of(asked: &Asked, explored: &Explored) -> Answer {
    match &explored.verdict {
        Verdict::Held => Answer::Held,
        Verdict::Violated(broken, _) if broken.is(asked) => Answer::Violated,
        Verdict::Violated(Broken::Property(_), _) if !matches!(asked, Asked::Property(_)) => {
            Answer::Held
        }
        Verdict::Violated(..) | Verdict::Unknown(_) | Verdict::Failed(..) => Answer::Unknown,
    }
}

pub(super) fn exit(explored: &Explored) -> Exit {
    match of_all(explored) {
        Answer::Held => Exit::Clean,
        Answer::Violated => Exit::Finding,
        Answer::Unknown => Exit::Unknown,
    }
}

/// What was asked, by name.
pub(super) fn name(asked: &Asked) -> &str {
    match asked {
        Asked::Invariant(name) | Asked::Property(name) => name,
        Asked::NoDeadlock => "no deadlock",
    }
}

/// The verdict in one line.
pub(super) fn sentence(explored: &Explored, asked: &[Asked], is_constrained: bool) -> String {
    let within = if is_constrained { " inside of CONSTRAINT" } else { "" };
    let states = explored.counts.distinct;
    match &explored.verdict {
        Verdict::Held if asked.is_empty() => {
            format!("held: the configuration asks for nothing; all {states} states{within}")
        }
        Verdict::Held => format!("held: {}, in all {states} states{within}", names(asked)),
        Verdict::Violated(broken, trace) => {
            let last = trace.states.len();
            match broken {
                Broken::Invariant(name) => format!("violated: {name} is false in state {last}"),
                Broken::Property(name) => format!("violated: {name} is false of this run"),
                Broken::Deadlock => format!("violated: deadlock, state {last} has no next one"),
                Broken::Assertion(error) => format!("violated: in state {last}: {error}"),
            }
        }
        Verdict::Unknown(why) => format!("unknown: {why}; {}", so_far(asked, states)),
        Verdict::Failed(error, trace) => {
            let last = trace.states.len();
            let so_far = so_far(asked, states);
            format!("unknown: state {last} can't be evaluated: {error}; {so_far}")
        }
    }
}

/// What was looked at when a search gave up.
fn so_far(asked: &[Asked], states: usize) -> String {
    let is_property = |asked: &&Asked| matches!(asked, Asked::Property(_));
    let (properties, others): (Vec<&Asked>, Vec<&Asked>) = asked.iter().partition(is_property);
    let mut said = format!("{states} states were found");
    if !others.is_empty() {
        said += &format!(", and nothing against {}", names(others));
    }
    if !properties.is_empty() {
        said += &format!("; nothing is known of {}", names(properties));
    }
    said
}

fn names<'a>(asked: impl IntoIterator<Item = &'a Asked>) -> String {
    let names: Vec<&str> = asked.into_iter().map(name).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// TLC's numbers.
pub(super) fn counts(counts: &Counts) -> String {
    let Counts { generated, distinct, left, depth } = counts;
    format!(
        "{generated} states generated, {distinct} distinct, {left} left on the queue, depth {depth}"
    )
}

#[cfg(test)]
mod tests {
    use model::{
        tla::TlaError,
        traces::{Place, State, Trace},
    };

    use super::*;

    fn explored(verdict: Verdict) -> Explored {
        let counts = Counts { generated: 5, distinct: 3, left: 1, depth: 2 };
        Explored { verdict, counts, graph: None }
    }

    fn violated(broken: Broken) -> Explored {
        let trace = Trace::new(vec![State::new(); 2], vec![None], None).unwrap();
        explored(Verdict::Violated(broken, trace))
    }

    #[test]
    fn verdicts_are_told() {
        let asked = [
            Asked::Invariant("Inv".to_owned()),
            Asked::Property("Live".to_owned()),
            Asked::NoDeadlock,
        ];
        let check = |explored: &Explored, sentence: &str, answers: [Answer; 3]| {
            assert_eq!(super::sentence(explored, &asked, false), sentence);
            assert_eq!(asked.each_ref().map(|asked| of(asked, explored)), answers, "{sentence}");
        };
        use Answer::{Held, Unknown, Violated};
        let held = "held: Inv, Live and no deadlock, in all 3 states";
        check(&explored(Verdict::Held), held, [Held; 3]);
        let invariant = violated(Broken::Invariant("Inv".to_owned()));
        check(&invariant, "violated: Inv is false in state 2", [Violated, Unknown, Unknown]);
        let live = violated(Broken::Property("Live".to_owned()));
        check(&live, "violated: Live is false of this run", [Held, Violated, Held]);
        let deadlock = violated(Broken::Deadlock);
        let says = "violated: deadlock, state 2 has no next one";
        check(&deadlock, says, [Unknown, Unknown, Violated]);
        let unknown = explored(Verdict::Unknown("there are more than 2 states".to_owned()));
        let says = "unknown: there are more than 2 states; 3 states were found, and nothing against \
                    Inv and no deadlock; nothing is known of Live";
        check(&unknown, says, [Unknown; 3]);
        let run = Trace::new(vec![State::new(); 2], vec![None], None).unwrap();
        let error = TlaError {
            file: "M.tla".into(),
            place: Place::Whole,
            what: "division by zero".to_owned(),
        };
        let failed = explored(Verdict::Failed(error, run));
        let says = "unknown: state 2 can't be evaluated: M.tla: division by zero; 3 states were found, \
                    and nothing against Inv and no deadlock; nothing is known of Live";
        check(&failed, says, [Unknown; 3]);
        assert_eq!(exit(&failed), Exit::Unknown);
        let nothing = sentence(&explored(Verdict::Held), &[], true);
        let expect = "held: the configuration asks for nothing; all 3 states inside of CONSTRAINT";
        assert_eq!(nothing, expect);
    }
}
