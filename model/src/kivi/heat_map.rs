//! The heat map of a sweep, as an SVG picture: nodes upwards, pods to the right, and which of them violate.
//!
//! Several set-ups can have as many nodes and pods; the worst of them gives the cell its colour.

use std::{collections::BTreeMap, fmt::Write};

use super::{
    check::Outcome,
    sweep::{Sweep, Swept},
};

/// Pixels of a cell's side, and of the room for the axes.
const CELL: u32 = 22;
const ROOM: u32 = 48;

/// What became of the set-ups of a cell, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Clean,
    Unknown,
    Violating,
}

impl Kind {
    fn of(swept: &Swept) -> Kind {
        match swept.checked.violation() {
            Some(_) => Kind::Violating,
            None if swept.checked.is_clean() => Kind::Clean,
            None => Kind::Unknown,
        }
    }

    /// Colour, and what it means. They can be told apart without colours too, by how dark they are.
    fn colour(self) -> (&'static str, &'static str) {
        match self {
            Kind::Clean => ("#cfe8cf", "clean"),
            Kind::Unknown => ("#f3d98b", "not all seen"),
            Kind::Violating => ("#a8324a", "violating"),
        }
    }
}

/// The picture.
pub fn svg(sweep: &Sweep, title: &str) -> String {
    let mut cells: BTreeMap<(u32, u32), (Kind, Vec<String>)> = BTreeMap::new();
    for one in &sweep.swept {
        let kind = Kind::of(one);
        let cell = cells.entry((one.size.all_nodes(), one.size.all_pods()));
        let (worst, told) = cell.or_insert((kind, vec![]));
        *worst = kind.max(*worst);
        told.push(told_of(one, kind));
    }
    let nodes = cells.keys().map(|(nodes, _)| *nodes).max().unwrap_or(0);
    let pods = cells.keys().map(|(_, pods)| *pods).max().unwrap_or(0);
    let (width, height) = ((ROOM + (pods + 1) * CELL).max(16 * CELL), ROOM + (nodes + 4) * CELL);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <title>{title}</title>\n<text x=\"{CELL}\" y=\"18\" font-size=\"14\">{title}</text>\n",
        title = escaped(title),
    );
    let place = |nodes_of: u32, pods_of: u32| {
        (ROOM + (pods_of - 1) * CELL, ROOM + (nodes - nodes_of) * CELL)
    };
    let smallest = sweep.first_violation().map(|one| (one.size.all_nodes(), one.size.all_pods()));
    for (at, (kind, told)) in &cells {
        let (x, y) = place(at.0, at.1);
        let mark = if Some(*at) == smallest {
            " stroke=\"#000\" stroke-width=\"3\""
        } else {
            " stroke=\"#fff\""
        };
        line(
            &mut svg,
            &format!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{CELL}\" height=\"{CELL}\" fill=\"{}\"{mark}>\
                 <title>{}</title></rect>",
                kind.colour().0,
                escaped(&told.join("\n")),
            ),
        );
    }
    axes(&mut svg, nodes, pods);
    legend(&mut svg, ROOM + (nodes + 2) * CELL);
    svg.push_str("</svg>\n");
    svg
}

fn line(into: &mut String, text: &str) {
    writeln!(into, "{text}").expect("a text takes all");
}

fn told_of(one: &Swept, kind: Kind) -> String {
    let violated =
        one.checked.verdicts.iter().filter(|judged| matches!(judged.verdict, Outcome::Violated(_)));
    let violated: Vec<&str> = violated.map(|judged| &*judged.title).collect();
    match violated.is_empty() {
        true => format!("{} {}: {}", one.index, one.size, kind.colour().1),
        false => format!("{} {}: {}", one.index, one.size, violated.join(", ")),
    }
}

fn axes(svg: &mut String, nodes: u32, pods: u32) {
    let middle = CELL / 2;
    for number in 1..=nodes {
        let y = ROOM + (nodes - number) * CELL + middle + 4;
        line(
            svg,
            &format!("<text x=\"{}\" y=\"{y}\" text-anchor=\"end\">{number}</text>", ROOM - 6),
        );
    }
    for number in (1..=pods).filter(|number| *number == 1 || number % 5 == 0) {
        let (x, y) = (ROOM + (number - 1) * CELL + middle, ROOM + nodes * CELL + 14);
        line(svg, &format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{number}</text>"));
    }
    line(svg, &format!("<text x=\"4\" y=\"{}\">nodes</text>", ROOM - 8));
    line(svg, &format!("<text x=\"{ROOM}\" y=\"{}\">pods</text>", ROOM + nodes * CELL + 28));
}

fn legend(svg: &mut String, y: u32) {
    for (at, kind) in [Kind::Clean, Kind::Unknown, Kind::Violating].into_iter().enumerate() {
        let (x, (colour, word)) = (ROOM + at as u32 * 5 * CELL, kind.colour());
        line(
            svg,
            &format!("<rect x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>"),
        );
        line(svg, &format!("<text x=\"{}\" y=\"{}\">{word}</text>", x + 16, y + 10));
    }
    line(
        svg,
        &format!("<text x=\"{ROOM}\" y=\"{}\">framed: the smallest violation</text>", y + 28),
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests;
