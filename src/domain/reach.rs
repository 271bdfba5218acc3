//! What leads a command that is started in the same shell to the same cluster.

/// What was said on a command line of where the cluster is and who asks, and what another program
/// has to be told of it. What the environment says is not in it, for the next command is told that
/// as well; a password never is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// For a command of this program: names of flags without their dashes, with their values.
    pub flags: Vec<(&'static str, String)>,
    /// For etcdctl, which knows neither these flags nor the configuration file: variables.
    pub variables: Vec<(&'static str, String)>,
}
