//! Linear equations, and parts, none negative, that add up to what was measured.

/// Solves `matrix . x = right` by Gauss and Jordan, the larger pivot first; `None` when the matrix
/// is singular.
pub(super) fn solve<const N: usize>(
    mut matrix: [[f64; N]; N],
    mut right: [f64; N],
) -> Option<[f64; N]> {
    for i in 0..N {
        let pivot = (i..N).max_by(|&a, &b| matrix[a][i].abs().total_cmp(&matrix[b][i].abs()))?;
        matrix.swap(i, pivot);
        right.swap(i, pivot);
        if !matrix[i][i].is_normal() {
            return None;
        }
        for row in (0..N).filter(|row| *row != i) {
            let factor = matrix[row][i] / matrix[i][i];
            let pivot_row = matrix[i];
            matrix[row].iter_mut().zip(pivot_row).for_each(|(x, p)| *x -= factor * p);
            right[row] -= factor * right[i];
        }
    }
    Some(std::array::from_fn(|i| right[i] / matrix[i][i]))
}

/// Least squares of `row . parts - 1` over the rows (each divided by what was measured, so that the
/// residuals are relative), each part held at zero by a weight (ridge). Of the subsets of parts
/// that come out non-negative the one that is closest; part `always` is in all of them. `None` when
/// no subset can be solved.
pub(super) fn nonnegative(rows: &[[f64; 3]], hold: [f64; 3], always: usize) -> Option<[f64; 3]> {
    let subsets = (0..8_u8).map(|bits| [0, 1, 2].map(|part| bits & (1 << part) != 0));
    subsets
        .filter(|used| used[always])
        .filter_map(|used| normal_equations(rows, hold, used))
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
fn normal_equations(rows: &[[f64; 3]], hold: [f64; 3], used: [bool; 3]) -> Option<[f64; 3]> {
    let (mut matrix, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
    for row in rows {
        for i in 0..3 {
            for j in 0..3 {
                matrix[i][j] += row[i] * row[j];
            }
            right[i] += row[i];
        }
    }
    for (i, weight) in hold.into_iter().enumerate() {
        matrix[i][i] += weight;
        if !used[i] {
            matrix[i] = [0.0; 3];
            matrix.iter_mut().for_each(|row| row[i] = 0.0);
            (matrix[i][i], right[i]) = (1.0, 0.0);
        }
    }
    solve(matrix, right)
}
