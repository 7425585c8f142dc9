//! Regret over time as a picture: one line a method, both axes logarithmic.
//!
//! In: points. Out: SVG text. Writes no file.

/// One method: seconds, and the mean regret as a share of the best.
pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// Colours that also those tell apart who see few (Okabe and Ito, 2008), dark enough for white.
const COLOURS: [&str; 7] =
    ["#000000", "#0072b2", "#56b4e9", "#d55e00", "#009e73", "#cc79a7", "#b8860b"];

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 690.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 388.0;
/// Names stand at least this far apart.
const NAME_GAP: f64 = 16.0;

const SECONDS: [(f64, &str); 8] = [
    (30.0, "30 s"),
    (60.0, "1 min"),
    (120.0, "2 min"),
    (300.0, "5 min"),
    (600.0, "10 min"),
    (1200.0, "20 min"),
    (2400.0, "40 min"),
    (4320.0, "72 min"),
];
const REGRETS: [f64; 9] = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0];

struct Axes {
    seconds: (f64, f64),
    regrets: (f64, f64),
}

impl Axes {
    fn of(lines: &[Line]) -> Self {
        let points = || lines.iter().flat_map(|line| &line.points);
        let regrets = || points().map(|point| point.1).filter(|regret| *regret > 0.0);
        Self {
            seconds: (
                points().map(|point| point.0).fold(f64::INFINITY, f64::min),
                points().map(|point| point.0).fold(0.0, f64::max),
            ),
            // A line that lies lower than all figures can tell is drawn along the edge.
            regrets: (
                regrets().fold(0.01, f64::min).max(0.001) * 0.9,
                regrets().fold(0.02, f64::max) * 1.1,
            ),
        }
    }

    fn x(&self, seconds: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * share(seconds, self.seconds)
    }

    fn y(&self, regret: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * share(regret.max(self.regrets.0), self.regrets)
    }
}

/// How far along a logarithmic axis, 0..1.
fn share(value: f64, (least, most): (f64, f64)) -> f64 {
    (value / least).ln() / (most / least).ln()
}

/// The first line is drawn on top of the others, and thicker.
pub fn svg(lines: &[Line]) -> String {
    let axes = Axes::of(lines);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n\
         <title>Mean regret of each method's answer, by when it is stopped</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-weight=\"bold\">Capacity missing to the best setting, \
         mean over all apps, when stopped after this time</text>\n"
    );
    out += &grid(&axes);
    for (index, line) in lines.iter().enumerate().rev() {
        let at = |(seconds, regret): &(f64, f64)| (axes.x(*seconds), axes.y(*regret));
        let mut points = line.points.iter().map(at);
        let mut path = points.next().map_or(String::new(), |(x, y)| format!("M{x:.1} {y:.1}"));
        // Steps: an answer holds until the next one.
        path.extend(points.map(|(x, y)| format!("H{x:.1}V{y:.1}")));
        let (colour, width) = (COLOURS[index % COLOURS.len()], if index == 0 { 3.5 } else { 1.8 });
        out += &format!(
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"/>\n"
        );
    }
    out + &names(lines, &axes) + "</svg>\n"
}

fn grid(axes: &Axes) -> String {
    let within = |value: f64, (least, most): (f64, f64)| least <= value && value <= most * 1.0001;
    let seconds =
        SECONDS.iter().filter(|(s, _)| within(*s, axes.seconds)).map(|(seconds, name)| {
            let (x, y) = (axes.x(*seconds), BOTTOM + 20.0);
            format!(
                "<path d=\"M{x:.1} {TOP}V{BOTTOM}\" stroke=\"#e4e4e4\"/>\n\
             <text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{name}</text>\n"
            )
        });
    let regrets = REGRETS.iter().filter(|regret| within(**regret, axes.regrets)).map(|regret| {
        let (x, y, percent) = (LEFT - 8.0, axes.y(*regret), 100.0 * regret);
        format!(
            "<path d=\"M{LEFT} {y:.1}H{RIGHT}\" stroke=\"#e4e4e4\"/>\n\
             <text x=\"{x}\" y=\"{:.1}\" text-anchor=\"end\">{percent} %</text>\n",
            y + 4.0
        )
    });
    seconds.chain(regrets).collect()
}

/// At the lines' ends, pushed apart where these lie together.
fn names(lines: &[Line], axes: &Axes) -> String {
    let end = |line: &Line| line.points.last().map_or(BOTTOM, |point| axes.y(point.1));
    let mut ends: Vec<(f64, usize)> = lines.iter().map(end).zip(0..).collect();
    ends.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut below = BOTTOM + 2.0 * NAME_GAP;
    let name = |(y, index): (f64, usize)| {
        below = y.min(below - NAME_GAP);
        let (x, y, colour) = (RIGHT + 8.0, below + 4.0, COLOURS[index % COLOURS.len()]);
        let (weight, name) = (if index == 0 { "bold" } else { "normal" }, &lines[index].name);
        format!(
            "<text x=\"{x}\" y=\"{y:.1}\" fill=\"{colour}\" font-weight=\"{weight}\">\
             {name}</text>\n"
        )
    };
    ends.into_iter().map(name).collect()
}
