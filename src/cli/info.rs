//! `info`: versions, paths and settings, and what the cluster says of itself.

use std::io::Write;
use std::path::Path;

use super::exit::Failure;
use super::json::{self, Style, Unreached};
use super::reading::{self, Reading};
use super::settings::Settings;
use super::table::{self, Align, Column};
use crate::config::{Config, Format, MASK};
use crate::model::Facts;
use crate::runtime;
use crate::source::{self, SourceError};
use crate::view::text::escape_text;

/// Asks the cluster who it is, if it can be reached, and prints everything.
///
/// # Errors
/// When a file for TLS cannot be read. A cluster that cannot be reached is told of.
pub async fn run(settings: &Settings, to: &mut impl Write) -> Result<(), Failure> {
    let config = &settings.config;
    let pool = reading::pool(config)?;
    let (reading, unreached) = match source::connect(&pool).await {
        Ok(connected) => {
            let mut reading = Reading::of(pool, connected, config);
            reading.members().await?;
            (Some(reading), Vec::new())
        }
        Err(SourceError::NoEndpoint(failed)) => (None, failed),
        Err(error) => return Err(error.into()),
    };
    let unreached = unreached
        .into_iter()
        .map(|failed| Unreached { endpoint: failed.endpoint, error: failed.error.to_string() })
        .collect();
    print(settings, reading.as_ref().map(Reading::facts), unreached, to)
}

/// Prints everything. `facts` is what a cluster said, `unreached` why none did.
pub fn print(
    settings: &Settings,
    facts: Option<&Facts>,
    unreached: Vec<Unreached>,
    to: &mut impl Write,
) -> Result<(), Failure> {
    let config = &settings.config;
    let format = config.output.format.unwrap_or(Format::Simple);
    let style = Style { hex: config.output.hex };
    let path = |path: &Path| path.display().to_string();
    let info = json::Info {
        schema: json::SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        build: build(),
        commit: Some(env!("LOCKSCOPE_COMMIT")).filter(|commit| !commit.is_empty()),
        rustc: env!("LOCKSCOPE_RUSTC"),
        target: env!("LOCKSCOPE_TARGET"),
        config_path: settings.path.as_deref().map(path),
        config_file: settings.file.as_deref().map(path),
        themes_folder: runtime::themes_folder().as_deref().map(path),
        context: config.context.as_deref(),
        endpoints_from: config.endpoints_from.as_deref(),
        endpoints: &config.connection.endpoints,
        user: config.connection.user.as_ref().map(|user| user.name.as_str()),
        password: config.connection.user.as_ref().map(|_| MASK),
        prefixes: config.prefixes.iter().map(|prefix| style.text(prefix)).collect(),
        theme: config.display.theme.as_deref(),
        read_only: config.read_only.is_some(),
        log_file: config.logging.file.as_deref().map(path),
        audit_log: config.audit_log.as_deref().map(path),
        reachable: facts.is_some(),
        cluster_id: facts.and_then(|facts| facts.link.cluster_id).map(Into::into),
        members: facts.map(json::Version::of).unwrap_or_default(),
        errors: unreached,
    };
    if format == Format::Json {
        return Ok(json::write(&info, to)?);
    }
    let columns = [Column("WHAT", Align::Left), Column("IS", Align::Left)];
    Ok(table::print(format, columns, rows(&info, config, facts, style), to)?)
}

/// What this program was built for, and whether it was built to be fast.
fn build() -> String {
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    format!("{}-{} {profile}", std::env::consts::ARCH, std::env::consts::OS)
}

fn rows(info: &json::Info<'_>, config: &Config, facts: Option<&Facts>, style: Style) -> Vec<[String; 2]> {
    let row =
        |what: &str, is: Option<&str>| [what.to_owned(), is.map(|is| escape_text(is).into_owned()).unwrap_or_default()];
    let context = info.context.map(|name| match info.endpoints_from {
        Some(from) => format!("{name} (endpoints from {from})"),
        None => name.to_owned(),
    });
    let mut rows = vec![
        row("version", Some(info.version)),
        row("build", Some(&info.build)),
        row("commit", info.commit),
        row("rustc", Some(info.rustc)),
        row("target", Some(info.target)),
        row("config-path", info.config_path.as_deref()),
        row("themes-folder", info.themes_folder.as_deref()),
        row("context", context.as_deref()),
        row("config-file", info.config_file.as_deref()),
    ];
    rows.extend(info.endpoints.iter().map(|endpoint| row("endpoint", Some(endpoint))));
    rows.push(row("user", info.user));
    rows.push(row("password", info.password));
    rows.extend(config.prefixes.iter().map(|prefix| ["prefix".to_owned(), table::text(prefix, style)]));
    rows.push(row("theme", info.theme));
    rows.push(row("read-only", Some(if info.read_only { "true" } else { "false" })));
    rows.push(row("log-file", info.log_file.as_deref()));
    rows.push(row("audit-log", info.audit_log.as_deref()));
    rows.push(row("reachable", Some(if info.reachable { "true" } else { "false" })));
    if let Some(facts) = facts {
        let id = facts.link.cluster_id.map(|id| id.to_string());
        rows.push(row("cluster-id", id.as_deref()));
        for member in facts.cluster.members() {
            let version =
                member.status.as_ref().map_or(facts.cluster.role(member).name(), |status| status.version.as_str());
            let text = format!("{} {} {version}", member.member.id, member.member.name);
            rows.push(row("member", Some(&text)));
        }
    }
    rows.extend(
        info.errors.iter().map(|failed| row("error", Some(&reading::endpoint_error(&failed.endpoint, &failed.error)))),
    );
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::sample;
    use crate::config::{Credentials, Output};

    fn settings(format: Format) -> Settings {
        let mut config = Config { output: Output { format: Some(format), hex: false }, ..Config::default() };
        config.connection.user = Some(Credentials { name: "root".into(), password: "hunter2".into() });
        Settings { file: Some("/c.toml".into()), path: Some("/c.toml".into()), config }
    }

    fn printed(format: Format, facts: Option<&Facts>, unreached: Vec<Unreached>) -> String {
        let mut out = Vec::new();
        print(&settings(format), facts, unreached, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_password_is_masked_in_every_format() {
        for format in [Format::Simple, Format::Table, Format::Json] {
            let text = printed(format, None, Vec::new());
            assert!(!text.contains("hunter2") && text.contains(MASK), "{text}");
        }
    }

    #[test]
    fn the_document_tells_of_the_cluster_when_it_answers() {
        let model = sample::members();
        let document: Value = serde_json::from_str(&printed(Format::Json, Some(model.shown()), Vec::new())).unwrap();
        assert_eq!(document["schema"], "lockscope/1");
        assert_eq!(document["cluster_id"], "cdf818194e3a8c32");
        assert_eq!(document["config_file"], "/c.toml");
        assert_eq!(document["endpoints"], json!(["http://127.0.0.1:2379"]));
        assert_eq!(document["members"][0], json!({"id": "a1", "name": "a", "version": "3.5.30"}));
        assert_eq!(document["members"][2]["version"], Value::Null);
    }

    #[test]
    fn endpoints_that_do_not_answer_are_told_with_their_errors() {
        let unreached = vec![Unreached { endpoint: "http://127.0.0.1:1".into(), error: "refused".into() }];
        let text = printed(Format::Simple, None, unreached);
        assert!(
            text.contains("reachable\tfalse\n") && text.ends_with("error\thttp://127.0.0.1:1: refused\n"),
            "{text}"
        );
    }
}
