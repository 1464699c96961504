//! Programs that run side by side over shared variables. Their footprints follow from their text.

use model::{Footprint, Places, System};

/// One instruction of a program; variables count from 0 to 2.
#[derive(Debug, Clone)]
pub enum Instruction {
    /// Sets a variable.
    Set(u8, u8),
    /// Adds one to a variable, or makes 0 of 2.
    Add(u8),
    /// Waits until one of these variables has this value.
    Await(Vec<(u8, u8)>),
    /// Goes to this instruction or to that one.
    Either(u8, u8),
}

use Instruction::{Add, Await, Either, Set};

/// The programs, each of which ends behind its last instruction.
#[derive(Debug, Clone)]
pub struct Programs {
    pub variables: usize,
    pub of: Vec<Vec<Instruction>>,
}

/// The next instruction of each program, and the variables.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    pub at: Vec<u8>,
    pub variables: Vec<u8>,
}

/// The places of variables, and of programs' positions.
pub const VARIABLE: u32 = 0;
const POSITION: u32 = 1;

impl System for Programs {
    type State = State;
    /// The program, and which way it goes.
    type Action = (usize, bool);

    fn initial(&self) -> Vec<State> {
        vec![State { at: vec![0; self.of.len()], variables: vec![0; self.variables] }]
    }

    fn actions(&self, state: &State, into: &mut Vec<(usize, bool)>) {
        for program in 0..self.of.len() {
            into.push((program, false));
            if let Some(Either(..)) = self.instruction(state, program) {
                into.push((program, true));
            }
        }
    }

    fn next(&self, state: &State, &(program, way): &(usize, bool)) -> Option<State> {
        let mut next = state.clone();
        let mut to = state.at[program] + 1;
        match self.instruction(state, program)? {
            Set(variable, value) => next.variables[usize::from(*variable)] = *value,
            Add(variable) => {
                let variable = &mut next.variables[usize::from(*variable)];
                *variable = (*variable + 1) % 3;
            }
            Await(any) => {
                let is = |(variable, value): &(u8, u8)| {
                    state.variables[usize::from(*variable)] == *value
                };
                any.iter().find(|wanted| is(wanted))?;
            }
            Either(one, other) => to = if way { *other } else { *one },
        }
        next.at[program] = to;
        Some(next)
    }

    fn label(&self, (program, way): &(usize, bool)) -> String {
        format!("{program}{}", if *way { "b" } else { "" })
    }

    fn actors(&self, _: &State) -> usize {
        self.of.len()
    }

    fn actor(&self, action: &(usize, bool)) -> usize {
        action.0
    }

    fn footprint(&self, state: &State, actor: usize) -> Footprint {
        let own = Places::only([(POSITION, Some(actor as u64))]);
        let mut footprint = Footprint { reads: own.clone(), writes: own };
        if let Some(instruction) = self.instruction(state, actor) {
            touch(instruction, &mut footprint);
        }
        footprint
    }

    fn future(&self, state: &State, actor: usize) -> Footprint {
        let mut footprint = self.footprint(state, actor);
        let (mut seen, mut ahead) = (Vec::new(), vec![state.at[actor]]);
        while let Some(at) = ahead.pop() {
            let Some(instruction) = self.of[actor].get(usize::from(at)) else { continue };
            if seen.contains(&at) {
                continue;
            }
            seen.push(at);
            touch(instruction, &mut footprint);
            match instruction {
                Either(one, other) => ahead.extend([*one, *other]),
                _ => ahead.push(at + 1),
            }
        }
        footprint
    }
}

impl Programs {
    fn instruction(&self, state: &State, program: usize) -> Option<&Instruction> {
        self.of[program].get(usize::from(state.at[program]))
    }
}

fn touch(instruction: &Instruction, footprint: &mut Footprint) {
    let place = |variable: &u8| (VARIABLE, Some(u64::from(*variable)));
    match instruction {
        Set(variable, _) => footprint.writes.add(&Places::only([place(variable)])),
        Add(variable) => {
            footprint.reads.add(&Places::only([place(variable)]));
            footprint.writes.add(&Places::only([place(variable)]));
        }
        Await(any) => {
            footprint.reads.add(&Places::only(any.iter().map(|(variable, _)| place(variable))));
        }
        Either(..) => {}
    }
}

/// Peterson's mutual exclusion for two: both in [`CRITICAL`] at once is what it excludes.
pub fn peterson() -> Programs {
    let program = |me: u8, other: u8| {
        vec![Set(me, 1), Set(2, other), Await(vec![(other, 0), (2, me)]), Set(me, 0), Either(0, 0)]
    };
    Programs { variables: 3, of: vec![program(0, 1), program(1, 0)] }
}

/// The position of Peterson's critical section.
pub const CRITICAL: u8 = 3;

/// Dining philosophers, each of whom takes the left fork first, but for the last one if `right_handed`.
pub fn philosophers(number: u8, right_handed: bool) -> Programs {
    let program = |seat: u8| {
        let (mut first, mut second) = (seat, (seat + 1) % number);
        if right_handed && seat == number - 1 {
            std::mem::swap(&mut first, &mut second);
        }
        // Waiting and taking are two steps here: two philosophers may take one fork. Counts don't mind.
        vec![
            Await(vec![(first, 0)]),
            Set(first, 1),
            Await(vec![(second, 0)]),
            Set(second, 1),
            Set(first, 0),
            Set(second, 0),
            Either(0, 7),
        ]
    };
    Programs { variables: usize::from(number), of: (0..number).map(program).collect() }
}
