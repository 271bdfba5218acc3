//! What is said when a cluster cannot be reached or read, and the exit code for it.

use crate::cli::exit::{Exit, Failure};
use crate::port::PortError;
use crate::port::pool::Failed;
use crate::source::{SourceError, Watching};

/// Says what else can be tried when locks cannot be found through their leases.
pub(super) fn unreadable(error: SourceError, watching: &Watching) -> Failure {
    let no_wonder = matches!(error, SourceError::NoEndpoint(_) | SourceError::Port(PortError::Unauthenticated { .. }));
    let needs_leases = *watching == Watching::Discover && !no_wonder;
    let failure = Failure::from(error);
    if needs_leases {
        failure.hint("Finding locks through their leases needs a leader. `lockscope ls ''` reads what one member has.")
    } else {
        failure
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::NoEndpoint(failed) => cannot_connect(&failed),
            SourceError::Port(error) => Self::from(error),
            ended @ SourceError::WatchEnded(_) => Self::new(Exit::Error, ended.to_string()),
        }
    }
}

impl From<PortError> for Failure {
    fn from(error: PortError) -> Self {
        // Some members say who they are to anybody, and ask who asks only afterwards.
        if let PortError::Unauthenticated { doing, why } = &error {
            return needs_user(&format!(" {doing}: {why}"));
        }
        let exit = if error.is_connection() { Exit::Connect } else { Exit::Error };
        Self::new(exit, error.to_string())
    }
}

/// An endpoint's reason; most of them name the endpoint themselves.
pub fn endpoint_error(endpoint: &str, error: &str) -> String {
    if error.contains(endpoint) { error.to_owned() } else { format!("{endpoint}: {error}") }
}

/// Names every endpoint with its reason.
fn cannot_connect(failed: &[Failed]) -> Failure {
    // A file that cannot be used is the same for every endpoint, and no matter of connecting.
    if let Some(Failed { error: error @ PortError::Tls { what, .. }, .. }) = failed.first()
        && what.starts_with("--")
    {
        return Failure::new(Exit::File, error.to_string());
    }
    let lines =
        failed.iter().map(|failed| format!("\n  {}", endpoint_error(&failed.endpoint, &failed.error.to_string())));
    // Where one wants to know who asks, the addresses are right.
    if failed.iter().any(|failed| matches!(failed.error, PortError::Unauthenticated { .. })) {
        return needs_user(&lines.collect::<String>());
    }
    let what = format!("cannot connect to any endpoint:{}", lines.collect::<String>());
    Failure::new(Exit::Connect, what).hint("Give client URLs of the cluster with --endpoints HOST:PORT,...")
}

/// The cluster answers nobody whom it does not know.
fn needs_user(told: &str) -> Failure {
    let what = format!("a user is needed, for the cluster answers only who logs in:{told}");
    Failure::new(Exit::Connect, what).hint("Name the user with --user NAME or ETCDCTL_USER.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(endpoint: &str, error: PortError) -> Failed {
        Failed { endpoint: endpoint.into(), error }
    }

    #[test]
    fn who_has_to_log_in_is_told_so_before_anything_else() {
        let error = PortError::Unauthenticated { doing: "ask for the status".into(), why: "user name is empty".into() };
        let failure = cannot_connect(&[failed("http://127.0.0.1:2379", error)]);
        let Failure::Said { exit: Exit::Connect, what, hint } = failure else { panic!("{failure:?}") };
        assert!(what.starts_with("a user is needed"), "{what}");
        assert!(hint.is_some_and(|hint| hint.contains("--user NAME")));
    }

    #[test]
    fn every_endpoint_is_named_once_with_its_reason() {
        let unreachable = |endpoint: &str| PortError::Unreachable { endpoint: endpoint.into(), why: "refused".into() };
        let no_space = PortError::NoSpace { doing: "connect".into() };
        let failure =
            cannot_connect(&[failed("http://a:1", unreachable("http://a:1")), failed("http://b:1", no_space)]);
        let Failure::Said { exit: Exit::Connect, what, .. } = failure else { panic!("{failure:?}") };
        assert_eq!(what.matches("http://a:1").count(), 1, "{what}");
        assert!(what.contains("\n  http://b:1: connect: the database"), "{what}");
    }

    #[test]
    fn a_file_for_tls_is_no_matter_of_the_endpoints() {
        let error = PortError::Tls { what: "--cacert /x.pem".into(), why: "holds no certificate".into() };
        let failure = cannot_connect(&[failed("https://a:1", error.clone()), failed("https://b:1", error)]);
        let Failure::Said { exit: Exit::File, what, .. } = failure else { panic!("{failure:?}") };
        assert_eq!(what, "--cacert /x.pem: holds no certificate");
    }
}
