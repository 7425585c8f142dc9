//! The summary as `load --json` prints it: names are a promise to scripts.

use super::LoadResult;
use crate::report::json;

pub fn render(result: &LoadResult<'_>) -> String {
    json::render(result.summary)
}
