//! Figures by two counts as text: cells shaded by what they hold, where there are colours. The
//! marks say all that the shades say.
//!
//! In: a [`Grid`]. Out: lines that keep to the style's width. Computes only.

use super::Style;
use crate::report::document::{Face, Grid, GridCell};
use crate::report::outside::{pad_left, width};

/// A grid wider than the terminal continues below with its next columns.
pub fn lines(grid: &Grid, style: Style) -> Vec<String> {
    let cells = grid.rows.iter().flat_map(|(_, cells)| cells);
    let cell_width = cells.map(|cell| width(&cell.text) + 3).max().unwrap_or(0).max(7);
    let corner = width(grid.corner);
    let fitting = ((style.columns() - 2 - corner) / cell_width).max(1);
    let mut text = Vec::new();
    for (part, columns) in grid.columns.chunks(fitting).enumerate() {
        let head: String =
            columns.iter().map(|it| pad_left(&format!("{it} "), cell_width)).collect();
        text.push(format!("  {}{}", grid.corner, style.dim(head.trim_end())));
        for (count, cells) in &grid.rows {
            let cells = cells.iter().skip(part * fitting).take(fitting);
            let cells: String = cells.map(|it| painted(it, cell_width, style)).collect();
            text.push(format!("  {}{cells}", pad_left(count, corner)).trim_end().to_string());
        }
    }
    text
}

/// Brackets stand outside the column of figures, so that these stay aligned.
fn painted(cell: &GridCell, columns: usize, style: Style) -> String {
    let text = &cell.text;
    let closes = text.ends_with([']', ')', '=', '+']);
    let after = if closes { "" } else { " " };
    let space = " ".repeat(columns.saturating_sub(width(text) + after.len()));
    if let (true, Some(share)) = (style.colour, cell.shade) {
        // A column stays free on the left, so that cells stand apart.
        let inside = format!("{}{text}{after}", &space[1..]);
        return format!(" {}", style.paint(&shade(share, cell.face), &inside));
    }
    let painted = match cell.face {
        Face::Chosen => style.green(text),
        Face::Today => style.bold(text),
        Face::Faint => style.dim(text),
        Face::Failed => style.red(text),
        Face::Plain => text.clone(),
    };
    format!("{space}{painted}{after}")
}

/// From little to much: dark violet to yellow, as in viridis, which those who do not tell red from
/// green read as well, and in black and white. Background and text of the 256 colours.
const SHADES: [(u8, u8); 8] =
    [(54, 255), (24, 255), (30, 16), (36, 16), (78, 16), (149, 16), (220, 16), (227, 16)];

/// The code of a cell's colours; what is chosen or runs today stands out whatever its shade.
fn shade(share: f64, face: Face) -> String {
    let at = ((share * SHADES.len() as f64) as usize).min(SHADES.len() - 1);
    let (background, text) = SHADES[at];
    let bold = if matches!(face, Face::Chosen | Face::Today) { "1;" } else { "" };
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
        let code = |share| shade(share, Face::Plain);
        assert_eq!(code(0.0), "38;5;255;48;5;54");
        assert_eq!(code(1.0), "38;5;16;48;5;227");
    }
}
