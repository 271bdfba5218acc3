//! `disarm`: an alarm of every member that has it.

use super::Plan;
use crate::cli::args::DisarmArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::reading::Reading;
use crate::config::Config;
use crate::domain::write::Write;
use crate::domain::{Alarm, AlarmKind};
use crate::model::ui::dialog::Word;
use crate::model::{BlastRadius, Facts};
use crate::port::{Etcd as _, PortError};
use crate::view::text::{bytes, escape_text};

/// Asks which alarms are raised.
pub async fn plan(args: &DisarmArgs, config: &Config) -> Result<(Plan, Reading), Failure> {
    let mut reading = Reading::connect(config).await?;
    let mut alarms = reading.client().alarms().await.map_err(unreadable)?;
    alarms.sort_unstable_by_key(|alarm| (alarm.kind, alarm.member));
    let wanted = args.alarm.as_deref().map(str::to_uppercase);
    if let Some(wanted) = &wanted {
        alarms.retain(|alarm| alarm.kind.name() == *wanted);
    }
    let Some(first) = alarms.first().copied() else {
        let what = wanted.map_or_else(|| "no alarm is raised".into(), |wanted| format!("no alarm {wanted} is raised"));
        return Err(Failure::new(Exit::Error, format!("{what}; nothing was done")));
    };
    if let Some(other) = alarms.iter().find(|alarm| alarm.kind != first.kind) {
        let what = format!("{} and {} are raised", first.kind.name(), other.kind.name());
        return Err(Failure::new(Exit::BadInput, what).hint("Say which one is to be disarmed."));
    }
    reading.members().await?;
    let facts = reading.facts();
    let name = first.kind.name();
    let blast = BlastRadius::of(facts, &Write::Disarm(first.kind));
    let mut plan = Plan::new("disarm", format!("disarm {name}"), Word::of(&blast.write, facts), blast);
    plan.notes.extend(alarms.iter().map(|alarm| raised(facts, *alarm)));
    plan.notes.extend(match first.kind {
        AlarmKind::NoSpace => Some(
            "it comes back with a next write unless space was freed: compact, then defragment every member, then \
             disarm"
                .into(),
        ),
        AlarmKind::Corrupt => Some("this repairs nothing: find out first which member's store differs".into()),
        AlarmKind::Other(_) => None,
    });
    Ok((plan, reading))
}

fn unreadable(error: PortError) -> Failure {
    match error {
        PortError::Denied { .. } => Failure::new(Exit::Error, format!("disarm: {error}; it takes the role root")),
        other => other.into(),
    }
}

/// Where an alarm is raised, and how full the database is there.
fn raised(facts: &Facts, alarm: Alarm) -> String {
    let Some(member) = facts.cluster.members().iter().find(|facts| facts.member.id == alarm.member) else {
        return format!("{} is raised for member {}", alarm.kind.name(), alarm.member);
    };
    let size = member.status.as_ref().map(|status| {
        let quota = status.db_quota.map(|quota| format!(" of {}", bytes(quota))).unwrap_or_default();
        format!(": its database has {}{quota}, {} of it in use", bytes(status.db_size), bytes(status.db_in_use))
    });
    let name = escape_text(&member.member.name);
    format!("{} is raised for {name} ({}){}", alarm.kind.name(), alarm.member, size.unwrap_or_default())
}
