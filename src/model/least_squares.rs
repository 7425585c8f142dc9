//! Three parts, none negative, that add up to what was measured.

/// Least squares of `row . parts - 1` over the rows (each divided by what was measured, so that the
/// residuals are relative), each part held at zero by a weight (ridge). Of the subsets of parts
/// that come out non-negative the one that is closest; part `always` is in all of them. `None` when
/// no subset can be solved.
pub(super) fn nonnegative(rows: &[[f64; 3]], hold: [f64; 3], always: usize) -> Option<[f64; 3]> {
    let subsets = (0..8_u8).map(|bits| [0, 1, 2].map(|part| bits & (1 << part) != 0));
    subsets
        .filter(|used| used[always])
        .filter_map(|used| solve(rows, hold, used))
        .filter(|parts| parts.iter().all(|&part| part >= 0.0))
        .min_by(|a, b| cost(rows, hold, a).total_cmp(&cost(rows, hold, b)))
}

fn cost(rows: &[[f64; 3]], hold: [f64; 3], parts: &[f64; 3]) -> f64 {
    let residual = |row: &[f64; 3]| {
        let sum: f64 = row.iter().zip(parts).map(|(column, part)| column * part).sum();
        (sum - 1.0).powi(2)
    };
    let held = hold.iter().zip(parts).map(|(weight, part)| weight * part * part);
    rows.iter().map(residual).sum::<f64>() + held.sum::<f64>()
}

/// Normal equations over the parts in use; the others are 0.
fn solve(rows: &[[f64; 3]], hold: [f64; 3], used: [bool; 3]) -> Option<[f64; 3]> {
    let mut matrix = [[0.0; 4]; 3];
    for row in rows {
        for i in 0..3 {
            for j in 0..3 {
                matrix[i][j] += row[i] * row[j];
            }
            matrix[i][3] += row[i];
        }
    }
    for (i, weight) in hold.into_iter().enumerate() {
        matrix[i][i] += weight;
        if !used[i] {
            matrix[i] = [0.0; 4];
            matrix.iter_mut().for_each(|row| row[i] = 0.0);
            matrix[i][i] = 1.0;
        }
    }
    eliminate(matrix)
}

/// Gauss with the larger pivot first; `None` when the matrix is singular.
fn eliminate(mut m: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for i in 0..3 {
        let pivot = (i..3).max_by(|&a, &b| m[a][i].abs().total_cmp(&m[b][i].abs()))?;
        m.swap(i, pivot);
        if m[i][i] == 0.0 {
            return None;
        }
        for row in 0..3 {
            if row != i {
                let factor = m[row][i] / m[i][i];
                let pivot_row = m[i];
                m[row].iter_mut().zip(pivot_row).for_each(|(x, p)| *x -= factor * p);
            }
        }
    }
    Some([m[0][3] / m[0][0], m[1][3] / m[1][1], m[2][3] / m[2][2]])
}
