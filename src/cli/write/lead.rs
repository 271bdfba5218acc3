//! `move-leader`: the lead to another member.

use super::Plan;
use crate::cli::args::MoveLeaderArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::reading::Reading;
use crate::config::Config;
use crate::domain::write::Write;
use crate::domain::{Member, MemberId};
use crate::model::BlastRadius;
use crate::model::ui::dialog::Word;
use crate::view::text::{escape_text, quantity};

/// Asks the members who they are and who leads.
pub async fn plan(args: &MoveLeaderArgs, config: &Config) -> Result<(Plan, Reading), Failure> {
    let mut reading = Reading::connect(config).await?;
    reading.members().await?;
    let cluster = &reading.facts().cluster;
    let named: Vec<_> = cluster.members().iter().filter(|facts| is_named(&facts.member, &args.member)).collect();
    let wanted = escape_text(&args.member);
    let to = match &named[..] {
        [one] => *one,
        [] => {
            let all: Vec<_> = cluster.members().iter().map(|facts| name(&facts.member)).collect();
            return Err(Failure::new(Exit::Error, format!("there is no member `{wanted}`"))
                .hint(format!("Members:\n  {}", all.join("\n  "))));
        }
        several => {
            let what = format!("{} are called `{wanted}`", quantity(several.len(), "member"));
            let ids: Vec<_> = several.iter().map(|facts| facts.member.id.to_string()).collect();
            return Err(Failure::new(Exit::BadInput, what).hint(format!("Say which by its id: {}", ids.join(", "))));
        }
    };
    let title = format!("move the lead to {}", name(&to.member));
    if to.member.learner {
        let what = format!("{title}: it is a learner, which has no vote and cannot lead");
        return Err(Failure::new(Exit::BadInput, what));
    }
    let leader = cluster.leader_facts();
    let write = Write::MoveLeader { to: to.member.id };
    let blast = BlastRadius::of(reading.facts(), &write);
    let mut plan = Plan::new("move-leader", title, Word::of(&write, reading.facts()), blast);
    match leader {
        Some(leader) if leader.member.id == to.member.id => {
            plan.nothing_to_do = Some(format!("{} leads already; nothing was done", name(&to.member)));
            plan.notes.push(format!("{} leads already: there is nothing to do", name(&to.member)));
            return Ok((plan, reading));
        }
        Some(leader) => {
            plan.through = leader.status.as_ref().map(|status| status.endpoint.clone());
            plan.notes.push(format!("{} leads in term {}", name(&leader.member), cluster.term()));
            if let Some(lag) = cluster.lag(to) {
                plan.notes.push(format!("{} is behind by {}", name(&to.member), quantity(lag_of(lag), "entry")));
            }
        }
        // Who may not ask who leads cannot be told where to send it.
        None => match cluster.denied() {
            Some(why) => return Err(Failure::new(Exit::Error, format!("{}: {why}", plan.title))),
            None => plan.notes.push("no member says who leads".into()),
        },
    }
    if let Some(error) = &to.error {
        plan.notes.push(format!("{} does not say how it is: {error}", name(&to.member)));
    }
    plan.notes.push("writes stop for a moment, and every lease gets its time anew from the new leader".into());
    Ok((plan, reading))
}

fn lag_of(lag: impl TryInto<usize>) -> usize {
    lag.try_into().unwrap_or(usize::MAX)
}

fn is_named(member: &Member, wanted: &str) -> bool {
    let digits = wanted.strip_prefix("0x").unwrap_or(wanted);
    member.name == wanted || u64::from_str_radix(digits, 16).is_ok_and(|id| member.id == MemberId(id))
}

fn name(member: &Member) -> String {
    if member.name.is_empty() {
        member.id.to_string()
    } else {
        format!("{} ({})", escape_text(&member.name), member.id)
    }
}
