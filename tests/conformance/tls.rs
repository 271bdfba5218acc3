//! TLS with certificates made here: the right ones work, and wrong ones say what is wrong.

use std::fs;
use std::path::{Path, PathBuf};

use lockscope::config::{Connection, Tls};
use lockscope::port::{Client, Etcd, PortError};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use crate::common::{ctl_with, on_every_real_etcd};
use crate::support::etcd::{ServerTls, Version};

/// An authority with its certificate in a file.
struct Authority {
    file: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(folder: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names are fine");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        let file = folder.join(format!("{name}.pem"));
        fs::write(&file, params.self_signed(&key).expect("it signs itself").pem()).expect("the folder is ours");
        Self { file, issuer: Issuer::new(params, key) }
    }

    /// Signs a certificate for `common_name`, valid for `host`; its file and its key's.
    fn sign(&self, folder: &Path, common_name: &str, host: &str) -> (PathBuf, PathBuf) {
        let mut params = CertificateParams::new(vec![host.into()]).expect("the name is valid");
        params.distinguished_name.push(DnType::CommonName, common_name);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("it is signed");
        let files = (folder.join(format!("{common_name}-cert.pem")), folder.join(format!("{common_name}-key.pem")));
        fs::write(&files.0, certificate.pem()).expect("the folder is ours");
        fs::write(&files.1, key.serialize_pem()).expect("the folder is ours");
        files
    }
}

async fn connect(endpoint: &str, tls: Tls) -> Result<Client, PortError> {
    let settings = Connection { endpoints: vec![endpoint.into()], tls, ..Connection::default() };
    let client = Client::connect(endpoint, &settings).await?;
    client.status().await?;
    Ok(client)
}

#[test]
fn certificates_open_the_door_and_wrong_ones_say_what_is_wrong() {
    on_every_real_etcd("certificates_open_the_door_and_wrong_ones_say_what_is_wrong", async |version: Version| {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let authority = Authority::new(folder, "authority");
        let other = Authority::new(folder, "other");
        let server = authority.sign(folder, "server", "127.0.0.1");
        let client = authority.sign(folder, "client", "client.example");
        let stranger = other.sign(folder, "stranger", "client.example");
        let setup = ServerTls { cert: server.0, key: server.1, client_ca: Some(authority.file.clone()) };
        let cluster = version.cluster().tls(setup).start();
        let endpoint = cluster.endpoint(0);
        let good = Tls {
            cacert: Some(authority.file.clone()),
            cert: Some(client.0.clone()),
            key: Some(client.1.clone()),
            skip_verify: false,
        };

        connect(&endpoint, good.clone()).await.unwrap();

        let unknown = Tls { cacert: Some(other.file.clone()), ..good.clone() };
        let error = connect(&endpoint, unknown.clone()).await.err().expect("an unknown authority").to_string();
        assert!(error.contains(&endpoint) && error.contains("--cacert"), "{version}: {error}");

        // the check is really skipped, and really only when asked
        connect(&endpoint, Tls { skip_verify: true, ..unknown }).await.unwrap();

        let system =
            connect(&endpoint, Tls { cacert: None, ..good.clone() }).await.err().expect("a stranger to the system");
        assert!(matches!(system, PortError::Tls { .. }) && system.to_string().contains("--cacert"), "{system}");

        let named = endpoint.replace("127.0.0.1", "localhost");
        let error = connect(&named, good.clone()).await.err().expect("another name").to_string();
        assert!(error.contains("localhost") && error.contains("127.0.0.1"), "{error}");
        connect(&named, Tls { skip_verify: true, ..good.clone() }).await.unwrap();

        for tls in [
            Tls { cert: None, key: None, ..good.clone() },
            Tls { cert: Some(stranger.0.clone()), key: Some(stranger.1), ..good.clone() },
        ] {
            let error = connect(&endpoint, tls).await.err().expect("no client certificate the server trusts");
            assert!(
                matches!(error, PortError::Tls { .. }) && error.to_string().contains("--cert"),
                "{version}: {error}"
            );
        }

        let plain = endpoint.replace("https://", "http://");
        let error = connect(&plain, Tls::default()).await.err().expect("no TLS on a TLS port").to_string();
        assert!(error.contains(&plain) && error.contains("https"), "{version}: {error}");
    });
}

#[test]
fn tls_on_a_port_without_it_says_so() {
    on_every_real_etcd("tls_on_a_port_without_it_says_so", async |version: Version| {
        let cluster = version.cluster().start();
        let endpoint = cluster.endpoint(0).replace("http://", "https://");
        let error = connect(&endpoint, Tls { skip_verify: true, ..Tls::default() }).await.err().expect("no TLS there");
        assert!(error.to_string().contains("TLS") && error.to_string().contains(&endpoint), "{version}: {error}");
    });
}

#[test]
fn a_client_certificate_is_a_login() {
    on_every_real_etcd("a_client_certificate_is_a_login", async |version: Version| {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let authority = Authority::new(folder, "authority");
        let server = authority.sign(folder, "server", "127.0.0.1");
        let root = authority.sign(folder, "root", "root.example");
        let nobody = authority.sign(folder, "nobody", "nobody.example");
        let setup = ServerTls { cert: server.0, key: server.1, client_ca: Some(authority.file.clone()) };
        let cluster = version.cluster().tls(setup).start();
        let endpoint = cluster.endpoint(0);
        let tls = |files: &(PathBuf, PathBuf)| Tls {
            cacert: Some(authority.file.clone()),
            cert: Some(files.0.clone()),
            key: Some(files.1.clone()),
            skip_verify: false,
        };
        let text = |path: &Path| path.to_str().expect("our paths are text").to_owned();
        let flags = ["--cacert", &text(&authority.file), "--cert", &text(&root.0), "--key", &text(&root.1)];
        ctl_with(&cluster, &flags, &["user", "add", "root:pw"]);
        ctl_with(&cluster, &flags, &["user", "grant-role", "root", "root"]);
        ctl_with(&cluster, &flags, &["auth", "enable"]);
        let leases = connect(&endpoint, tls(&root)).await.unwrap().leases().await;
        assert_eq!(leases.unwrap(), [], "{version}");
        let range = lockscope::port::Range::of(lockscope::domain::KeyRange::prefix(b""));
        connect(&endpoint, tls(&root)).await.unwrap().range(range.clone()).await.unwrap();
        let settings = Connection { tls: tls(&nobody), ..Connection::default() };
        let error = Client::connect(&endpoint, &settings).await.unwrap().range(range).await.unwrap_err();
        assert!(matches!(error, PortError::Denied { .. }), "{version}: {error}");
        assert!(error.to_string().contains("whole keyspace"), "{version}: {error}");
    });
}

#[test]
fn files_that_cannot_be_used_are_named_with_their_flag() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let authority = Authority::new(folder, "authority");
    let (cert, key) = authority.sign(folder, "client", "client.example");
    let (other_cert, _) = authority.sign(folder, "other", "client.example");
    let (empty, missing) = (folder.join("empty.pem"), folder.join("missing.pem"));
    fs::write(&empty, "nothing of use\n").expect("the folder is ours");
    let good = Tls { cacert: Some(authority.file), cert: Some(cert), key: Some(key), skip_verify: false };
    let some = |path: &PathBuf| Some(path.clone());
    for (tls, flag, file) in [
        (Tls { cacert: some(&missing), ..good.clone() }, "--cacert", "missing.pem"),
        (Tls { cacert: some(&empty), ..good.clone() }, "--cacert", "empty.pem"),
        (Tls { cert: some(&missing), ..good.clone() }, "--cert", "missing.pem"),
        (Tls { cert: some(&empty), ..good.clone() }, "--cert", "empty.pem"),
        (Tls { key: some(&missing), ..good.clone() }, "--key", "missing.pem"),
        (Tls { key: some(&empty), ..good.clone() }, "--key", "empty.pem"),
        (Tls { key: None, ..good.clone() }, "give --key", "client-cert.pem"),
        (Tls { cert: None, ..good.clone() }, "give --cert", "client-key.pem"),
        (Tls { cert: Some(other_cert), ..good.clone() }, "--key", "do not fit together"),
    ] {
        // nobody listens there: the files are looked at first
        let error = crate::common::block_on(connect("https://127.0.0.1:1", tls)).err().expect("unusable").to_string();
        assert!(error.contains(flag) && error.contains(file) && !error.contains('\n'), "{flag} {file}: {error}");
    }
}
