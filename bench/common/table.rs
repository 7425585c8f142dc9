//! Tables in Markdown.

/// A table: its head, and a row a line.
pub fn table<Row: AsRef<[String]>>(
    head: &[impl AsRef<str>],
    rows: impl IntoIterator<Item = Row>,
) -> String {
    let head: Vec<&str> = head.iter().map(AsRef::as_ref).collect();
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
    for row in rows {
        text += &format!("| {} |\n", row.as_ref().join(" | "));
    }
    text
}
