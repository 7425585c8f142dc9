//! Text that came from outside (app names, log lines, error messages) made fit to be shown as text.
//!
//! In: anything. Out: text that a terminal, a Markdown page or a spreadsheet shows, and does not
//! act on. Computes only.

use std::ops::Range;

/// What changes how the text around it is drawn: control characters (escape sequences begin with
/// one) and the marks that turn the reading direction.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200E}' | '\u{200F}' | '\u{061C}' | '\u{2028}' | '\u{2029}')
        || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}')
}

/// One line without anything that a terminal would act on. Line ends and tabs become spaces.
pub fn line(text: &str) -> String {
    text.chars()
        .filter_map(|c| match c {
            '\n' | '\r' | '\t' => Some(' '),
            c if is_unprintable(c) => None,
            c => Some(c),
        })
        .collect::<String>()
        .trim_end()
        .to_string()
}

/// As [`line()`], line ends kept: for lines to paste.
pub fn lines(text: &str) -> Vec<String> {
    text.lines().map(line).collect()
}

/// A sentence for a Markdown page: what would be markup is escaped, and nobody is notified.
pub fn markdown(text: &str) -> String {
    let text: Vec<char> = line(text).chars().collect();
    let is_word = |at: Option<usize>| {
        at.and_then(|at| text.get(at)).is_some_and(|c| c.is_alphanumeric() || *c == '_')
    };
    let mut escaped = String::new();
    for (at, &c) in text.iter().enumerate() {
        let is_inside_word = is_word(at.checked_sub(1)) && is_word(Some(at + 1));
        match c {
            // A zero-width space keeps `@name` and `#1` from becoming a mention or a reference.
            '@' | '#' => {
                escaped.push('\\');
                escaped.push(c);
                escaped.push_str("&#8203;");
            }
            '_' if is_inside_word => escaped.push(c),
            // These would begin a list or underline the line above.
            '+' | '-' | '=' if at == 0 => {
                escaped.push('\\');
                escaped.push(c);
            }
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '<' | '>' | '&' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// A value for a Markdown page, shown as it is in a fixed-width face.
pub fn markdown_code(text: &str) -> String {
    let text = line(text);
    if text.is_empty() {
        return String::new();
    }
    let fence = "`".repeat(longest_run(&text, '`') + 1);
    // A space keeps a backtick at the edge apart from the fence; readers drop it again.
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Lines for a Markdown page as a block of code.
pub fn markdown_block(language: &str, text: &str) -> String {
    let body = lines(text).join("\n");
    let fence = "`".repeat(longest_run(&body, '`').max(2) + 1);
    format!("{fence}{language}\n{body}\n{fence}\n")
}

fn longest_run(text: &str, wanted: char) -> usize {
    text.split(|c| c != wanted).map(|run| run.chars().count()).max().unwrap_or(0)
}

/// What a spreadsheet takes for the beginning of a formula; the wide forms where its language is
/// one of East Asia's.
const FORMULA_BEGINS: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// A field of a CSV file: quoted where it must be, and never a formula to a spreadsheet.
pub fn csv(text: &str) -> String {
    let text = line(text);
    let is_formula = text.starts_with(FORMULA_BEGINS) && text.parse::<f64>().is_err();
    let text = if is_formula { format!("'{text}") } else { text };
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// Text for an XML document, before its markup is escaped: what XML does not allow, or what a
/// viewer would act on, becomes the replacement character; line ends and tabs stay.
pub fn xml(text: &str) -> String {
    let fit = |c: char| match c {
        '\n' | '\t' => c,
        '\u{FFFE}' | '\u{FFFF}' => char::REPLACEMENT_CHARACTER,
        c if is_unprintable(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.replace("\r\n", "\n").chars().map(fit).collect()
}

/// Columns that the text takes on a terminal.
pub fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

fn char_width(c: char) -> usize {
    match c {
        // Combining marks, variation selectors, zero-width joiners.
        '\u{0300}'..='\u{036F}' | '\u{200B}'..='\u{200D}' | '\u{FE00}'..='\u{FE0F}' => 0,
        // East Asian wide characters and emoji.
        '\u{1100}'..='\u{115F}'
        | '\u{2E80}'..='\u{A4CF}'
        | '\u{AC00}'..='\u{D7A3}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{FE30}'..='\u{FE6F}'
        | '\u{FF00}'..='\u{FF60}'
        | '\u{1F300}'..='\u{1FAFF}'
        | '\u{20000}'..='\u{3FFFD}' => 2,
        _ => 1,
    }
}

/// Lines of at most `limit` columns, broken at spaces and between Japanese characters; a longer
/// word is broken where it must be. What stands in quotes, such as a command, is to be pasted: it
/// is never broken, and the line that begins with it may be longer.
pub fn wrap(text: &str, limit: usize) -> Vec<String> {
    fill(text, limit, quoted)
}

/// As [`wrap()`], whatever is in quotes: for logs, in which these mean nothing to us. No line is
/// longer.
pub fn wrap_log(text: &str, limit: usize) -> Vec<String> {
    fill(text, limit, |_| Vec::new())
}

/// `whole` says which parts of a text, as ranges of bytes, are not to be broken.
fn fill(text: &str, limit: usize, whole: fn(&str) -> Vec<Range<usize>>) -> Vec<String> {
    let limit = limit.max(8);
    let mut wrapped = Vec::new();
    let mut current = String::new();
    let text = line(text);
    for word in words(&text, &whole(&text)) {
        for (at, piece) in pieces(&word, &whole(&word)).into_iter().enumerate() {
            let space = usize::from(at == 0 && !current.is_empty());
            if !current.is_empty() && width(&current) + space + width(piece) > limit {
                wrapped.push(std::mem::take(&mut current));
            } else if space > 0 {
                current.push(' ');
            }
            if !whole(piece).is_empty() {
                current.push_str(piece);
                continue;
            }
            for c in piece.chars() {
                if width(&current) + char_width(c) > limit {
                    wrapped.push(std::mem::take(&mut current));
                }
                current.push(c);
            }
        }
    }
    wrapped.push(current);
    wrapped
}

/// The most characters of a quotation: no command is longer, and what is is broken as any text.
const LONGEST_QUOTATION: usize = 1000;

/// What of a text stands in quotes (`'` or `` ` ``), with these, as ranges of bytes. Quotes may
/// stand within quotes; an apostrophe is none.
fn quoted(text: &str) -> Vec<Range<usize>> {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let last = opens(&chars, at).then(|| last_of_quotation(&chars, at)).flatten();
        found.extend(last.map(|last| chars[at].0..chars[last].0 + 1));
        at = last.unwrap_or(at) + 1;
    }
    found
}

/// Where the quotation ends that begins at `begin`.
fn last_of_quotation(chars: &[(usize, char)], begin: usize) -> Option<usize> {
    let mut open = vec![chars[begin].1];
    let end = chars.len().min(begin + LONGEST_QUOTATION);
    (begin + 1..end).find(|&at| {
        let (c, after) = (chars[at].1, chars.get(at + 1).map(|it| it.1));
        let closes = after.is_none_or(|c| !c.is_alphanumeric() || is_japanese(c));
        if opens(chars, at) {
            open.push(c);
        } else if closes && open.last() == Some(&c) {
            open.pop();
        }
        open.is_empty()
    })
}

/// Is this the quote before the first word of a quotation?
fn opens(chars: &[(usize, char)], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| chars[before].1);
    let after = chars.get(at + 1).map(|it| it.1);
    matches!(chars[at].1, '\'' | '`')
        && before.is_none_or(|c| matches!(c, ' ' | '(' | '=' | ':') || is_japanese(c))
        && after.is_some_and(|c| c != ' ')
}

/// A sentence on lines of 80 columns, ending in a line end.
pub fn paragraph(text: &str) -> String {
    wrap(text, 80).join("\n") + "\n"
}

/// A word in pieces that a line may end after: Japanese has no spaces, so it breaks before and
/// after its characters, but not where a closing mark would begin a line or an opening one end it,
/// nor inside of `whole`.
fn pieces<'a>(word: &'a str, whole: &[Range<usize>]) -> Vec<&'a str> {
    let mut pieces = Vec::new();
    let mut begin = 0;
    let chars: Vec<(usize, char)> = word.char_indices().collect();
    for pair in chars.windows(2) {
        let (before, (at, after)) = (pair[0].1, pair[1]);
        // Words in katakana are long, and read badly in two lines.
        let is_inside = is_katakana(before) && is_katakana(after)
            || whole.iter().any(|range| range.start < at && range.contains(&at));
        let is_border = !is_inside && (is_japanese(before) || is_japanese(after));
        if is_border && !clings_to_next(before) && !clings_to_last(after) {
            pieces.push(&word[begin..at]);
            begin = at;
        }
    }
    pieces.push(&word[begin..]);
    pieces
}

/// Kana, kanji and the marks between them.
fn is_japanese(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{30FF}' | '\u{4E00}'..='\u{9FFF}' | '\u{FF00}'..='\u{FF60}')
}

fn is_katakana(c: char) -> bool {
    matches!(c, '\u{30A1}'..='\u{30FA}' | 'ー')
}

fn clings_to_last(c: char) -> bool {
    matches!(c, '、' | '。' | '）' | '」' | '』' | '！' | '？' | '：' | 'ー' | '〜' | '・')
        || matches!(c, 'っ' | 'ゃ' | 'ゅ' | 'ょ' | ')' | ']' | ',' | '.' | ':' | ';' | '%' | '/')
}

fn clings_to_next(c: char) -> bool {
    matches!(c, '（' | '「' | '『' | '〜' | '(' | '[' | '/' | '-')
}

/// The words of a text; a figure and its unit are one (`6 min`, `97 %`), and so is each of `whole`.
fn words(text: &str, whole: &[Range<usize>]) -> Vec<String> {
    const UNITS: &[&str] =
        &["s", "ms", "min", "h", "%", "MiB", "GiB", "KiB", "B", "秒", "分", "時間"];
    let is_border = |at: &usize| !whole.iter().any(|range| range.contains(at));
    let spaces = text.match_indices(' ').map(|(at, _)| at).filter(is_border);
    let mut begin = 0;
    let mut words: Vec<String> = Vec::new();
    for end in spaces.chain([text.len()]) {
        let word = &text[begin..end];
        begin = end + 1;
        let is_unit = UNITS.contains(&word.trim_end_matches(['.', ',', ';', ':', ')']));
        match words.last_mut() {
            _ if word.is_empty() => {}
            Some(figure) if is_unit && figure.ends_with(|c: char| c.is_ascii_digit()) => {
                figure.push(' ');
                figure.push_str(word);
            }
            _ => words.push(word.to_string()),
        }
    }
    words
}

/// At most `limit` columns, the middle left out where it is longer: paths keep both ends.
pub fn shorten(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_string();
    }
    let keep = limit.saturating_sub(1);
    let head = take_columns(text.chars(), keep / 3);
    let tail = take_columns(text.chars().rev(), keep - width(&head));
    format!("{head}…{}", tail.chars().rev().collect::<String>())
}

/// At most `limit` columns, the end left out.
pub fn truncate(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_string();
    }
    format!("{}…", take_columns(text.chars(), limit.saturating_sub(1)).trim_end())
}

fn take_columns(chars: impl Iterator<Item = char>, limit: usize) -> String {
    let mut taken = String::new();
    let mut used = 0;
    for c in chars {
        used += char_width(c);
        if used > limit {
            break;
        }
        taken.push(c);
    }
    taken
}

/// Fills up with spaces to `columns`.
pub fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Fills up with spaces on the left.
pub fn pad_left(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_escape_sequence_and_no_direction_mark() {
        assert_eq!(line("a\u{1b}[31mred\u{7}\u{202e}x\r\nb\tc\u{9b}"), "a[31mredx  b c");
        assert_eq!(line("shop 🛒"), "shop 🛒");
    }

    #[test]
    fn markdown_shows_markup_as_text() {
        assert_eq!(markdown("a|b <i> *x*"), "a\\|b \\<i\\> \\*x\\*");
        assert_eq!(markdown("@you #1"), "\\@&#8203;you \\#&#8203;1");
        assert_eq!(markdown("_so_ DATABASE_URL"), "\\_so\\_ DATABASE_URL");
        assert_eq!(markdown_code("a|`b`"), "`` a|`b` ``");
        assert_eq!(markdown_code("plain"), "`plain`");
        assert_eq!(markdown_block("", "```\nx"), "````\n```\nx\n````\n");
    }

    #[test]
    fn a_spreadsheet_sees_text_where_text_was_meant() {
        assert_eq!(xml("a\u{0}\u{1b}[1m\r\nb\u{202e}\u{FFFF}\tc"), "a��[1m\nb��\tc");
        assert_eq!(csv("=SUM(A1)"), "'=SUM(A1)");
        assert_eq!(csv("-1.5"), "-1.5");
        assert_eq!(csv("a,\"b\"\nc"), "\"a,\"\"b\"\" c\"");
    }

    #[test]
    fn what_is_to_be_pasted_stays_on_a_line_however_long_it_is() {
        for (text, expected) in [
            (
                "write it with 'sweetspot report 3 -o markdown=report.md'.",
                &["write it with", "'sweetspot report 3 -o markdown=report.md'."][..],
            ),
            (
                "'sweetspot report 3 --store '/srv/my shop/s.db'', or 'sweetspot serve'",
                &["'sweetspot report 3 --store '/srv/my shop/s.db'',", "or 'sweetspot serve'"],
            ),
            (
                "--store \"/srv/it's my/s.db\" (`ulimit -n 65536` before `sweetspot load`)",
                &[
                    "--store \"/srv/it's",
                    "my/s.db\"",
                    "(`ulimit -n 65536`",
                    "before `sweetspot load`)",
                ],
            ),
            (
                "-o csv=x.csv --slo='p95 < 200 ms' it's the users' own",
                &["-o csv=x.csv", "--slo='p95 < 200 ms'", "it's the users' own"],
            ),
            // Nothing closes the first, and a quote of another kind none.
            ("undefined `new_method' for 'one two'", &["undefined `new_method'", "for 'one two'"]),
            (
                "レポートは'sweetspot report 3 --store /srv/店 の/s.db'で作れます。",
                &["レポートは", "'sweetspot report 3 --store /srv/店 の/s.db'", "で作れます。"],
            ),
            (
                "サーバーには（'sweetspot load http://127.0.0.1/'）同じ負荷を",
                &["サーバーには", "（'sweetspot load http://127.0.0.1/'）", "同じ負荷を"],
            ),
        ] {
            assert_eq!(wrap(text, 24), expected, "{text}");
        }
        let endless = format!("'{}'", "word ".repeat(LONGEST_QUOTATION));
        assert!(wrap(&endless, 24).iter().all(|line| width(line) <= 24));
    }

    #[test]
    fn lines_keep_to_their_width_whatever_is_in_them() {
        let text = "one two 🛒🛒🛒🛒🛒 averyveryverylongwordindeed end";
        for limit in [8, 12, 40] {
            for wrapped in wrap(text, limit) {
                assert!(width(&wrapped) <= limit, "{wrapped:?} in {limit}");
            }
        }
        assert_eq!(wrap(text, 40).join(" "), text);
        let text = "今の 1 x 5 のままで十分です。（412〜430）、レイテンシを見てください";
        for limit in [16, 20, 40] {
            for wrapped in wrap(text, limit) {
                assert!(width(&wrapped) <= limit, "{wrapped:?} in {limit}");
                assert!(!wrapped.starts_with(['、', '。', '）', 'ー', '〜']), "{wrapped:?}");
                assert!(!wrapped.ends_with('（'), "{wrapped:?}");
            }
        }
        let quoted = "see 'two words and a very very long quotation' there";
        assert_eq!(wrap_log(quoted, 12).join(" "), quoted);
        assert!(wrap_log(quoted, 12).iter().all(|line| width(line) <= 12));
        assert_eq!(shorten("/srv/applications/production/shop", 14), "/srv…tion/shop");
        assert_eq!(truncate("abcdef", 4), "abc…");
    }
}
