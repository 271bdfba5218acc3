//! What a frame costs: 200x60 with a hundred keys and with a hundred thousand. The goal is a
//! ratio of at most 1.2.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use lockscope::domain::{Key, KeyRange, KeyValue, LeaseId, Millis, Revision, Term, Timestamp};
use lockscope::event::{Event, LeaseTtl, LinkState, ListPage, Observation, Stamped};
use lockscope::input::{Hits, Input};
use lockscope::model::{Facts, Model, Ui};
use lockscope::update::update;
use lockscope::view;
use lockscope::view::theme::{Depth, Palette, Theme};

const START: Timestamp = Timestamp(1_700_000_000_000);
const COLUMNS: u16 = 200;
const ROWS: u16 = 60;

/// A queue of four for every four keys, as clients of the Go recipe leave them.
fn keys(count: i64) -> Vec<KeyValue> {
    let key = |n: i64| {
        let lease = 0x694d_8225_4d00_0000 + n;
        KeyValue {
            key: Key::from(format!("/bench/lock-{:06}/{lease:x}", n / 4).into_bytes()),
            value: Vec::new(),
            create_revision: Revision(n + 2),
            mod_revision: Revision(n + 2),
            version: 1,
            lease: LeaseId(lease),
        }
    };
    (0..count).map(key).collect()
}

/// A model that read these keys and asked each lease once, drawn at a time when every poll
/// is fresh.
fn model(count: i64) -> Model {
    let mut model = Model::new(Facts::new(200), Ui::default());
    let mut tell = |what| {
        update(&mut model, Event::Observed(Stamped { at: START, what }));
    };
    tell(Observation::Link(LinkState::Live { endpoint: "http://127.0.0.1:2379".into() }));
    let range = KeyRange::prefix(b"/bench/");
    tell(Observation::Scope(vec![range.clone()]));
    let keys = keys(count);
    let leases: Vec<LeaseId> = keys.iter().map(|kv| kv.lease).collect();
    tell(Observation::Listed(ListPage { range, revision: Revision(count + 2), keys, first: true, last: true }));
    for lease in leases {
        tell(Observation::LeaseTtl(LeaseTtl { lease, granted: 60, remaining: 45, keys: None, term: Term(0) }));
    }
    update(&mut model, Event::Input(Input::Resize(COLUMNS, ROWS), Hits::default()));
    update(&mut model, Event::Tick(START + Millis(1_000)));
    model
}

fn frame(c: &mut Criterion) {
    let theme = Theme::new(&Palette::builtin("dark").expect("dark is embedded"), Depth::True);
    let mut group = c.benchmark_group("frame 200x60");
    for count in [100, 100_000] {
        let model = model(count);
        let mut terminal = Terminal::new(TestBackend::new(COLUMNS, ROWS)).expect("a test backend never fails");
        group.bench_function(BenchmarkId::from_parameter(count), |b| {
            b.iter(|| {
                let mut hits = Hits::default();
                terminal.draw(|frame| hits = view::draw(&model, &theme, frame)).expect("a test backend never fails");
                hits
            });
        });
    }
    group.finish();
}

criterion_group!(benches, frame);
criterion_main!(benches);
