//! `revoke`: a lease with all its keys, wherever they are.

use std::collections::BTreeSet;

use super::Plan;
use crate::cli::args::RevokeArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::reading::Reading;
use crate::config::Config;
use crate::domain::key::split_last;
use crate::domain::write::Write;
use crate::domain::{KeyRange, KeyValue, LeaseId};
use crate::model::BlastRadius;
use crate::model::ui::dialog::Word;
use crate::operate;
use crate::port::{Client, Etcd as _, PortError, Range, Want};
use crate::source::Watching;
use crate::view::text::quantity;

/// The most keys that are read to see what stands beside a key. The directory of its lock tells
/// best what the lock is; one that is larger is not read whole for that.
const BESIDE: i64 = 50_000;

/// The most directories whose size is asked for.
const DIRECTORIES: usize = 64;

/// Reads the lease, its keys, and the locks they are in.
pub async fn plan(args: &RevokeArgs, config: &Config) -> Result<(Plan, Reading), Failure> {
    let lease = args.lease()?;
    let mut reading = Reading::connect(config).await?;
    let client = reading.client().clone();
    let title = format!("revoke lease {lease}");
    let (ttl, keys) = operate::leased(&client, lease).await.map_err(|error| unreadable(&title, error))?;
    if ttl.granted <= 0 && ttl.remaining < 0 {
        return Err(Failure::new(Exit::Error, format!("{title}: there is no such lease, or it is gone already"))
            .hint("`lockscope leases` lists those that are there."));
    }
    let beside = beside(&client, &keys).await?;
    if !beside.is_empty() {
        reading.list(&Watching::Prefixes(beside)).await?;
    }
    let created = keys.iter().map(|kv| (kv.key.clone(), kv.create_revision)).collect();
    let blast = BlastRadius::of_keys(reading.facts(), &Write::Revoke { lease }, created);
    let word = Word::of(&blast.write, reading.facts());
    let mut plan = Plan::new("revoke", title, word, blast);
    plan.lease = Some(lease);
    plan.ttl = Some((ttl.granted, ttl.remaining));
    plan.notes.push(match keys.len() {
        0 => "no key is on this lease: nothing but the lease goes".into(),
        keys => format!(
            "{} in one revision, whatever prefix is watched, and the lease's client loses its session",
            if keys == 1 { "its key goes".into() } else { format!("its {} go", quantity(keys, "key")) }
        ),
    });
    if reading.report_denied() {
        plan.notes.push("some keys beside these may not be read: not every lock may be named here".into());
    }
    Ok((plan, reading))
}

impl RevokeArgs {
    /// The lease that is meant.
    fn lease(&self) -> Result<LeaseId, Failure> {
        let read = if self.dec { LeaseId::parse_decimal(&self.lease) } else { LeaseId::parse_hex(&self.lease) };
        match read {
            Ok(lease) if !lease.is_none() => Ok(lease),
            _ => {
                let kind = if self.dec { "decimal" } else { "hex" };
                Err(Failure::new(Exit::BadInput, format!("`{}` is no id of a lease in {kind}", self.lease))
                    .hint("Ids are hex as `lockscope leases` prints them, with or without 0x; --dec takes decimal."))
            }
        }
    }
}

fn unreadable(title: &str, error: PortError) -> Failure {
    match error {
        PortError::Denied { .. } => Failure::new(Exit::Error, format!("{title}: {error}"))
            .hint("It takes a role that may read and write every key of the lease."),
        other => other.into(),
    }
}

/// The prefixes to read so that the locks of these keys are known as `ls` knows them: the
/// directory that each lock is in, unless that is too large, else the lock.
async fn beside(client: &Client, keys: &[KeyValue]) -> Result<Vec<Vec<u8>>, Failure> {
    let mut prefixes = BTreeSet::new();
    let mut wider = BTreeSet::new();
    for kv in keys {
        let (lock, _) = split_last(&kv.key);
        prefixes.insert(if lock.is_empty() { kv.key.to_vec() } else { [lock, b"/"].concat() });
        let (directory, _) = split_last(lock);
        if !directory.is_empty() {
            wider.insert([directory, b"/"].concat());
        }
    }
    for directory in wider.into_iter().take(DIRECTORIES) {
        let ask = Range { want: Want::Count, ..Range::of(KeyRange::prefix(&directory)) };
        match client.range(ask).await {
            Ok(page) if page.count <= BESIDE => {
                prefixes.insert(directory);
            }
            Ok(_) | Err(PortError::Denied { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(prefixes.into_iter().collect())
}
