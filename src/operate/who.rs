//! Who writes, as far as this machine and the login tell.

use std::fs;

use serde::Serialize;

/// Who writes. None of it is proof: it is what a person needs to find whom to ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Who {
    /// The user of etcd; `None` when nobody logs in.
    pub etcd_user: Option<String>,
    /// The user of the operating system, by the process's own id; the id where it has no name.
    pub os_user: Option<String>,
    /// The name of this machine.
    pub host: Option<String>,
    /// The id of this process.
    pub pid: u32,
}

impl Who {
    /// Who runs this program, logged in to etcd as `etcd_user`.
    pub fn runs(etcd_user: Option<&str>) -> Self {
        Self { etcd_user: etcd_user.map(Into::into), os_user: os_user(), host: host(), pid: std::process::id() }
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems may not tell")]
fn os_user() -> Option<String> {
    // Variables such as USER say what they were set to; this is who the process is.
    let id = rustix::process::getuid().as_raw();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    Some(name_in(&users, id).map_or_else(|| id.to_string(), Into::into))
}

#[cfg(not(unix))]
fn os_user() -> Option<String> {
    std::env::var("USERNAME").ok()
}

/// The name of a user in a file of users (`passwd(5)`).
#[cfg(unix)]
fn name_in(users: &str, id: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(id)).then_some(name)
    })
}

#[cfg(unix)]
fn host() -> Option<String> {
    let named =
        ["/proc/sys/kernel/hostname", "/etc/hostname"].into_iter().find_map(|file| fs::read_to_string(file).ok());
    named.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}

#[cfg(not(unix))]
fn host() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_named_by_the_id_of_the_process() {
        let users = "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n";
        assert_eq!(name_in(users, 1000), Some("ann"));
        assert_eq!(name_in(users, 0), Some("root"));
        assert_eq!(name_in(users, 7), None);
    }

    #[test]
    fn this_process_is_somebody() {
        let who = Who::runs(Some("ann"));
        assert_eq!((who.etcd_user.as_deref(), who.pid), (Some("ann"), std::process::id()));
        assert!(who.os_user.is_some());
    }
}
