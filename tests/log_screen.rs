//! The log on the screen. It is one a process, so these tests have a process of their own.

use lockscope::input::{Chord, Hits, Input};
use lockscope::model::{Facts, Model, Ui};
use lockscope::update::update;
use lockscope::view;
use lockscope::view::theme::{Depth, Palette, Role, Theme};
use lockscope::{domain::Timestamp, event::Event};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use tracing_subscriber::layer::SubscriberExt as _;

fn draw(model: &Model, theme: &Theme) -> (Buffer, Vec<String>) {
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal
        .draw(|frame| {
            view::draw(model, theme, frame);
        })
        .unwrap();
    let buffer = terminal.backend().buffer().clone();
    let row = |y: u16| (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect();
    let lines = (0..buffer.area.height).map(row).collect();
    (buffer, lines)
}

#[test]
fn the_log_is_shown_newest_first_wrapped_and_escaped() {
    tui_logger::set_default_level(tui_logger::LevelFilter::Trace);
    let subscriber = tracing_subscriber::registry().with(tui_logger::TuiTracingSubscriberLayer);
    tracing::subscriber::with_default(subscriber, || {
        tracing::info!(target: "lockscope::source", "watching /jobs/");
        tracing::warn!(target: "lockscope::source", "a server says \x1b[2J\u{202e} and so on");
        tracing::error!(
            target: "lockscope::port",
            "a long message that does not fit into one row of the panel and so goes on in the next one, word by word"
        );
    });
    tui_logger::move_events();

    let theme = Theme::new(&Palette::builtin("dark").unwrap(), Depth::True);
    let mut model = Model::new(Facts::new(200), Ui::default());
    update(&mut model, Event::Input(Input::Resize(80, 24), Hits::default()));
    update(&mut model, Event::Tick(Timestamp(1_700_000_000_000)));
    update(&mut model, Event::Input(Input::Key(Chord::char('6')), Hits::default()));
    let (buffer, lines) = draw(&model, &theme);
    let text = lines.join("\n");

    let row = |needle: &str| lines.iter().position(|line| line.contains(needle)).unwrap_or_else(|| panic!("{text}"));
    assert!(row("a long message") < row("a server says") && row("a server says") < row("watching /jobs/"), "{text}");
    assert_eq!(row("word by word"), row("a long message") + 1, "{text}");
    assert!(text.contains("a server says \\x1b[2J\\u{202e} and so on"), "{text}");
    assert!(lines[row("watching")].contains("info  source watching /jobs/"), "{text}");
    let y = u16::try_from(row("a long message")).unwrap();
    let x = u16::try_from(lines[usize::from(y)].chars().position(|char| char == 'e').unwrap()).unwrap();
    assert_eq!(Some(buffer[(x, y)].fg), theme.style(Role::Error).fg, "{text}");
}
