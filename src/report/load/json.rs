//! The summary as `load --json` prints it: names are a promise to scripts.

use super::LoadResult;

pub fn render(result: &LoadResult<'_>) -> String {
    let mut text = serde_json::to_string_pretty(result.summary)
        .expect("a summary holds nothing that JSON cannot");
    text.push('\n');
    text
}
