//! The dialog before a write: opened about what is selected, typed in, confirmed, left.

use crate::domain::write::{Write, WriteId};
use crate::domain::{Key, LeaseId, Value};
use crate::effect::{Effect, Effects};
use crate::event::{OnLease, WriteDone};
use crate::input::action::{Edit, Wish};
use crate::input::{Pane, Screen};
use crate::model::ui::dialog::{Dialog, Stage};
use crate::model::ui::waits::{Called, WaitWhat};
use crate::model::ui::{Layer, Notice, Ui};
use crate::model::{Facts, Finding, KeyView, LockView, Model};

use super::navigating;

/// Opens the dialog of a write about what is selected, or says why there is none.
pub fn wish(model: &mut Model, wish: Wish) -> Effects {
    match wanted(model, wish) {
        Ok(write) => open(model, &write),
        Err(notice) => {
            model.tell(notice);
            Effects::new()
        }
    }
}

/// Opens the dialog of a write; where writes are taken away it shows what would be done.
pub fn open(model: &mut Model, write: &Write) -> Effects {
    if let Err(notice) = may_write(model) {
        model.tell(notice);
        return Effects::new();
    }
    navigating::hold(model);
    model.ui.writes += 1;
    let mut dialog = Dialog::new(WriteId(model.ui.writes), write, model.live());
    dialog.forbidden.clone_from(&model.ui.read_only);
    let asks = dialog.settle(model.live());
    let ui = &mut model.ui;
    ui.prompt = None;
    ui.layer = Layer::None;
    ui.toast = None;
    ui.scrolled[Pane::Dialog as usize] = 0;
    ui.dialog = Some(Box::new(dialog));
    asks.map(Effect::LeaseKeys).into_iter().collect()
}

/// Changes what is typed to confirm it, confirms it, or leaves.
pub fn edit(model: &mut Model, edit: Edit) -> Effects {
    let (facts, ui) = model.live_and_ui();
    let Some(dialog) = &mut ui.dialog else { return Effects::new() };
    match edit {
        Edit::Accept => {
            let Some(confirmed) = dialog.confirm(facts) else { return Effects::new() };
            ui.writing = Some(dialog.id);
            return vec![Effect::Write { id: dialog.id, confirmed }];
        }
        Edit::Cancel => {
            let dialog = ui.dialog.take();
            if let Some(Stage::Running { .. }) = dialog.map(|dialog| dialog.stage) {
                model.tell(Notice::WriteGoesOn);
            }
        }
        _ if dialog.is_typed_in() => {
            dialog.line.edit(edit);
            dialog.refusal = None;
        }
        _ => {}
    }
    Effects::new()
}

/// Puts text into what is typed to confirm it.
pub fn insert(dialog: &mut Dialog, text: &str) {
    if dialog.is_typed_in() {
        dialog.line.insert(text);
        dialog.refusal = None;
    }
}

/// The dialog follows what is known of the cluster; what is to be asked for it.
pub fn tick(model: &mut Model) -> Option<Effect> {
    let (facts, ui) = model.live_and_ui();
    let dialog = ui.dialog.as_mut()?;
    let before = (dialog.stage.clone(), dialog.news.is_some());
    let asks = dialog.settle(facts);
    if before != (dialog.stage.clone(), dialog.news.is_some()) {
        ui.touch();
    }
    asks.map(Effect::LeaseKeys)
}

/// The cluster answered what hangs on a lease.
pub fn told(model: &mut Model, lease: LeaseId, answer: OnLease) {
    let (facts, ui) = model.live_and_ui();
    if let Some(dialog) = &mut ui.dialog {
        dialog.told(lease, answer, facts);
        ui.touch();
    }
}

/// Something came of a write. Whoever left its dialog is told in a line.
pub fn done(model: &mut Model, done: WriteDone) {
    let (facts, ui) = model.live_and_ui();
    ui.writing.take_if(|running| *running == done.id);
    ui.touch();
    match &mut ui.dialog {
        Some(dialog) if dialog.id == done.id => {
            dialog.done(done.result, done.notes, facts);
            ui.scrolled[Pane::Dialog as usize] = 0;
        }
        _ => model.tell(Notice::Written(Box::new((done.write, done.result)))),
    }
}

/// Whether anything may be written now.
fn may_write(model: &Model) -> Result<(), Notice> {
    if model.is_replay() {
        return Err(Notice::OnlyReplay);
    }
    if model.ui.writing.is_some() {
        return Err(Notice::WriteRuns);
    }
    Ok(())
}

/// The write that a key asks for about what is selected.
fn wanted(model: &Model, wish: Wish) -> Result<Write, Notice> {
    may_write(model)?;
    let (ui, facts) = (&model.ui, model.shown());
    match wish {
        Wish::Revoke if ui.screen == Screen::Leases => {
            ui.selected_lease().map(|lease| Write::Revoke { lease }).ok_or(Notice::NoLease)
        }
        Wish::Revoke if ui.screen == Screen::Waits => waits_revoke(model),
        Wish::Revoke => {
            let (_, key) = ui.acted_on(facts).ok_or(Notice::NothingToRevoke)?;
            if key.lease().is_none() { Err(Notice::NoLease) } else { Ok(Write::Revoke { lease: key.lease() }) }
        }
        Wish::Release if matches!(waits_row(ui), Some(WaitWhat::Circle { .. })) => Err(Notice::CircleSelected),
        Wish::Release if matches!(waits_row(ui), Some(WaitWhat::Fold { .. })) => Err(Notice::FoldSelected),
        Wish::Release => {
            let (lock, key) = ui.acted_on(facts).ok_or(Notice::NothingToRelease)?;
            Ok(release(&lock, &key))
        }
        Wish::MoveLeader => {
            let member = facts.cluster.members().get(ui.members.index()).ok_or(Notice::NoMember)?;
            if facts.cluster.leader() == Some(member.member.id) {
                return Err(Notice::LeadsAlready);
            }
            Ok(Write::MoveLeader { to: member.member.id })
        }
        Wish::Disarm => {
            let alarms = facts.cluster.alarms();
            let member = facts.cluster.members().get(ui.members.index()).map(|known| known.member.id);
            let of_member = alarms.iter().find(|alarm| Some(alarm.member) == member);
            of_member.or(alarms.first()).map(|alarm| Write::Disarm(alarm.kind)).ok_or(Notice::NoAlarm)
        }
    }
}

/// What is selected on the screen of waits, while that is shown.
fn waits_row(ui: &Ui) -> Option<&WaitWhat> {
    ui.waits.selected().filter(|_| ui.screen == Screen::Waits).map(|row| &row.what)
}

/// What a revoke is about on the screen of waits: of clients that wait in a circle the lease that the
/// finding names, of a client the lease of its key.
fn waits_revoke(model: &Model) -> Result<Write, Notice> {
    let (ui, facts) = (&model.ui, model.shown());
    let lease = match waits_row(ui).ok_or(Notice::NothingToRevoke)? {
        WaitWhat::Fold { .. } => return Err(Notice::FoldSelected),
        WaitWhat::Circle { clients, .. } => named_by_finding(model, clients).or_else(|| Some(clients.first()?.lease)),
        WaitWhat::Client { called, .. } => Some(ui.acted_on(facts).map_or(called.lease, |(_, key)| key.lease())),
    };
    lease.filter(|lease| !lease.is_none()).map(|lease| Write::Revoke { lease }).ok_or(Notice::NoLease)
}

/// The lease whose revoke the finding about these clients has for its remedy.
fn named_by_finding(model: &Model, clients: &[Called]) -> Option<LeaseId> {
    let about = |finding: &&Finding| {
        finding.code == "deadlock" && clients.iter().all(|client| finding.leases.contains(&client.lease))
    };
    let finding = model.diagnosis().findings().iter().find(about)?;
    match finding.remedy.value("lease") {
        Some(Value::Lease(lease)) => Some(*lease),
        _ => None,
    }
}

fn release(lock: &LockView<'_>, key: &KeyView<'_>) -> Write {
    Write::Release { lock: lock.name().into(), key: key.key().into(), create_revision: key.token() }
}

/// The write that `:release` asks for: of a key, or of the holder of a lock of that name.
pub fn release_named(model: &mut Model, name: &str) -> Effects {
    if let Some(write) = named(model.live(), name.as_bytes()) {
        return open(model, &write);
    }
    model.tell(Notice::NoKey(name.to_owned()));
    Effects::new()
}

fn named(facts: &Facts, name: &[u8]) -> Option<Write> {
    if let Some(key) = facts.key(name) {
        let lock = facts.lock_of(key.entry()).map_or_else(|| Key::from(name), |lock| lock.name().into());
        return Some(Write::Release { lock, key: name.into(), create_revision: key.token() });
    }
    let lock = facts.lock_named(name)?;
    let holder = lock.holder()?;
    Some(release(&lock, &holder))
}

/// Opens the dialog about moving the lead to a member of this name, or with this id.
pub fn move_leader_named(model: &mut Model, name: &str) -> Effects {
    let cluster = &model.live().cluster;
    let mut members = cluster.members().iter().map(|known| &known.member);
    let member = members.find(|member| member.name == name || member.id.to_string() == name).map(|member| member.id);
    let notice = match member {
        Some(to) if cluster.leader() == Some(to) => Notice::LeadsAlready,
        Some(to) => return open(model, &Write::MoveLeader { to }),
        None => Notice::NoMemberNamed(name.to_owned()),
    };
    model.tell(notice);
    Effects::new()
}

#[cfg(test)]
mod tests;
