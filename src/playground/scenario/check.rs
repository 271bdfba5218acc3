//! What a scenario's file says, taken at its word or refused.

use std::time::Duration;

use toml::Spanned;

use super::deed::NodeWord;
use super::file::{Deeds, Raw, RawCluster, RawCue, RawGroup, RawWanted, Text};
use super::trigger::{Trigger, Who};
use super::{Cue, Deed, Group, Needs, Scenario, Span};
use crate::config::parse;
use crate::domain::escape::is_unsafe;
use crate::domain::play::{ClientId, Narration, Order, Whom};
use crate::domain::raft::ClusterTime;
use crate::nearest;
use crate::playground::cast::Protected;
use crate::playground::expect::{Rule, Wanted};
use crate::recipe::{Kind, Mistakes};

/// What is wrong, and where: at which byte of the file.
pub(super) struct Wrong {
    pub at: usize,
    pub why: String,
    /// Whether something is not there at all.
    pub is_missing: bool,
}

type Checked<T> = Result<T, Wrong>;

/// The most clients there can be.
const MOST_CLIENTS: u32 = 2_000;

/// The length of leases for which no `ttl` is said.
const LEASE: Duration = Duration::from_secs(5);

fn wrong<T>(at: &Spanned<T>, why: impl Into<String>) -> Wrong {
    Wrong { at: at.span().start, why: why.into(), is_missing: false }
}

/// That tables of a kind are not there.
fn missing(table: &str) -> Wrong {
    Wrong { at: 0, why: format!("a scenario needs at least one [[{table}]], and there is none"), is_missing: true }
}

/// The values that can be had; what is wrong with the others goes to `all`.
fn each<T>(checked: impl Iterator<Item = Checked<T>>, all: &mut Vec<Wrong>) -> Vec<T> {
    checked.filter_map(|one| one.map_err(|wrong| all.push(wrong)).ok()).collect()
}

/// Makes a scenario of what a file says, or tells all that is wrong with it. Who takes part is looked at
/// first: what happens to them and what is expected of them can only be judged when that is known.
pub(super) fn scenario(raw: &Raw) -> Result<Scenario, Vec<Wrong>> {
    let mut all = Vec::new();
    let groups = each(raw.clients.iter().map(group), &mut all);
    let resources = raw.resources.iter();
    let resources = resources.map(|resource| Ok(Protected { name: word(&resource.name)?, fencing: resource.fencing }));
    let resources = each(resources, &mut all);
    if raw.clients.is_empty() {
        all.push(missing("clients"));
    }
    if raw.expect.is_empty() {
        all.push(missing("expect"));
    }
    let scenario = match about(raw, groups, resources) {
        Ok(scenario) if all.iter().all(|wrong| wrong.is_missing) => Some(scenario),
        Ok(_) => None,
        Err(wrong) => {
            all.push(wrong);
            None
        }
    };
    let Some(mut scenario) = scenario.filter(|_| !raw.clients.is_empty()) else { return Err(all) };
    let locks = locks(&scenario);
    all.extend(known("lock", &raw.lock, &locks).err());
    for cue in &raw.at {
        match self::cue(cue, &mut scenario) {
            Ok(cue) => scenario.cues.push(cue),
            Err(wrong) => all.push(wrong),
        }
    }
    scenario.wanted = each(raw.expect.iter().map(|wanted| self::wanted(wanted, &scenario, &locks)), &mut all);
    if !scenario.resources.is_empty() && scenario.groups.iter().all(|group| group.writes.is_none()) {
        all.push(wrong(&raw.resources[0].name, "nobody writes to it: clients that do have `writes`"));
    }
    if all.is_empty() { Ok(scenario) } else { Err(all) }
}

/// What a scenario is about and who takes part, without what happens.
fn about(raw: &Raw, groups: Vec<Group>, resources: Vec<Protected>) -> Checked<Scenario> {
    let name = raw.name.get_ref();
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || !name.bytes().all(plain) {
        return Err(wrong(&raw.name, format!("`{name}` is no name: small letters, digits and dashes make one")));
    }
    let scenario = Scenario {
        name: name.clone(),
        summary: told(&raw.summary)?,
        summary_zh: told(&raw.summary_zh)?,
        lock: word(&raw.lock)?,
        needs: needs(&raw.cluster)?,
        groups,
        resources,
        cues: Vec::new(),
        narrations: Vec::new(),
        wanted: Vec::new(),
    };
    let clients: u32 = scenario.groups.iter().map(|group| u32::from(group.count)).sum();
    match raw.clients.first() {
        Some(first) if clients > MOST_CLIENTS => {
            Err(wrong(first, format!("{clients} clients: from 1 to {MOST_CLIENTS} can take part")))
        }
        _ => Ok(scenario),
    }
}

/// The names that can be held or watched.
fn locks(scenario: &Scenario) -> Vec<String> {
    let each = scenario.groups.iter().flat_map(|group| {
        let numbered = |name: &str| -> Vec<String> {
            if name.contains("{n}") {
                (1..=group.count).map(|number| name.replace("{n}", &number.to_string())).collect()
            } else {
                vec![name.to_owned()]
            }
        };
        numbered(&group.lock).into_iter().chain(group.second.as_deref().map(numbered).unwrap_or_default())
    });
    each.collect()
}

fn known(what: &str, name: &Text, all: &[String]) -> Checked<()> {
    if all.contains(name.get_ref()) {
        return Ok(());
    }
    Err(wrong(name, unknown(what, name.get_ref(), all)))
}

fn unknown(what: &str, name: &str, all: &[String]) -> String {
    match nearest::nearest(name, all.iter().map(String::as_str)) {
        Some(near) => format!("no {what} `{name}`; did you mean `{near}`?"),
        None if all.is_empty() => format!("no {what} `{name}`; there is none"),
        None => format!("no {what} `{name}`; there are {}", all.join(", ")),
    }
}

fn needs(raw: &RawCluster) -> Checked<Needs> {
    let faults = match &raw.needs {
        None => false,
        Some(word) if word.get_ref() == "faults" => true,
        Some(word) => return Err(wrong(word, format!("`{}` is no need; there is `faults`", word.get_ref()))),
    };
    if let Some(members) = &raw.members
        && !matches!(members.get_ref(), 1 | 3 | 5 | 7)
    {
        return Err(wrong(members, format!("{} members: it can be 1, 3, 5 or 7", members.get_ref())));
    }
    let delay = raw.delay.as_ref().map(length).transpose()?;
    Ok(Needs {
        faults,
        members: raw.members.as_ref().map(|members| *members.get_ref()),
        pre_vote: raw.pre_vote,
        check_quorum: raw.check_quorum,
        delay,
    })
}

fn group(spanned: &Spanned<RawGroup>) -> Checked<Group> {
    let raw = spanned.get_ref();
    let kind = kind(&raw.recipe)?;
    let count = match &raw.count {
        None => 1,
        Some(count) if (1..=1000).contains(count.get_ref()) => *count.get_ref(),
        Some(count) => return Err(wrong(count, format!("{} clients: a group has 1 to 1000", count.get_ref()))),
    };
    let lock = match (&raw.lock, &raw.name) {
        // What is watched is a prefix.
        (Some(name), None) | (None, Some(name)) if kind == Kind::Watch => below(name)?,
        (Some(name), None) | (None, Some(name)) => numbered(name)?,
        (Some(_), Some(name)) => return Err(wrong(name, "`name` is another word for `lock`: one of them is enough")),
        (None, None) => return Err(wrong(spanned, "clients take part in something: `lock`, or `name`, says in what")),
    };
    let second = raw.second.as_ref().map(numbered).transpose()?;
    match (kind, &raw.second) {
        (Kind::Pair, None) => return Err(wrong(&raw.recipe, "a pair takes a second lock: `second` names it")),
        (kind, Some(second)) if kind != Kind::Pair => {
            return Err(wrong(second, format!("a second lock is for the recipe `pair`, not for `{kind}`")));
        }
        _ => {}
    }
    let ttl = match &raw.ttl {
        None => LEASE,
        Some(text) => {
            let ttl = length(text)?;
            if ttl.subsec_nanos() != 0 {
                return Err(wrong(text, format!("`{}` is no lease: etcd counts in whole seconds", text.get_ref())));
            }
            ttl
        }
    };
    let span = |text: &Option<Text>| text.as_ref().map(self::span).transpose();
    let crash_one_in = match &raw.crash_one_in {
        None => 1,
        Some(one) if *one.get_ref() == 0 => return Err(wrong(one, "one of none is nobody: say 1 for all")),
        Some(one) if raw.crash.is_none() => return Err(wrong(one, "nobody crashes: `crash` says after how long")),
        Some(one) => *one.get_ref(),
    };
    Ok(Group {
        count,
        kind,
        lock,
        second,
        value: raw.value.as_ref().map(told).transpose()?.unwrap_or_default(),
        ttl,
        heartbeat: raw.heartbeat.as_ref().map(length).transpose()?,
        hold: span(&raw.hold)?.unwrap_or(Span::millis(0, 0)),
        think: span(&raw.think)?.unwrap_or(Span::millis(0, 0)),
        writes: raw.writes.as_ref().map(length).transpose()?,
        crash: span(&raw.crash)?,
        crash_one_in,
        away: span(&raw.away)?.unwrap_or(Span::millis(2_000, 5_000)),
        mistakes: mistakes(&raw.mistakes)?,
        starts: raw.starts.as_ref().map(length_or_none).transpose()?.unwrap_or_default(),
        stays: raw.stays,
    })
}

fn kind(text: &Text) -> Checked<Kind> {
    let said = text.get_ref();
    said.parse().map_err(|error: crate::recipe::UnknownKind| {
        let near = nearest::nearest(said, Kind::ALL.map(Kind::name));
        wrong(text, near.map_or(error.to_string(), |near| format!("no recipe `{said}`; did you mean `{near}`?")))
    })
}

pub(super) type Switch = fn(&mut Mistakes);

/// The mistakes by their names.
pub(super) const MISTAKES: [(&str, Switch); 4] = [
    ("no-recheck", |mistakes| mistakes.no_recheck = true),
    ("any-event", |mistakes| mistakes.any_event = true),
    ("no-slash", |mistakes| mistakes.no_slash = true),
    ("late-lease", |mistakes| mistakes.late_lease = true),
];

fn mistakes(names: &[Text]) -> Checked<Mistakes> {
    let mut mistakes = Mistakes::default();
    for name in names {
        let Some((_, switch)) = MISTAKES.iter().find(|(known, _)| known == name.get_ref()) else {
            let all: Vec<String> = MISTAKES.iter().map(|(name, _)| (*name).to_owned()).collect();
            return Err(wrong(name, unknown("mistake", name.get_ref(), &all)));
        };
        switch(&mut mistakes);
    }
    Ok(mistakes)
}

fn cue(spanned: &Spanned<RawCue>, scenario: &mut Scenario) -> Checked<Cue> {
    let raw = spanned.get_ref();
    if raw.time.is_none() && raw.when.is_none() {
        return Err(wrong(spanned, "it has to say when: `time`, `when`, or both"));
    }
    if raw.deeds.is_none() && raw.say.is_none() {
        return Err(wrong(spanned, "nothing happens: it needs `do`, `say`, or both"));
    }
    let when = raw.when.as_ref().map(|text| trigger(text, scenario)).transpose()?;
    if let (Some(after), None) = (&raw.after, when) {
        return Err(wrong(after, "`after` counts from what `when` waits for"));
    }
    let deeds = raw.deeds.iter().flat_map(|Deeds(lines)| lines);
    let deeds = deeds.map(|line| deed(line, scenario)).collect::<Checked<_>>()?;
    let says = match &raw.say {
        None => None,
        Some(say) => {
            scenario.narrations.push(Narration { at: ClusterTime(0), en: told(&say.en)?, zh: told(&say.zh)? });
            Some(scenario.narrations.len() - 1)
        }
    };
    Ok(Cue {
        time: raw.time.as_ref().map(length_or_none).transpose()?.unwrap_or_default(),
        when,
        after: raw.after.as_ref().map(length_or_none).transpose()?.unwrap_or_default(),
        every: raw.every.as_ref().map(length).transpose()?,
        deeds,
        says,
    })
}

fn trigger(text: &Text, scenario: &Scenario) -> Checked<Trigger> {
    let trigger: Trigger =
        text.get_ref().parse().map_err(|error: super::trigger::UnknownTrigger| wrong(text, error.to_string()))?;
    if let Who::Client(client) = trigger.who {
        is_there(text, client, scenario)?;
    }
    Ok(trigger)
}

fn deed(line: &Text, scenario: &Scenario) -> Checked<Deed> {
    let deed: Deed = line.get_ref().parse().map_err(|error: super::DeedError| wrong(line, error.to_string()))?;
    match &deed {
        Deed::Order(Order::Client(Whom::Client(client), _)) => is_there(line, *client, scenario)?,
        Deed::Order(_) => {}
        Deed::Fault(_) if !scenario.needs.faults => {
            return Err(wrong(line, "this is done to the cluster: say `needs = \"faults\"` in [cluster]"));
        }
        Deed::Fault(fault) => {
            let members = scenario.needs.members.unwrap_or(3);
            for node in fault.nodes() {
                match node {
                    NodeWord::Node(node) if node.0 > members as u64 => {
                        return Err(wrong(line, format!("there is no {node}: the cluster has {members} members")));
                    }
                    NodeWord::Follower(number) if number >= members => {
                        return Err(wrong(line, format!("of {members} members {} follow", members - 1)));
                    }
                    NodeWord::MemberOf(Whom::Client(client)) => is_there(line, client, scenario)?,
                    _ => {}
                }
            }
        }
    }
    Ok(deed)
}

/// Whether a client of this number takes part, of those that are there from the beginning or join.
fn is_there(at: &Text, client: ClientId, scenario: &Scenario) -> Checked<()> {
    let from_the_beginning: u32 = scenario.groups.iter().map(|group| u32::from(group.count)).sum();
    let added = scenario.cues.iter().flat_map(|cue| &cue.deeds).map(|deed| match deed {
        Deed::Order(Order::Add(count)) => u32::from(*count),
        _ => 0,
    });
    let all = from_the_beginning.saturating_add(added.sum());
    if client.0 <= all { Ok(()) } else { Err(wrong(at, format!("there is no {client}: {all} take part"))) }
}

fn wanted(raw: &RawWanted, scenario: &Scenario, locks: &[String]) -> Checked<Wanted> {
    let (rule, text) = Rule::read(raw.that.get_ref()).map_err(|error| wrong(&raw.that, error.to_string()))?;
    if let Some(lock) = &raw.lock {
        known("lock", lock, locks)?;
    }
    if let Some(other) = rule.other_lock()
        && !locks.iter().any(|lock| lock == other)
    {
        return Err(wrong(&raw.that, unknown("lock", other, locks)));
    }
    if let Some(resource) = rule.resource() {
        let all: Vec<String> = scenario.resources.iter().map(|resource| resource.name.clone()).collect();
        if !all.iter().any(|name| name == resource) {
            return Err(wrong(&raw.that, unknown("resource", resource, &all)));
        }
    }
    if rule.needs_faults() && !scenario.needs.faults {
        return Err(wrong(&raw.that, "only a cluster of one's own tells that: say `needs = \"faults\"` in [cluster]"));
    }
    Ok(Wanted { text, lock: raw.lock.as_ref().map(|lock| lock.get_ref().clone()), rule })
}

/// A name: one word that a terminal shows as it is.
fn word(text: &Text) -> Checked<String> {
    let said = told(text)?;
    if said.contains(char::is_whitespace) {
        return Err(wrong(text, format!("`{said}` is no name: it has white space in it")));
    }
    Ok(said)
}

/// The name of a lock, below the prefix.
fn numbered(text: &Text) -> Checked<String> {
    let said = below(text)?;
    if said.ends_with('/') {
        return Err(wrong(text, format!("`{said}` ends in a slash: its keys come behind one anyway")));
    }
    Ok(said)
}

/// What comes behind the prefix, which ends in a slash.
fn below(text: &Text) -> Checked<String> {
    let said = word(text)?;
    if said.starts_with('/') {
        return Err(wrong(text, format!("`{said}` starts with a slash: it is below the run's own prefix")));
    }
    Ok(said)
}

/// A text that is not empty and that a terminal shows as it is.
fn told(text: &Text) -> Checked<String> {
    let said = text.get_ref();
    if said.trim().is_empty() {
        return Err(wrong(text, "it says nothing"));
    }
    match said.chars().find(|char| is_unsafe(*char)) {
        Some(char) => Err(wrong(text, format!("a terminal would not show it as it is: {}", char.escape_default()))),
        None => Ok(said.clone()),
    }
}

fn length(text: &Text) -> Checked<Duration> {
    parse::duration(text.get_ref()).map_err(|error| wrong(text, error.to_string()))
}

/// A length that may be none at all.
fn length_or_none(text: &Text) -> Checked<Duration> {
    length_from(text.get_ref()).map_err(|why| wrong(text, why))
}

fn length_from(said: &str) -> Result<Duration, String> {
    match parse::duration(said) {
        Err(parse::ValueError::TooShort(_)) if !said.starts_with('-') => Ok(Duration::ZERO),
        other => other.map_err(|error| error.to_string()),
    }
}

fn span(text: &Text) -> Checked<Span> {
    Span::read(text.get_ref()).map_err(|why| wrong(text, why))
}

impl Span {
    /// Reads `2s`, or `1s..3s` for a length that is drawn between the two.
    ///
    /// # Errors
    /// In words, when it is neither.
    pub fn read(said: &str) -> Result<Self, String> {
        let (shortest, longest) = said.split_once("..").unwrap_or((said, said));
        let (shortest, longest) = (length_from(shortest.trim())?, length_from(longest.trim())?);
        if shortest > longest {
            return Err(format!("`{said}` ends before it begins"));
        }
        Ok(Self { shortest, longest })
    }
}
