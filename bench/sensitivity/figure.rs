//! A figure of the search as its source has it. In: the source's text. Out: the figure changed.

/// A constant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure<'a> {
    pub name: &'a str,
    kind: &'a str,
    value: &'a str,
}

const SECONDS: &str = "Duration::from_secs(";

impl<'a> Figure<'a> {
    /// All constants of a source that are one number.
    pub fn all(source: &'a str) -> Vec<Self> {
        let all = source.lines().filter_map(|line| {
            let (_, rest) = line.split_once("const ")?;
            let (name, rest) = rest.split_once(": ")?;
            let (kind, value) = rest.strip_suffix(';')?.split_once(" = ")?;
            Some(Self { name, kind, value })
        });
        all.filter(|it| it.number().is_some()).collect()
    }

    /// So many times as much. Of a share near one it is what lacks to one that is changed, and of a
    /// factor near one what is beyond it.
    pub fn changed(&self, times: f64) -> String {
        let number = self.number().expect("only figures that are numbers are listed");
        let changed = match number {
            near if self.kind == "f64" && (0.5..1.5).contains(&near) => 1.0 + (near - 1.0) * times,
            far => far * times,
        };
        match self.kind {
            "f64" => format!("{changed:?}"),
            "Duration" => format!("Duration::from_millis({:.0})", 1e3 * changed),
            _ => format!("{:.0}", changed.ceil()),
        }
    }

    /// The source with another value of it.
    pub fn in_source(&self, source: &str, value: &str) -> String {
        let line = |value: &str| format!("const {}: {} = {value};", self.name, self.kind);
        source.replace(&line(self.value), &line(value))
    }

    fn number(&self) -> Option<f64> {
        let inner = match self.kind {
            "Duration" => self.value.strip_prefix(SECONDS)?.strip_suffix(')')?,
            _ => self.value,
        };
        inner.replace('_', "").parse().ok()
    }
}
