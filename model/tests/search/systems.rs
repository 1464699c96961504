//! Systems to be checked: Bar/Foo, a graph as it is drawn, and a register with one copy.

use model::{Run, System};

/// The Bar/Foo controller of models.md: it makes a Foo and marks Bar, and may be killed in between.
#[derive(Debug, Clone, Copy, Default)]
pub struct BarFoo {
    /// How often it is killed at most; none for no limit.
    pub reboots_max: Option<u8>,
    /// Whether Foo has the same name each time.
    pub fixed_name: bool,
}

/// Where the controller is, how many Foos there are, whether Bar is marked, and how often it was killed, if that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BarFooState(pub &'static str, pub u8, pub bool, pub u8);

impl System for BarFoo {
    type State = BarFooState;
    /// The label it goes to.
    type Action = &'static str;

    fn initial(&self) -> Vec<BarFooState> {
        vec![BarFooState("Start", 0, false, 0)]
    }

    fn actions(&self, state: &BarFooState, into: &mut Vec<&'static str>) {
        let to: &[&str] = match *state {
            BarFooState("Start", _, false, _) => &["CreateObject", "RebootDuringCreation"],
            BarFooState("Start" | "Done", ..) => &["Done"],
            BarFooState("CreateObject", ..) => &["MarkCreated", "RebootDuringMarkingCreation"],
            _ => &["Start"],
        };
        into.extend(to);
    }

    fn next(&self, state: &BarFooState, to: &&'static str) -> Option<BarFooState> {
        let BarFooState(at, foos, created, mut reboots) = *state;
        if let (Some(most), true) = (self.reboots_max, to.starts_with("Reboot")) {
            reboots += 1;
            if reboots > most {
                return None;
            }
        }
        let made = u8::from(at == "CreateObject");
        let foos = if self.fixed_name { foos.max(made) } else { foos + made };
        Some(BarFooState(to, foos, created || at == "MarkCreated", reboots))
    }

    fn label(&self, action: &&'static str) -> String {
        (*action).to_owned()
    }
}

/// A graph as it is drawn: for each node the edges, each with a class of actions and the node that it leads to.
#[derive(Debug, Clone)]
pub struct Drawn {
    pub initial: Vec<u8>,
    pub edges: Vec<Vec<(u8, u8)>>,
}

impl System for Drawn {
    type State = u8;
    type Action = (u8, u8);

    fn initial(&self) -> Vec<u8> {
        self.initial.clone()
    }

    fn actions(&self, state: &u8, into: &mut Vec<(u8, u8)>) {
        into.extend(&self.edges[usize::from(*state)]);
    }

    fn next(&self, _: &u8, action: &(u8, u8)) -> Option<u8> {
        Some(action.1)
    }

    fn label(&self, action: &(u8, u8)) -> String {
        format!("{action:?}")
    }
}

/// Clients that write their own number to one server and then read, over a network that keeps no order.
#[derive(Debug, Clone, Copy)]
pub struct Register {
    pub clients: u8,
}

/// The server's value, what each client waits for, and messages under way: (client, a request or its answer).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RegisterState {
    pub value: u8,
    pub phase: Vec<u8>,
    pub read: Vec<u8>,
    net: std::collections::BTreeSet<(u8, Message)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Message {
    Put,
    Done,
    Get,
    Got(u8),
}

impl System for Register {
    type State = RegisterState;
    type Action = (u8, Message);

    fn initial(&self) -> Vec<RegisterState> {
        let clients = usize::from(self.clients);
        let net = (0..self.clients).map(|client| (client, Message::Put)).collect();
        vec![RegisterState { value: 0, phase: vec![0; clients], read: vec![0; clients], net }]
    }

    fn actions(&self, state: &RegisterState, into: &mut Vec<(u8, Message)>) {
        into.extend(&state.net);
    }

    fn next(&self, state: &RegisterState, action: &(u8, Message)) -> Option<RegisterState> {
        let (client, message) = *action;
        let mut next = state.clone();
        next.net.remove(action);
        let answer = match message {
            Message::Put => {
                next.value = client + 1;
                Message::Done
            }
            Message::Get => Message::Got(next.value),
            Message::Done => {
                next.phase[usize::from(client)] = 1;
                Message::Get
            }
            Message::Got(value) => {
                next.phase[usize::from(client)] = 2;
                next.read[usize::from(client)] = value;
                return Some(next);
            }
        };
        next.net.insert((client, answer));
        Some(next)
    }

    fn label(&self, action: &(u8, Message)) -> String {
        format!("{action:?}")
    }
}

/// Asserts that `run` is one of `system`: it begins in an initial state, each step leads to the next state, and it
/// closes where it says so.
pub fn assert_real<S: System>(system: &S, run: &Run<S::State, S::Action>)
where
    S::State: std::fmt::Debug,
    S::Action: std::fmt::Debug,
{
    assert!(system.initial().contains(&run.states[0]), "{run:?}");
    assert_eq!(run.actions.len() + 1, run.states.len(), "{run:?}");
    for (pair, action) in run.states.windows(2).zip(&run.actions) {
        let mut possible = Vec::new();
        system.actions(&pair[0], &mut possible);
        assert!(possible.contains(action), "{action:?} in {run:?}");
        assert_eq!(system.next(&pair[0], action).as_ref(), Some(&pair[1]), "{run:?}");
    }
    if let Some(to) = run.loops_to {
        assert_eq!(run.states.last(), Some(&run.states[to]), "{run:?}");
    }
}
