//! A screen as SVG: text where it is text, shapes for lines and blocks, each in its exact place
//! whatever the font. Nothing is loaded from anywhere, as GitHub shows pictures.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use color_eyre::Result;
use color_eyre::eyre::{bail, ensure};

use crate::frame::{Frame, Ink, Mark, Rgb};
use crate::glyphs::{Shape, shape};

/// Whole numbers, so that lines are sharp where a picture is shown in its own size.
pub const CELL_WIDTH: u16 = 8;
/// Of a row.
pub const CELL_HEIGHT: u16 = 17;
/// From a row's top to the line that letters stand on.
const BASE: u16 = 13;
/// Around the screen.
const MARGIN: u16 = 12;

/// What a terminal's own colours are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    Dark,
    Light,
}

/// What a picture has besides a screen.
pub struct Caption<'a> {
    /// A sentence for who cannot see it.
    pub title: &'a str,
    pub ground: Ground,
}

/// Colours and styles that occur, each a class with a short name.
#[derive(Default)]
pub struct Classes {
    names: BTreeMap<String, usize>,
}

impl Ground {
    fn fore(self) -> Rgb {
        match self {
            Self::Dark => [0xe6, 0xed, 0xf3],
            Self::Light => [0x1f, 0x23, 0x28],
        }
    }

    fn back(self) -> Rgb {
        match self {
            Self::Dark => [0x0c, 0x0c, 0x0c],
            Self::Light => [0xff, 0xff, 0xff],
        }
    }

    /// Of the window: it stands out of a page of either kind.
    fn edge(self) -> Rgb {
        match self {
            Self::Dark => [0x3d, 0x44, 0x4d],
            Self::Light => [0xc8, 0xcf, 0xd6],
        }
    }

    fn colours(self, ink: Ink) -> (Rgb, Option<Rgb>) {
        let (fore, back) = (ink.fore.unwrap_or(self.fore()), ink.back);
        if ink.reversed { (back.unwrap_or(self.back()), Some(fore)) } else { (fore, back) }
    }
}

/// A picture of a screen that stands still.
pub fn still(frame: &Frame, caption: &Caption<'_>) -> String {
    let mut classes = Classes::default();
    let body: String = (0u16..)
        .zip(&frame.rows)
        .map(|(row, marks)| format!("{}\n", drawn(marks, row, caption.ground, &mut classes)))
        .filter(|row| row != "\n")
        .collect();
    document(frame, caption, &classes.style(), &body)
}

/// A whole picture around what is drawn.
pub fn document(frame: &Frame, caption: &Caption<'_>, style: &str, body: &str) -> String {
    let rows = u16::try_from(frame.rows.len()).unwrap_or(u16::MAX);
    let (width, height) = (frame.columns * CELL_WIDTH + 2 * MARGIN, rows * CELL_HEIGHT + 2 * MARGIN);
    let (fore, back, edge) = (hex(caption.ground.fore()), hex(caption.ground.back()), hex(caption.ground.edge()));
    let title = escaped(caption.title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n<style>\n\
         text{{font:13.3px ui-monospace,SFMono-Regular,\"SF Mono\",Menlo,Consolas,\"Liberation Mono\",\
         \"DejaVu Sans Mono\",\"Noto Sans Mono CJK SC\",monospace;fill:{fore}}}\n\
         .m{{text-anchor:middle}}path{{stroke:none}}.l{{fill:none}}\n{style}</style>\n\
         <rect x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{back}\" stroke=\"{edge}\"/>\n\
         <g transform=\"translate({MARGIN} {MARGIN})\">\n{body}</g>\n</svg>\n",
        width - 1,
        height - 1
    )
}

/// What stands in a row, or in a part of one.
pub fn drawn(marks: &[Mark], row: u16, ground: Ground, classes: &mut Classes) -> String {
    let y = row * CELL_HEIGHT;
    let mut behind = String::new();
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    let mut areas: BTreeMap<String, String> = BTreeMap::new();
    let mut texts = String::new();
    for run in marks.chunk_by(|one, next| one.ink == next.ink) {
        let ink = run[0].ink;
        let (fore, back) = ground.colours(ink);
        let (from, to) = (run[0].column * CELL_WIDTH, end(run) * CELL_WIDTH);
        if let Some(back) = back {
            let class = classes.name(format!("fill:{}", hex(back)));
            let _ = write!(behind, "<path class=\"{class}\" d=\"M{from} {y}H{to}v{CELL_HEIGHT}H{from}z\"/>");
        }
        if ink.underlined {
            let line = y + BASE + 2;
            let _ = write!(lines.entry(stroke(fore, classes)).or_default(), "M{from} {line}.5H{to}");
        }
        let mut words: Vec<&Mark> = Vec::new();
        for mark in run {
            let (x, wide) = (mark.column * CELL_WIDTH, mark.width * CELL_WIDTH);
            match shape(&mark.text, x, y) {
                Some(Shape::Line(data)) => lines.entry(stroke(fore, classes)).or_default().push_str(&data),
                Some(Shape::Area(data, cover)) => {
                    let opacity = if cover < 1.0 { format!(";fill-opacity:{cover}") } else { String::new() };
                    let class = classes.name(format!("fill:{}{opacity}", hex(fore)));
                    areas.entry(class).or_default().push_str(&data);
                }
                None if mark.text == " " && words.last().is_none_or(|last| last.text == " ") => {
                    write_words(&mut texts, &mut words, y, ground, classes);
                }
                None if mark.text.is_ascii() => {
                    words.push(mark);
                    continue;
                }
                None => {
                    write_words(&mut texts, &mut words, y, ground, classes);
                    let class = classes.text(ink, ground, Some("m"));
                    let (x, y) = (x + wide / 2, y + BASE);
                    let _ = write!(texts, "<text x=\"{x}\" y=\"{y}\"{class}>{}</text>", escaped(&mark.text));
                }
            }
            write_words(&mut texts, &mut words, y, ground, classes);
        }
        write_words(&mut texts, &mut words, y, ground, classes);
    }
    for (class, data) in areas.into_iter().chain(lines) {
        let _ = write!(behind, "<path class=\"{class}\" d=\"{data}\"/>");
    }
    behind + &texts
}

/// Where a run ends, in columns.
fn end(run: &[Mark]) -> u16 {
    run.last().map_or(0, |last| last.column + last.width)
}

/// Words of one style, stretched to the columns they have; spaces around them need no text.
fn write_words(texts: &mut String, words: &mut Vec<&Mark>, y: u16, ground: Ground, classes: &mut Classes) {
    while words.last().is_some_and(|last| last.text == " ") {
        words.pop();
    }
    if let [first, ..] = words[..] {
        let class = classes.text(first.ink, ground, None);
        let text: String = words.iter().map(|mark| mark.text.as_str()).collect();
        let (x, y) = (first.column * CELL_WIDTH, y + BASE);
        let stretched = if text.len() > 1 {
            format!(" textLength=\"{}\"", text.len() * usize::from(CELL_WIDTH))
        } else {
            String::new()
        };
        let _ = write!(texts, "<text x=\"{x}\" y=\"{y}\"{stretched}{class}>{}</text>", escaped(&text));
    }
    words.clear();
}

fn stroke(fore: Rgb, classes: &mut Classes) -> String {
    format!("l {}", classes.name(format!("stroke:{}", hex(fore))))
}

impl Classes {
    fn name(&mut self, style: String) -> String {
        let next = self.names.len();
        format!("s{}", self.names.entry(style).or_insert(next))
    }

    /// The attribute of a text, if it needs one.
    fn text(&mut self, ink: Ink, ground: Ground, besides: Option<&str>) -> String {
        let (fore, _) = ground.colours(ink);
        let mut style = Vec::new();
        if fore != ground.fore() {
            style.push(format!("fill:{}", hex(fore)));
        }
        for (has, says) in
            [(ink.bold, "font-weight:bold"), (ink.italic, "font-style:italic"), (ink.dim, "fill-opacity:.6")]
        {
            if has {
                style.push(says.to_owned());
            }
        }
        let named = (!style.is_empty()).then(|| self.name(style.join(";")));
        let classes: Vec<&str> = besides.into_iter().chain(named.as_deref()).collect();
        if classes.is_empty() { String::new() } else { format!(" class=\"{}\"", classes.join(" ")) }
    }

    /// The rules of a style sheet, in the order in which they were needed.
    pub fn style(&self) -> String {
        let mut rules: Vec<_> = self.names.iter().map(|(style, number)| (number, style)).collect();
        rules.sort();
        rules.iter().fold(String::new(), |mut sheet, (number, style)| {
            let _ = writeln!(sheet, ".s{number}{{{style}}}");
            sheet
        })
    }
}

fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Fails unless tags are closed in order, and text and attributes are what XML allows.
pub fn well_formed(document: &str) -> Result<()> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = document;
    while let Some((text, tagged)) = rest.split_once('<') {
        ensure!(!text.contains('>'), "a stray > in {text:?}");
        ensure!(text.split('&').skip(1).all(|part| part.contains(';')), "a bare & in {text:?}");
        ensure!(text.chars().all(|char| char == '\n' || !char.is_control()), "a control character in {text:?}");
        let Some((tag, behind)) = tagged.split_once('>') else { bail!("a tag without an end: {tagged:?}") };
        ensure!(tag.matches('"').count().is_multiple_of(2), "an open attribute in {tag:?}");
        if let Some(name) = tag.strip_prefix('/') {
            ensure!(open.pop() == Some(name), "</{name}> closes another tag");
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap_or(tag));
        }
        rest = behind;
    }
    ensure!(open.is_empty(), "never closed: {open:?}");
    ensure!(document.starts_with("<svg ") && document.contains("</text>"), "no picture with a text in it");
    Ok(())
}
