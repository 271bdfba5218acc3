//! `ls`: locks and elections, one an item.

use std::io::Write;

use super::args::LsArgs;
use super::exit::{Failure, say};
use super::given::Given;
use super::json::{self, Style};
use super::leases;
use super::reading::{self, Reading};
use super::table::{self, Align, Column};
use crate::config::{Config, Format, TtlPolicy};
use crate::domain::LeaseId;
use crate::layout::Layout;
use crate::model::{Diagnosis, Facts, LockView};
use crate::runtime;

/// Reads the locks and prints them.
///
/// # Errors
/// When the cluster cannot be read, or nothing of it may be.
pub async fn run(args: &LsArgs, config: &Config, to: &mut impl Write) -> Result<(), Failure> {
    let mut reading = Reading::connect(config).await?;
    reading.list(&reading::watching(config)).await?;
    match config.polling.ttl.unwrap_or(TtlPolicy::Holders) {
        TtlPolicy::Holders => reading.poll(holders(reading.facts(), args.all)).await,
        TtlPolicy::All => reading.poll(leases::ids(reading.facts())).await,
        TtlPolicy::None => {}
    }
    let format = config.output.format.unwrap_or(Format::Simple);
    let diagnosis = Diagnosis::of(reading.facts(), &runtime::thresholds(&config.findings).at_one_look());
    print(reading.facts(), &diagnosis, args.all, format, Style { hex: config.output.hex }, to)?;
    if let Some(prefix) = &args.beneath
        && listed(reading.facts(), args.all).is_empty()
        && reading.facts().link.denied.is_empty()
    {
        let prefix = Given::of(prefix.as_encoded_bytes(), false);
        let more = listed(reading.facts(), true).len();
        match more {
            0 => say(format_args!("lockscope: no locks under {}", prefix.typed())),
            _ => say(format_args!("lockscope: no locks under {}; --all lists other leased keys there", prefix.typed())),
        }
    }
    reading.end(to)
}

/// The leases of those who hold the locks that are printed.
pub fn holders(facts: &Facts, all: bool) -> Vec<LeaseId> {
    listed(facts, all).into_iter().flat_map(|lock| lock.holders().map(|key| key.lease())).collect()
}

/// The locks `ls` prints: those that someone can hold, or with `all` every group of leased
/// keys, by name.
pub fn listed(facts: &Facts, all: bool) -> Vec<LockView<'_>> {
    let mut locks: Vec<_> = facts.locks().filter(|lock| all || lock.layout().is_lock()).collect();
    locks.sort_unstable_by(|a, b| a.name().cmp(b.name()).then(a.ix().cmp(&b.ix())));
    locks
}

/// Prints them.
pub fn print(
    facts: &Facts,
    diagnosis: &Diagnosis,
    all: bool,
    format: Format,
    style: Style,
    to: &mut impl Write,
) -> Result<(), Failure> {
    let locks = listed(facts, all);
    if format == Format::Json {
        return Ok(json::write(&json::Locks { facts, locks: &locks, diagnosis, style }, to)?);
    }
    let columns = [
        Column("NAME", Align::Left),
        Column("LAYOUT", Align::Left),
        Column("STATE", Align::Left),
        Column("HOLDER", Align::Left),
        Column("TOKEN", Align::Right),
        Column("TTL", Align::Right),
        Column("WAITERS", Align::Right),
        Column("FINDINGS", Align::Left),
    ];
    Ok(table::print(format, columns, locks.into_iter().map(|lock| row(lock, diagnosis, style)), to)?)
}

fn row(lock: LockView<'_>, diagnosis: &Diagnosis, style: Style) -> [String; 8] {
    let holder = lock.holder();
    [
        table::name(lock.name(), style),
        lock.layout().name().into(),
        lock.state().name().into(),
        holder.map(|key| table::text(key.key(), style)).unwrap_or_default(),
        table::number(holder.map(|key| key.token())),
        // Kubernetes keeps its leases without one of etcd's.
        holder
            .filter(|_| lock.layout() != Layout::KubernetesLease)
            .map(|key| table::ttl(key.ttl()))
            .unwrap_or_default(),
        lock.waiter_count().to_string(),
        diagnosis.codes(lock.name()).join(","),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::sample::{self, FIRST, key, list};
    use crate::domain::LeaseId;
    use crate::model::Model;

    fn printed(model: &Model, all: bool, format: Format, style: Style) -> String {
        let mut out = Vec::new();
        print(model.shown(), model.diagnosis(), all, format, style, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn document(model: &Model) -> Value {
        let text = printed(model, false, Format::Json, Style::default());
        assert_eq!(text.matches('\n').count(), 1, "one document is one line");
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn the_document_has_the_promised_shape() {
        let document = document(&sample::locks());
        assert_eq!(document["schema"], "lockscope/1");
        assert_eq!(document["cluster_id"], "cdf818194e3a8c32");
        assert_eq!(document["revision"], 84_213);
        assert_eq!(document["denied"], json!([]));
        let expected = json!({
            "name": "/jobs/reindex", "layout": "queue", "family": document["locks"][1]["family"], "state": "contended",
            "holder": {
                "key": "/jobs/reindex/694d82254d5fa305", "lease": "694d82254d5fa305",
                "create_revision": 83_004, "mod_revision": 83_004, "token": 83_004,
                "ttl": {"granted": 60, "remaining": 6, "age_ms": 120}, "lease_state": "live",
                "renewed_ms_ago": null, "not_renewed_ms": null, "value": "", "value_size": 0, "owner": null,
            },
            "waiters": [{
                "position": 1, "key": "/jobs/reindex/694d82254d5fa307", "lease": "694d82254d5fa307",
                "create_revision": 83_010, "mod_revision": 83_010, "waits_for": 83_004,
                "ttl": null, "lease_state": "not-asked", "renewed_ms_ago": null, "not_renewed_ms": null,
                "value": "", "value_size": 0, "owner": null,
            }],
            "findings": [],
        });
        assert_eq!(document["locks"][1], expected);
        assert_eq!(document["locks"][0]["name"], "/cron/lock/nightly");
        assert_eq!(document["locks"][0]["holder"]["lease"], "-7fab12cd34ef5601");
        assert_eq!(document["locks"][0]["findings"], json!(["single-key-lock"]));
    }

    #[test]
    fn lines_have_the_promised_columns() {
        let text = printed(&sample::locks(), false, Format::Simple, Style::default());
        assert_eq!(
            text,
            "/cron/lock/nightly\tsingle-key\theld\t/cron/lock/nightly\t90\t-\t0\tsingle-key-lock\n\
             /jobs/reindex\tqueue\tcontended\t/jobs/reindex/694d82254d5fa305\t83004\t6/60\t1\t-\n"
        );
    }

    #[test]
    fn every_row_of_a_table_has_every_column() {
        let text = printed(&sample::locks(), false, Format::Table, Style::default());
        assert_eq!(text.lines().count(), 6, "{text}");
        assert!(text.lines().all(|line| line.len() == text.lines().next().unwrap().len()), "{text}");
    }

    #[test]
    fn names_that_are_no_text_are_base64_and_harmless_in_lines() {
        let name = b"/jobs/\xff\x1b[2J/694d82254d5fa305";
        let model = sample::model(list(vec![key(name, FIRST, 5, b"")]));
        let document = document(&model);
        assert_eq!(document["locks"][0]["name"], json!({"base64": "L2pvYnMv/xtbMko="}));
        let line = printed(&model, false, Format::Simple, Style::default());
        assert!(line.starts_with("/jobs/\\xff\\x1b[2J\tqueue\t"), "{line}");
        let hex = printed(&model, false, Format::Simple, Style { hex: true });
        assert!(hex.starts_with("2f6a6f62732fff1b5b324a\t"), "{hex}");
    }

    #[test]
    fn all_adds_what_nobody_can_hold() {
        let service = key(b"/services/web/694d82254d5fa305", FIRST, 5, br#"{"addr":"10.0.0.1:80"}"#);
        let model = sample::model(list(vec![service, key(b"/plain", LeaseId::NONE, 6, b"")]));
        let locks = |all| {
            let text = printed(&model, all, Format::Json, Style::default());
            let document: Value = serde_json::from_str(&text).unwrap();
            document["locks"].as_array().unwrap().iter().map(|lock| lock["layout"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(locks(false), Vec::<Value>::new());
        assert_eq!(locks(true), ["registration"]);
    }
}
