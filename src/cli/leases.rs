//! `leases`: every lease with its time, its keys, and the locks it holds or waits for.

use std::io::Write;

use super::exit::Failure;
use super::json::{self, Style};
use super::ls;
use super::reading::{self, Reading};
use super::table::{self, Align, Column};
use crate::config::{Config, Format, TtlPolicy};
use crate::domain::LeaseId;
use crate::model::{Facts, LeaseView, LockView};

/// Reads the leases and prints them.
///
/// # Errors
/// When the cluster cannot be read, or nothing of it may be.
pub async fn run(config: &Config, to: &mut impl Write) -> Result<(), Failure> {
    let mut reading = Reading::connect(config).await?;
    reading.list(&reading::watching(config)).await?;
    match config.polling.ttl.unwrap_or(TtlPolicy::All) {
        TtlPolicy::Holders => reading.poll(ls::holders(reading.facts(), false)).await,
        TtlPolicy::All => reading.poll(ids(reading.facts())).await,
        TtlPolicy::None => {}
    }
    let format = config.output.format.unwrap_or(Format::Simple);
    print(reading.facts(), format, Style { hex: config.output.hex }, to)?;
    reading.end(to)
}

/// The ids of all leases, in the order they are printed.
pub fn ids(facts: &Facts) -> Vec<LeaseId> {
    listed(facts).into_iter().map(|lease| lease.id).collect()
}

/// All leases, by id.
pub fn listed(facts: &Facts) -> Vec<LeaseView<'_>> {
    let mut leases: Vec<_> = facts.leases().ids().filter_map(|id| facts.lease(id)).collect();
    leases.sort_unstable_by_key(|lease| lease.id);
    leases
}

/// Prints them.
pub fn print(facts: &Facts, format: Format, style: Style, to: &mut impl Write) -> Result<(), Failure> {
    let leases = listed(facts);
    if format == Format::Json {
        return Ok(json::write(&json::Leases { facts, leases: &leases, style }, to)?);
    }
    let columns = [
        Column("LEASE", Align::Left),
        Column("TTL", Align::Right),
        Column("RENEWAL", Align::Left),
        Column("HOLDS", Align::Left),
        Column("WAITS FOR", Align::Left),
        Column("KEYS", Align::Left),
    ];
    Ok(table::print(format, columns, leases.into_iter().map(|lease| row(lease, style)), to)?)
}

fn row(lease: LeaseView<'_>, style: Style) -> [String; 6] {
    let names = |locks: Vec<LockView<'_>>| list(locks.iter().map(|lock| table::name(lock.name(), style)));
    [
        table::lease(lease.id),
        table::ttl(lease.ttl()),
        table::renewal(lease.renewal()),
        names(lease.holds()),
        names(lease.waits_for()),
        list(lease.keys().into_iter().map(|key| table::text(key.key(), style))),
    ]
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::sample;

    fn printed(format: Format) -> String {
        let mut out = Vec::new();
        print(sample::locks().shown(), format, Style::default(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_document_has_the_promised_shape() {
        let document: Value = serde_json::from_str(&printed(Format::Json)).unwrap();
        assert_eq!(
            document["leases"][1],
            json!({
                "lease": "694d82254d5fa305", "ttl": {"granted": 60, "remaining": 6, "age_ms": 120},
                "lease_state": "live", "renewed_ms_ago": null, "not_renewed_ms": null,
                "keys": ["/jobs/reindex/694d82254d5fa305"], "holds": ["/jobs/reindex"], "waits_for": [],
            })
        );
        assert_eq!(document["leases"][2]["waits_for"], json!(["/jobs/reindex"]));
        assert_eq!(document["leases"][0]["holds"], json!(["/cron/lock/nightly"]));
    }

    #[test]
    fn a_lease_is_a_line() {
        let text = printed(Format::Simple);
        assert_eq!(
            text.lines().nth(1).unwrap(),
            "694d82254d5fa305\t6/60\t-\t/jobs/reindex\t-\t/jobs/reindex/694d82254d5fa305"
        );
    }
}
