//! A watched server as text: a live table, appended lines, or CSV.
//!
//! In: one [`WatchSecond`] after the other. Out: text. Rates are per second of the interval's true
//! length.

mod around;
mod rows;

use std::io::{self, Write};

use crate::report::Language;
use crate::terms::{ProcessMemory, ProcessUse, Role, WatchSecond};

pub use rows::{CSV_HEADING, csv};

/// How the terminal shows things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    pub columns: usize,
    /// Lines that fit on it.
    pub lines: usize,
    pub has_colour: bool,
    /// Block characters can be shown.
    pub has_blocks: bool,
}

/// A table that is drawn over itself.
#[derive(Debug, Default)]
pub struct LiveTable {
    lines_drawn: usize,
}

impl LiveTable {
    /// Draws the table in the place of the one before.
    ///
    /// # Errors
    /// The terminal cannot be written to.
    pub fn draw(
        &mut self,
        out: &mut impl Write,
        what: &str,
        second: &WatchSecond,
        style: Style,
    ) -> io::Result<()> {
        let text = table(what, second, style);
        if self.lines_drawn > 0 {
            // Up to the first line of the last table, then clear to the end of the screen.
            // From the first column: the terminal may have shown a typed ^C since.
            write!(out, "\r\x1b[{}A\x1b[J", self.lines_drawn)?;
        }
        self.lines_drawn = text.lines().count();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

/// The whole picture of one interval, at most as wide and as high as the terminal.
pub fn table(what: &str, second: &WatchSecond, style: Style) -> String {
    let mut lines = vec![heading(what, second, style)];
    lines.extend(core_lines(&second.second.host.cores_busy, style));
    lines.extend(around::lines(second));
    lines.push(String::new());
    lines.push(paint(&process_heading(style), "1", style));
    let mut processes: Vec<&ProcessUse> = second.second.processes.iter().collect();
    processes.sort_by_key(|process| (process.role, process.pid));
    let footer: Vec<String> = second
        .blind_spots
        .iter()
        .map(|spot| format!("not seen: {}", Language::DATA.say(spot)))
        .collect();
    // One line stays free for the cursor.
    let fitting = style.lines.saturating_sub(lines.len() + footer.len() + 1);
    let shown = if processes.len() > fitting { fitting.saturating_sub(1) } else { processes.len() };
    let memory = &second.memory;
    for process in &processes[..shown] {
        lines.push(process_line(process, memory, second.second.length_s, style));
    }
    if shown < processes.len() {
        lines.push(format!("… and {} more processes", processes.len() - shown));
    }
    lines.extend(footer);
    // Higher than the terminal it could not be drawn over.
    lines.truncate(style.lines.saturating_sub(1).max(1));
    lines.iter().fold(String::new(), |text, line| text + &cut(line, style.columns) + "\n")
}

fn heading(what: &str, second: &WatchSecond, style: Style) -> String {
    let cpu_s: f64 = second.second.processes.iter().map(|process| process.cpu_s).sum();
    let right = format!("{:.2} cores used  {}", cpu_s / second.second.length_s, clock(second));
    let columns = style.columns.saturating_sub(right.len() + 2);
    let left: String = what.chars().take(columns).collect();
    format!("{left:<columns$}  {right}")
}

/// Hours, minutes and seconds of an RFC 3339 time.
fn clock(second: &WatchSecond) -> &str {
    second.time.get(11..19).unwrap_or_default()
}

fn core_lines(busy: &[f64], style: Style) -> Vec<String> {
    const CELL: usize = 20;
    let a_line = (style.columns / CELL).max(1);
    if busy.len() > a_line * 4 {
        return tiny_core_lines(busy, style);
    }
    let cell = |(core, share): (usize, &f64)| {
        let bar = paint(&bar(*share, CELL - 10, style), colour(*share), style);
        format!("{core:>3} {bar} {:>3.0}%", share * 100.0)
    };
    let cells: Vec<String> = busy.iter().enumerate().map(cell).collect();
    cells.chunks(a_line).map(|cells| cells.join(" ")).collect()
}

/// Many cores: a character each.
fn tiny_core_lines(busy: &[f64], style: Style) -> Vec<String> {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let character = |share: &f64| {
        if style.has_blocks {
            BLOCKS[(share * 8.0).round().clamp(0.0, 8.0) as usize]
        } else {
            char::from(b'0' + (share * 9.0).round().clamp(0.0, 9.0) as u8)
        }
    };
    let width = style.columns.saturating_sub(6).max(8);
    let lines = busy.chunks(width).enumerate();
    lines
        .map(|(line, cores)| {
            let text: String = cores.iter().map(character).collect();
            format!("{:>4} {text}", line * width)
        })
        .collect()
}

fn bar(share: f64, width: usize, style: Style) -> String {
    let filled = ((share * width as f64).round().max(0.0) as usize).min(width);
    let (full, empty) = if style.has_blocks { ("█", "░") } else { ("#", ".") };
    full.repeat(filled) + &empty.repeat(width - filled)
}

fn colour(share: f64) -> &'static str {
    match share {
        s if s >= 0.9 => "31",
        s if s >= 0.7 => "33",
        _ => "32",
    }
}

fn paint(text: &str, code: &str, style: Style) -> String {
    if style.has_colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
}

/// Columns that are left out where the name would not fit beside them.
fn is_wide(style: Style) -> bool {
    style.columns >= 96
}

fn process_heading(style: Style) -> String {
    let runnable = if is_wide(style) { " runnable" } else { "" };
    format!(
        "{:<9} {:>7} {:>5} {:>5} {:>5} {:>6} {:>8} {:>4}{runnable} {:>9}  name",
        "role", "pid", "cores", "user", "sys", "delay", "switch/s", "thr", "PSS"
    )
}

fn process_line(
    process: &ProcessUse,
    memory: &[ProcessMemory],
    length_s: f64,
    style: Style,
) -> String {
    let pss = memory.iter().find(|one| one.pid == process.pid).map(|one| one.pss_bytes);
    let pss = pss.map_or_else(|| "-".to_string(), |bytes| crate::terms::Bytes(bytes).to_string());
    let switches = (process.voluntary_switches + process.involuntary_switches) as f64 / length_s;
    let cores = process.cpu_s / length_s;
    let runnable =
        if is_wide(style) { format!(" {:>8.1}", process.threads_runnable) } else { String::new() };
    let cores = paint(&format!("{cores:>5.2}"), colour(cores), style);
    format!(
        "{:<9} {:>7} {cores} {:>5.2} {:>5.2} {:>6.2} {switches:>8.0} {:>4}{runnable} {pss:>9}  {}",
        role(process),
        process.pid,
        process.user_s / length_s,
        process.system_s / length_s,
        process.run_delay_s / length_s,
        process.threads,
        process.name,
    )
}

fn role(process: &ProcessUse) -> String {
    match (process.role, process.index) {
        (Role::Worker, Some(index)) => format!("worker {index}"),
        (Role::Worker, None) => "worker".to_string(),
        (Role::Master, _) => "master".to_string(),
        (Role::Other, _) => "other".to_string(),
    }
}

/// At most `columns` visible characters of a line; colour codes are not among them, and are always
/// closed.
fn cut(line: &str, columns: usize) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut visible = 0;
    let mut is_in_code = false;
    for character in line.chars() {
        match character {
            '\x1b' => is_in_code = true,
            _ if is_in_code => is_in_code = character != 'm',
            _ => {
                visible += 1;
                if visible > columns {
                    continue;
                }
            }
        }
        kept.push(character);
    }
    kept.trim_end().to_string()
}

/// The heading of [`lines`].
pub fn lines_heading() -> String {
    format!("{:<8} {}\n", "time", process_heading(PLAIN))
}

const PLAIN: Style = Style { columns: 200, lines: 10_000, has_colour: false, has_blocks: false };

/// One interval as lines to append: one for the host, one a process.
pub fn lines(second: &WatchSecond) -> String {
    let busy = second.second.host.cores_busy.iter().map(|busy| format!("{:.0}%", busy * 100.0));
    let busy = busy.collect::<Vec<_>>().join(" ");
    let mut text = format!("{:<8} cores {busy}  {}\n", clock(second), around::host(second));
    for process in &second.second.processes {
        let line = process_line(process, &second.memory, second.second.length_s, PLAIN);
        text += &format!("{:<8} {}\n", clock(second), line.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{HostUse, MonitorSecond, Stated};

    fn process(pid: u32, role: Role, index: Option<u16>, cpu_s: f64) -> ProcessUse {
        ProcessUse {
            pid,
            role,
            index,
            name: "puma: cluster worker 0: 77 [shop, \"big\"]".to_string(),
            cpu_s,
            user_s: cpu_s * 0.75,
            system_s: cpu_s * 0.25,
            run_delay_s: 0.1,
            voluntary_switches: 300,
            involuntary_switches: 20,
            threads: 11,
            threads_runnable: 1.4,
            ..ProcessUse::default()
        }
    }

    fn second(cores: usize) -> WatchSecond {
        WatchSecond {
            time: "2025-02-03T04:05:06.789Z".to_string(),
            second: MonitorSecond {
                at_s: 3.0,
                length_s: 2.0,
                processes: vec![
                    process(78, Role::Worker, Some(0), 1.9),
                    process(77, Role::Master, None, 0.02),
                ],
                host: HostUse {
                    cores_busy: (0..cores).map(|core| core as f64 / cores as f64).collect(),
                    steal_s: 0.04,
                    ..HostUse::default()
                },
                listen_queue: Some(3),
                ..MonitorSecond::default()
            },
            memory: vec![ProcessMemory {
                pid: 78,
                role: Role::Worker,
                pss_bytes: 64 << 20,
                uss_bytes: 40 << 20,
                rss_bytes: 90 << 20,
                ..ProcessMemory::default()
            }],
            blind_spots: vec![Stated::Verbatim("the memory of process 77 may not be read".into())],
        }
    }

    fn style(columns: usize, lines: usize) -> Style {
        Style { columns, lines, has_colour: false, has_blocks: true }
    }

    #[test]
    fn the_table_of_80_columns_is_this() {
        let text = table("puma 5.6.5 (tcp://127.0.0.1:9292)", &second(2), style(80, 24));
        let expected = [
            "puma 5.6.5 (tcp://127.0.0.1:9292)                      0.96 cores used  04:05:06",
            "  0 ░░░░░░░░░░   0%   1 █████░░░░░  50%",
            "listen queue 3  steal 1.0%  iowait 0.0%  throttled 0 periods, 0.00 s",
            "",
            "role          pid cores  user   sys  delay switch/s  thr       PSS  name",
            "master         77  0.01  0.01  0.00   0.05      160   11         -  puma: cluste",
            "worker 0       78  0.95  0.71  0.24   0.05      160   11    64 MiB  puma: cluste",
            "not seen: the memory of process 77 may not be read",
        ];
        assert_eq!(text.trim_end().lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_table_never_leaves_the_terminal() {
        for cores in [1, 2, 16, 64, 192] {
            for (columns, lines) in [(80, 24), (200, 50), (40, 12)] {
                let has_colour = columns == 200;
                let style = Style { has_colour, ..style(columns, lines) };
                let mut second = second(cores);
                let mut crowd = Vec::new();
                for pid in 0..60 {
                    crowd.push(process(100 + pid, Role::Other, None, 0.0));
                }
                second.second.processes.extend(crowd);
                let text = table("x".repeat(300).as_str(), &second, style);
                assert!(text.lines().count() < lines, "{cores} cores, {columns}x{lines}\n{text}");
                for line in text.lines() {
                    let visible = line.replace("\x1b[0m", "").replace("\x1b[1m", "");
                    let visible = ["\x1b[31m", "\x1b[32m", "\x1b[33m"]
                        .iter()
                        .fold(visible, |line, code| line.replace(code, ""));
                    assert!(visible.chars().count() <= columns, "{line}");
                }
            }
        }
    }

    #[test]
    fn a_second_table_is_drawn_over_the_first() {
        let mut live = LiveTable::default();
        let mut out = Vec::new();
        live.draw(&mut out, "x", &second(2), style(80, 24)).unwrap();
        let height = String::from_utf8(out).unwrap().lines().count();
        let mut out = Vec::new();
        live.draw(&mut out, "x", &second(2), style(80, 24)).unwrap();
        let again = String::from_utf8(out).unwrap();
        assert!(again.starts_with(&format!("\r\x1b[{height}A\x1b[J")), "{again:?}");
    }

    #[test]
    fn csv_rows_have_as_many_fields_as_the_heading_and_quote_names() {
        let text = csv(&second(2));
        assert_eq!(text.lines().count(), 2);
        let quoted = "\"puma: cluster worker 0: 77 [shop, \"\"big\"\"]\"";
        for row in text.lines() {
            assert!(row.contains(quoted), "{row}");
            let fields = row.replace(quoted, "name").split(',').count();
            assert_eq!(fields, CSV_HEADING.split(',').count(), "{row}");
        }
        assert!(text.contains(",1.900000000,1.425000000,0.475000000,"));
    }

    #[test]
    fn appended_lines_say_the_time_on_each() {
        let text = lines(&second(2));
        assert_eq!(text.lines().count(), 3);
        assert!(text.lines().all(|line| line.starts_with("04:05:06 ")), "{text}");
    }
}
