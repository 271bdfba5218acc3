//! Who is logged in on a connection, and the token that proves it.
//!
//! etcd forgets tokens after five minutes without a call (`--auth-token-ttl`) and when its users
//! change; whoever is refused for that logs in once more and asks again.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use etcd_client::{Client, Error};
use tokio::sync::Mutex;
use tonic::codegen::http::HeaderValue;
use tonic::{Code, Status};

use crate::config::Credentials;

/// The token that goes with every call. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Token(Arc<RwLock<Option<HeaderValue>>>);

impl Token {
    /// The token right now; none before a login, and on a cluster without users.
    pub fn get(&self) -> Option<HeaderValue> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, token: HeaderValue) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(token);
    }
}

/// The login of a connection.
pub(super) struct Login {
    token: Token,
    user: OnceLock<Credentials>,
    /// Held while a token is renewed, which has a deadline: calls that are refused at the same time
    /// have to wait for the one that renews it.
    renewing: Mutex<()>,
}

impl Login {
    /// Nobody is logged in yet; the token will be left in `token`.
    pub fn new(token: Token) -> Self {
        Self { token, user: OnceLock::new(), renewing: Mutex::default() }
    }

    /// Who is logged in.
    pub fn user(&self) -> Option<&str> {
        self.user.get().map(|user| user.name.as_str())
    }

    /// The token right now.
    pub fn token(&self) -> Option<HeaderValue> {
        self.token.get()
    }

    /// Logs in.
    pub async fn log_in(&self, etcd: &Client, user: &Credentials) -> Result<(), Error> {
        self.authenticate(etcd, user).await?;
        let _ = self.user.set(user.clone());
        Ok(())
    }

    /// Logs in once more after this refusal, unless the token is another than was `sent`. When the
    /// users changed, none that was there before the refusal is of use.
    pub async fn renew(&self, etcd: &Client, refusal: &Status, sent: Option<HeaderValue>) -> Result<(), Error> {
        let refused = if is_outdated(refusal) { self.token.get() } else { sent };
        let _held = self.renewing.lock().await;
        match self.user.get() {
            Some(user) if self.token.get() == refused => self.authenticate(etcd, user).await,
            _ => Ok(()),
        }
    }

    async fn authenticate(&self, etcd: &Client, user: &Credentials) -> Result<(), Error> {
        let answer = etcd.auth_client().authenticate(user.name.clone(), user.password.clone()).await?;
        let mut token = HeaderValue::from_str(answer.token())
            .map_err(|_| Error::GRpcStatus(Status::internal("the server's token is no header")))?;
        token.set_sensitive(true);
        self.token.set(token);
        Ok(())
    }
}

/// Whether a call was refused for its token: it ran out, or the users were changed since. The Lock
/// and Election services lose the code (etcd `rpctypes/error.go`).
pub(super) fn is_stale(status: &Status) -> bool {
    match status.code() {
        Code::Unauthenticated => true,
        Code::Unknown => status.message().contains("invalid auth token"),
        _ => is_outdated(status),
    }
}

/// Whether it was refused because the users were changed since.
fn is_outdated(status: &Status) -> bool {
    status.message().contains("auth store is old")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_for_the_token_are_told_from_others() {
        for (status, stale) in [
            (Status::unauthenticated("etcdserver: invalid auth token"), true),
            (Status::unknown("etcdserver: invalid auth token"), true),
            (Status::invalid_argument("etcdserver: revision of auth store is old"), true),
            (Status::permission_denied("etcdserver: permission denied"), false),
            (Status::unknown("election: no leader"), false),
            (Status::invalid_argument("etcdserver: user name is empty"), false),
        ] {
            assert_eq!(is_stale(&status), stale, "{status}");
        }
    }
}
