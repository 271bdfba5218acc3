//! `members`: what each member says of itself, and the alarms.

use std::io::Write;

use super::exit::Failure;
use super::json;
use super::reading::Reading;
use super::table::{self, Align, Column};
use crate::config::{Config, Format};
use crate::event::NoStatus;
use crate::model::{Facts, MemberFacts};
use crate::view::text::escape_text;

/// Asks the members and prints what they say. Members that do not answer are printed as
/// that; one that answers is enough.
///
/// # Errors
/// When no endpoint answers.
pub async fn run(config: &Config, to: &mut impl Write) -> Result<(), Failure> {
    let mut reading = Reading::connect(config).await?;
    reading.members().await?;
    print(reading.facts(), config.output.format.unwrap_or(Format::Simple), to)
}

/// Prints the members.
pub fn print(facts: &Facts, format: Format, to: &mut impl Write) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(json::write(&json::Members::of(facts), to)?);
    }
    let left = |name| Column(name, Align::Left);
    let right = |name| Column(name, Align::Right);
    let columns = [
        left("ID"),
        left("NAME"),
        left("ENDPOINT"),
        left("ROLE"),
        right("TERM"),
        right("RAFT INDEX"),
        right("APPLIED"),
        right("LAG"),
        right("DB SIZE"),
        left("VERSION"),
        right("LATENCY MS"),
        left("ALARMS"),
        left("ERRORS"),
    ];
    Ok(table::print(format, columns, facts.cluster.members().iter().map(|member| row(facts, member)), to)?)
}

fn row(facts: &Facts, of: &MemberFacts) -> [String; 13] {
    let MemberFacts { member, status, error, .. } = of;
    let status = status.as_ref().filter(|_| error.is_none());
    let endpoint = status.map(|status| &status.endpoint).or(member.client_urls.first());
    let alarms = facts.cluster.alarms().iter().filter(|alarm| alarm.member == member.id);
    let errors =
        error.iter().map(NoStatus::to_string).chain(status.into_iter().flat_map(|status| status.errors.clone()));
    [
        member.id.to_string(),
        escape_text(&member.name).into_owned(),
        endpoint.map(|url| escape_text(url).into_owned()).unwrap_or_default(),
        facts.cluster.role(of).name().into(),
        table::number(status.map(|status| status.term)),
        table::number(status.map(|status| status.raft_index)),
        table::number(status.map(|status| status.applied_index)),
        table::number(facts.cluster.lag(of)),
        table::number(status.map(|status| status.db_size)),
        status.map(|status| escape_text(&status.version).into_owned()).unwrap_or_default(),
        table::number(status.map(|status| status.latency.0)),
        alarms.map(|alarm| alarm.kind.name()).collect::<Vec<_>>().join(","),
        errors.map(|error| escape_text(&error).into_owned()).collect::<Vec<_>>().join("; "),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::sample;
    use crate::domain::{MemberId, Timestamp};
    use crate::event::{Event, Observation, Stamped};
    use crate::update::update;

    fn printed(format: Format) -> String {
        let mut out = Vec::new();
        print(sample::members().shown(), format, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_document_has_the_promised_shape() {
        let document: Value = serde_json::from_str(&printed(Format::Json)).unwrap();
        assert_eq!(document["revision"], 84_213);
        let [leader, follower, silent] = [0, 1, 2].map(|at| &document["members"][at]);
        for promised in [
            "id",
            "name",
            "endpoint",
            "role",
            "term",
            "raft_index",
            "applied_index",
            "lag",
            "db_size",
            "version",
            "latency_ms",
            "errors",
        ] {
            assert!(leader.get(promised).is_some() && silent.get(promised).is_some(), "{promised}");
        }
        assert_eq!((&leader["role"], &leader["id"], &leader["term"]), (&json!("leader"), &json!("a1"), &json!(7)));
        assert_eq!((&follower["role"], &follower["lag"]), (&json!("follower"), &json!(2)));
        assert_eq!((&silent["role"], &silent["term"]), (&json!("unreachable"), &Value::Null));
        assert_eq!(silent["errors"], json!(["connection refused"]));
        assert_eq!(document["alarms"], json!([{"member": "a2", "alarm": "NOSPACE"}]));
    }

    #[test]
    fn a_member_that_may_not_be_asked_says_so() {
        let mut model = sample::members();
        let answer = Err(NoStatus::Denied("permission denied".into()));
        let what = Observation::Status { member: MemberId(0xa3), answer };
        update(&mut model, Event::Observed(Stamped { at: Timestamp(1_700_000_001_000), what }));
        let mut out = Vec::new();
        print(model.shown(), Format::Simple, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let denied: Vec<_> = text.lines().nth(2).unwrap().split('\t').collect();
        assert_eq!((denied[3], denied[12]), ("unknown", "not allowed: permission denied"));
    }

    #[test]
    fn a_member_is_a_line_with_its_alarms() {
        let text = printed(Format::Simple);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0][..5], ["a1", "a", "http://127.0.0.1:1", "leader", "7"]);
        assert_eq!(lines[1][11], "NOSPACE");
        assert_eq!(lines[2][1], "c\\x1b[2J");
        assert_eq!(lines[2][12], "connection refused");
    }
}
