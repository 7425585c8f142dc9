//! The workers x threads map as text: cells shaded by what they hold, where there are colours. The
//! marks say all that the shades say.
//!
//! In: a [`Map`]. Out: lines that keep to the style's width. Computes only.

use super::map::{Cell, Map, Mark};
use super::outside::{pad_left, width};
use super::story::Story;
use super::text::{Style, heading, items};

/// A map wider than the terminal continues below with its next columns.
pub fn lines(story: &Story, map: &Map, style: Style) -> Vec<String> {
    let (say, corner) = (style.language.phrases(), style.language.labels().workers);
    let cells = map.workers.iter().flat_map(|w| map.threads.iter().map(|t| map.text(*w, *t)));
    let Some(cell_width) = cells.map(|cell| width(&cell) + 3).max() else { return Vec::new() };
    let (cell_width, scale) = (cell_width.max(7), scale(map));
    let fitting = ((style.columns() - 2 - width(corner)) / cell_width).max(1);
    let mut text = heading(&say.map_heading(story.has_threads), style);
    for threads in map.threads.chunks(fitting) {
        let head: String =
            threads.iter().map(|t| pad_left(&column(story, *t), cell_width)).collect();
        text.push(format!("  {corner}{}", style.dim(head.trim_end())));
        for workers in &map.workers {
            let cells: String = threads
                .iter()
                .map(|t| painted_cell(map, *workers, *t, cell_width, scale, style))
                .collect();
            let workers = pad_left(&workers.to_string(), width(corner));
            text.push(format!("  {workers}{cells}").trim_end().to_string());
        }
    }
    text.extend(legend(map, style));
    for (why, who) in map.obstacles(story, style.language) {
        text.extend(items(&[format!("{}: {why}", say.list(&who))], style));
    }
    text
}

/// The head of a column; none where there is one column and no threads to choose.
fn column(story: &Story, threads: u16) -> String {
    if story.has_threads { format!("x {threads} ") } else { String::new() }
}

/// The legend's entries, none broken over two lines.
fn legend(map: &Map, style: Style) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for entry in map.legend(style.language) {
        match rows.last_mut() {
            Some(row) if width(row) + 3 + width(&entry) <= style.columns() => {
                row.push_str("   ");
                row.push_str(&entry);
            }
            _ => rows.push(format!("  {entry}")),
        }
    }
    rows.iter().map(|row| style.dim(row)).collect()
}

/// Brackets stand outside the column of figures, so that these stay aligned.
fn painted_cell(
    map: &Map,
    workers: u16,
    threads: u16,
    columns: usize,
    scale: Option<[f64; 2]>,
    style: Style,
) -> String {
    let cell = map.text(workers, threads);
    let closes = cell.ends_with([']', ')', '=', '+']);
    let after = if closes { "" } else { " " };
    let space = " ".repeat(columns.saturating_sub(width(&cell) + after.len()));
    let kind = map.cell(workers, threads);
    if let (true, Some(rate), Some(scale)) = (style.colour, shaded(kind), scale) {
        // A column stays free on the left, so that cells stand apart.
        let inside = format!("{}{cell}{after}", &space[1..]);
        let code = shade(rate, scale, map.mark(workers, threads));
        return format!(" {}", style.paint(&code, &inside));
    }
    let painted = match (map.mark(workers, threads), kind) {
        (Mark::Chosen, _) => style.green(&cell),
        (Mark::Today, _) => style.bold(&cell),
        (_, Cell::Predicted(_) | Cell::RuledOut(_) | Cell::Unknown) => style.dim(&cell),
        (_, Cell::NeverReady(_)) => style.red(&cell),
        _ => cell,
    };
    format!("{space}{painted}{after}")
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

/// From little to much: dark violet to yellow, as in viridis, which those who do not tell red from
/// green read as well, and in black and white. Background and text of the 256 colours.
const SHADES: [(u8, u8); 8] =
    [(54, 255), (24, 255), (30, 16), (36, 16), (78, 16), (149, 16), (220, 16), (227, 16)];

/// The code of a cell's colours; what is chosen or runs today stands out whatever its shade.
fn shade(rate: f64, [low, high]: [f64; 2], mark: Mark) -> String {
    let share = ((rate - low) / (high - low)).clamp(0.0, 1.0);
    let at = ((share * SHADES.len() as f64) as usize).min(SHADES.len() - 1);
    let (background, text) = SHADES[at];
    let bold = if matches!(mark, Mark::Chosen | Mark::Today) { "1;" } else { "" };
    format!("{bold}38;5;{text};48;5;{background}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance of one of the 256 colours (WCAG 2.1).
    fn luminance(colour: u8) -> f64 {
        let levels = [0.0, 95.0, 135.0, 175.0, 215.0, 255.0];
        let [r, g, b] = match colour {
            255 => [238.0; 3],
            cube => {
                let at = usize::from(cube - 16);
                [levels[at / 36], levels[at / 6 % 6], levels[at % 6]]
            }
        };
        let linear = |level: f64| match level / 255.0 {
            low if low <= 0.04045 => low / 12.92,
            high => ((high + 0.055) / 1.055).powf(2.4),
        };
        0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
    }

    #[test]
    fn every_shade_is_brighter_than_the_last_and_its_text_is_legible() {
        for pair in SHADES.windows(2) {
            assert!(luminance(pair[0].0) < luminance(pair[1].0), "{pair:?}");
        }
        for (background, text) in SHADES {
            let (a, b) = (luminance(background), luminance(text));
            let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
            assert!(contrast >= 4.5, "{text} on {background}: {contrast:.2}");
        }
        let code = |rate| shade(rate, [10.0, 20.0], Mark::None);
        assert_eq!(code(10.0), "38;5;255;48;5;54");
        assert_eq!(code(20.0), "38;5;16;48;5;227");
    }
}
