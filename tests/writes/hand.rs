//! An operator of the library, and something that happens between its look and its write.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lockscope::config::Connection;
use lockscope::domain::write::{Confirmed, Write};
use lockscope::domain::{Key, LeaseId, Revision, Timestamp};
use lockscope::operate::{AuditLog, Operator, Outcome};
use lockscope::port::{Clock, Pool};

use crate::support::running::block_on;

/// How long one call may take: an answer that does not come shall not be waited for long.
pub const CALL: Duration = Duration::from_secs(2);

/// Carries out a write on these endpoints. `meanwhile` happens when what is there was looked at
/// and nothing was sent yet: that is when the audit log wants to know the time first.
pub fn carry_out(endpoints: Vec<String>, confirmed: &Confirmed, meanwhile: impl FnOnce() + Send + 'static) -> Outcome {
    let folder = tempfile::tempdir().expect("a temporary folder");
    carry_out_noted(&folder.path().join("audit"), endpoints, confirmed, meanwhile)
}

/// The same with an audit log that is kept.
pub fn carry_out_noted(
    audit: &Path,
    endpoints: Vec<String>,
    confirmed: &Confirmed,
    meanwhile: impl FnOnce() + Send + 'static,
) -> Outcome {
    let pool = Pool::new(Connection { endpoints, command_timeout: CALL, ..Connection::default() });
    let meanwhile = Arc::new(Mutex::new(Some(meanwhile)));
    let clock = Clock::new(move || {
        if let Some(meanwhile) = meanwhile.lock().expect("nothing panicked").take() {
            meanwhile();
        }
        Timestamp(1_700_000_000_000)
    });
    let operator = Operator::new(pool, clock).audited(Some(AuditLog::at(audit)));
    block_on(async { operator.carry_out(confirmed).await })
}

/// A revoke that was confirmed with these keys.
pub fn revoke(lease: i64, shown: &[(&str, i64)]) -> Confirmed {
    Confirmed { write: Write::Revoke { lease: LeaseId(lease) }, shown: keys(shown) }
}

/// A release that was confirmed.
pub fn release(lock: &str, key: &str, created: i64) -> Confirmed {
    let write = Write::Release { lock: lock.into(), key: key.into(), create_revision: Revision(created) };
    Confirmed { write, shown: keys(&[(key, created)]) }
}

/// Keys with their `create_revision`s.
pub fn keys(keys: &[(&str, i64)]) -> Vec<(Key, Revision)> {
    keys.iter().map(|(key, created)| (Key::from(*key), Revision(*created))).collect()
}
