//! Users, roles and logins that run out.

use std::time::Duration;

use lockscope::config::{Connection, Credentials};
use lockscope::domain::KeyRange;
use lockscope::event::{NoStatus, Observation, Stamped};
use lockscope::port::{Client, Etcd, Pool, PortError, Range, WatchAnswer, WatchId, WatchRange, WatchStream};
use lockscope::source;

use crate::common::{clock, ctl, on_every_real_etcd, put};
use crate::support::etcd::Cluster;

/// Makes root and `ann`, who may read and write `/a/` only, and switches authentication on.
pub fn enable(cluster: &Cluster) {
    ctl(cluster, &["user", "add", "root:pw"]);
    ctl(cluster, &["user", "grant-role", "root", "root"]);
    ctl(cluster, &["role", "add", "a-only"]);
    ctl(cluster, &["role", "grant-permission", "--prefix=true", "a-only", "readwrite", "/a/"]);
    ctl(cluster, &["user", "add", "ann:secret"]);
    ctl(cluster, &["user", "grant-role", "ann", "a-only"]);
    ctl(cluster, &["auth", "enable"]);
}

/// Settings to log in with.
pub fn as_user(cluster: &Cluster, name: &str, password: &str) -> Connection {
    let user = Some(Credentials { name: name.into(), password: password.into() });
    Connection { endpoints: cluster.endpoints(), user, ..Connection::default() }
}

#[test]
fn a_role_opens_its_prefix_and_nothing_else() {
    on_every_real_etcd("a_role_opens_its_prefix_and_nothing_else", async |version| {
        let cluster = version.cluster().start();
        enable(&cluster);
        let ann = Client::connect(&cluster.endpoint(0), &as_user(&cluster, "ann", "secret")).await.unwrap();
        put(&ann, "/a/k", "v").await;
        assert_eq!(ann.range(Range::of(KeyRange::prefix(b"/a/"))).await.unwrap().keys.len(), 1, "{version}");
        let error = ann.range(Range::of(KeyRange::prefix(b"/b/"))).await.unwrap_err();
        let PortError::Denied { user, .. } = &error else { panic!("{version}: {error}") };
        assert_eq!(user, "ann");
        let text = error.to_string();
        assert!(text.contains("prefix /b/") && text.contains("\"ann\"") && !text.contains("secret"), "{text}");
        let root = Client::connect(&cluster.endpoint(0), &as_user(&cluster, "root", "pw")).await.unwrap();
        root.range(Range::of(KeyRange::prefix(b"/b/"))).await.unwrap();
    });
}

#[test]
fn wrong_and_missing_logins_say_so_without_the_password() {
    on_every_real_etcd("wrong_and_missing_logins_say_so_without_the_password", async |version| {
        let cluster = version.cluster().start();
        enable(&cluster);
        let wrong =
            Client::connect(&cluster.endpoint(0), &as_user(&cluster, "ann", "sesame")).await.err().expect("refused");
        assert!(matches!(wrong, PortError::AuthFailed { .. }), "{version}: {wrong}");
        assert!(wrong.to_string().contains("\"ann\"") && !format!("{wrong} {wrong:?}").contains("sesame"), "{wrong}");
        let settings = Connection { user: None, ..as_user(&cluster, "", "") };
        let nobody = Client::connect(&cluster.endpoint(0), &settings).await.unwrap();
        let error = nobody.range(Range::of(KeyRange::prefix(b"/a/"))).await.unwrap_err();
        assert!(
            matches!(error, PortError::Unauthenticated { .. }) && error.to_string().contains("--user"),
            "{version}: {error}"
        );
        let pool = Pool::new(as_user(&cluster, "ann", "sesame"));
        let failed = pool.connect_any().await.err().expect("refused");
        assert!(
            failed[0].to_string().contains(&cluster.endpoint(0)) && !format!("{failed:?}{pool:?}").contains("sesame")
        );
    });
}

#[test]
fn a_user_on_a_cluster_without_users_is_let_in() {
    on_every_real_etcd("a_user_on_a_cluster_without_users_is_let_in", async |version| {
        let cluster = version.cluster().start();
        let ann = Client::connect(&cluster.endpoint(0), &as_user(&cluster, "ann", "secret")).await.unwrap();
        put(&ann, "/b/k", "v").await;
        assert_eq!(ann.user(), None, "{version}: nobody is logged in");
    });
}

#[test]
fn a_login_that_ran_out_is_renewed_and_new_watches_use_it() {
    on_every_real_etcd("a_login_that_ran_out_is_renewed_and_new_watches_use_it", async |version| {
        let cluster = version.cluster().flag("--auth-token-ttl=2").start();
        enable(&cluster);
        let root = Client::connect(&cluster.endpoint(0), &as_user(&cluster, "root", "pw")).await.unwrap();
        let ann = Client::connect(&cluster.endpoint(0), &as_user(&cluster, "ann", "secret")).await.unwrap();
        let watch = |id| WatchRange { id: WatchId(id), range: KeyRange::prefix(b"/a/"), from: None };
        let mut stream = ann.watch(watch(1)).await.unwrap();
        assert!(matches!(stream.next().await, Ok(Some(WatchAnswer::Created { .. }))), "{version}");
        tokio::time::sleep(Duration::from_secs(4)).await; // nothing tells that a login ran out but its time
        put(&root, "/a/k", "v").await;
        assert!(
            matches!(stream.next().await, Ok(Some(WatchAnswer::Events { .. }))),
            "{version}: a watch outlives its login"
        );
        // The stream still carries the old login: etcd refuses what is added to it.
        stream.add(watch(2)).await.unwrap();
        let refused = stream.next().await;
        assert!(matches!(refused, Ok(Some(WatchAnswer::Cancelled { refused: true, .. }))), "{version}: {refused:?}");
        assert_eq!(ann.range(Range::of(KeyRange::prefix(b"/a/"))).await.unwrap().keys.len(), 1);
        let mut again = ann.watch(watch(3)).await.unwrap();
        assert!(matches!(again.next().await, Ok(Some(WatchAnswer::Created { .. }))), "{version}");
    });
}

#[test]
fn a_member_that_tells_its_status_to_root_only_is_not_unreachable() {
    on_every_real_etcd("a_member_that_tells_its_status_to_root_only_is_not_unreachable", async |version| {
        let cluster = version.cluster().start();
        enable(&cluster);
        let pool = Pool::new(as_user(&cluster, "ann", "secret"));
        let connected = source::connect(&pool).await.unwrap();
        let mut answers = Vec::new();
        let mut sink = |stamped: Stamped<Observation>| {
            if let Observation::Status { answer, .. } = stamped.what {
                answers.push(answer);
            }
        };
        source::poll_members(&pool, &connected, &clock(), &mut sink).await.unwrap();
        assert!(matches!(&answers[..], [Ok(_) | Err(NoStatus::Denied(_))]), "{version}: {answers:?}");
        // it depends on the version whether root alone is told
        assert_eq!(answers[0].is_ok(), connected.status.is_some(), "{version}: {answers:?}");
    });
}
