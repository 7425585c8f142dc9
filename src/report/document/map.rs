//! The workers x threads map as a grid with its legend.
//!
//! In: a [`Story`]. Out: a [`Section`]. Computes only.

use super::{Block, Face, Grid, GridCell, Section, names};
use crate::report::story::Story;
use crate::report::story::map::{self, Cell, Map, Mark};
use crate::report::wording::Language;

/// The map with what its marks mean, and why cells of it have no figure.
pub fn section(story: &Story, language: Language) -> Section {
    let say = language.phrases();
    let map = map::draw(story);
    let obstacles = obstacles(story, &map, language).into_iter();
    let obstacles = obstacles.map(|(why, who)| format!("{}: {why}", say.list(&who)));
    let blocks = vec![
        Block::Grid(grid(story, &map, language)),
        Block::Legend(legend(&map, language)),
        Block::Bullets(obstacles.collect()),
    ];
    Section::new(say.map_heading(story.has_threads()), blocks)
}

fn grid(story: &Story, map: &Map, language: Language) -> Grid {
    // The head of the only column is left out where there are no threads to choose.
    let column = |threads: &u16| match story.has_threads() {
        true => format!("x {threads}"),
        false => String::new(),
    };
    let scale = scale(map);
    let cell = |workers: u16, threads: u16| {
        let (cell, mark) = (map.cell(workers, threads), map.mark(workers, threads));
        GridCell {
            text: map.text(workers, threads),
            face: face(cell, mark),
            shade: scale.and_then(|[low, high]| {
                Some(((shaded(cell)? - low) / (high - low)).clamp(0.0, 1.0))
            }),
        }
    };
    let row = |workers: &u16| {
        let cells = map.threads.iter().map(|threads| cell(*workers, *threads)).collect();
        (workers.to_string(), cells)
    };
    Grid {
        corner: language.labels().workers,
        columns: map.threads.iter().map(column).collect(),
        rows: map.workers.iter().map(row).collect(),
    }
}

fn face(cell: &Cell, mark: Mark) -> Face {
    match (mark, cell) {
        (Mark::Chosen, _) => Face::Chosen,
        (Mark::Today, _) => Face::Today,
        (_, Cell::Predicted(_) | Cell::RuledOut(_) | Cell::Unknown) => Face::Faint,
        (_, Cell::NeverReady(_)) => Face::Failed,
        _ => Face::Plain,
    }
}

/// The rate that its shade stands for: what lies below a rate that failed has none.
fn shaded(cell: &Cell) -> Option<f64> {
    cell.rps().filter(|_| !matches!(cell, Cell::Below(_)))
}

/// The lowest and the highest rate; `None` where there are no two.
fn scale(map: &Map) -> Option<[f64; 2]> {
    let at = map.workers.iter().flat_map(|w| map.threads.iter().map(move |t| (*w, *t)));
    let rates = at.filter_map(|(workers, threads)| shaded(map.cell(workers, threads)));
    let [low, high] = rates.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], rate| {
        [low.min(rate), high.max(rate)]
    });
    (low < high).then_some([low, high])
}

/// What the marks in use mean, one entry each.
fn legend(map: &Map, language: Language) -> Vec<String> {
    let labels = language.labels();
    let has = |wanted: fn(&Cell) -> bool| map.cells().any(|(_, cell)| wanted(cell));
    [
        (map.has(Mark::Chosen), "[ ]", labels.chosen),
        (map.has(Mark::Today), "( )", labels.today),
        (map.has(Mark::Equivalent), "=", labels.equivalent_mark),
        (has(|c| matches!(c, Cell::Predicted(_))), "~", labels.predicted),
        (has(|c| matches!(c, Cell::AtLeast(_))), "+", labels.at_least),
        (has(|c| matches!(c, Cell::Below(_))), "<", labels.below),
        (has(|c| matches!(c, Cell::RuledOut(_))), "x", labels.ruled_out),
        (has(|c| matches!(c, Cell::NeverReady(_))), "!", labels.did_not_start),
    ]
    .into_iter()
    .filter(|(is_used, ..)| *is_used)
    .map(|(_, mark, meaning)| format!("{mark} {meaning}"))
    .collect()
}

/// Why a cell has no figure.
pub fn why(cell: &Cell, language: Language) -> Option<String> {
    match cell {
        Cell::RuledOut(why) => Some(language.say(why)),
        Cell::NeverReady(why) => Some(language.say(why)),
        _ => None,
    }
}

/// Why configurations can't be run: each reason once, with those it holds for.
fn obstacles(story: &Story, map: &Map, language: Language) -> Vec<(String, Vec<String>)> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for ((workers, threads), cell) in map.cells() {
        let Some(why) = why(cell, language) else { continue };
        let name = names::name_of(story, workers, threads, language);
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    reasons
}
