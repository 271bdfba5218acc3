//! Putting something of the selection on the clipboard.

use crate::domain::{LeaseId, Revision, Sentence};
use crate::effect::{Effect, Effects};
use crate::input::Screen;
use crate::input::action::Copied;
use crate::model::ui::{Notice, Ui};
use crate::model::{Facts, KeyView, LockView, Model};

/// Copies one thing of what is selected, or says that there is no such thing.
pub fn copy(model: &mut Model, what: Copied) -> Effects {
    let copied = match what {
        Copied::Remedy => remedy(model).map(|it| (Notice::CopiedRemedy(Box::new(it.clone())), Effect::CopyRemedy(it))),
        _ => text(&model.ui, model.shown(), what).map(|it| (Notice::Copied(what, it.clone()), Effect::Copy(it))),
    };
    let (notice, effect) = copied.unzip();
    model.tell(notice.unwrap_or(Notice::NothingToCopy(what)));
    effect.into_iter().collect()
}

/// Copies the command that the open dialog shows.
pub fn command(model: &mut Model) -> Effects {
    let Some(dialog) = &model.ui.dialog else { return Effects::new() };
    let command = dialog.command_with(&model.ui.reach);
    model.tell(Notice::CommandCopied);
    vec![Effect::CopyCommand(command)]
}

fn text(ui: &Ui, facts: &Facts, what: Copied) -> Option<String> {
    let (lock, key, lease) = selection(ui, facts);
    match what {
        Copied::Name => lock.map(|lock| pasteable(lock.name())),
        Copied::Key => key.map(|key| pasteable(key.key())),
        Copied::Lease => Some(lease).filter(|lease| !lease.is_none()).map(|lease| lease.to_string()),
        // A fencing token is a holder's.
        Copied::Token => lock.and_then(|lock| lock.holder()).map(|holder| {
            let Revision(token) = holder.token();
            token.to_string()
        }),
        Copied::Remedy => None,
    }
}

/// The command that helps against the worst that was found about the selected lock.
fn remedy(model: &Model) -> Option<Sentence> {
    let (lock, ..) = selection(&model.ui, model.shown());
    model.diagnosis().of_lock(lock?.name()).next().map(|finding| finding.remedy.clone())
}

/// The lock, the key and the lease that are selected on the screen.
fn selection<'a>(ui: &Ui, facts: &'a Facts) -> (Option<LockView<'a>>, Option<KeyView<'a>>, LeaseId) {
    match ui.screen {
        Screen::Locks | Screen::Lock => {
            let key = ui.selected_key(facts);
            (ui.shown_lock(facts), key, key.map_or(LeaseId::NONE, |key| key.lease()))
        }
        Screen::Leases => {
            let lease = ui.selected_lease();
            let key = lease.and_then(|id| facts.lease(id)).and_then(|lease| lease.keys().into_iter().next());
            let lock = key.and_then(|key| facts.lock_of(key.entry()));
            (lock, key, lease.unwrap_or_default())
        }
        Screen::Waits => {
            let row = ui.waits.selected();
            let lock = row.and_then(|row| row.lock.as_ref()).and_then(|(_, name)| facts.lock_named(name));
            let key = row.and_then(|row| row.stands.as_ref()).and_then(|key| facts.key(key));
            (lock, key, key.map_or(LeaseId::NONE, |key| key.lease()))
        }
        Screen::Playground => {
            let run = facts.play.as_deref();
            match run.and_then(|run| run.picture().client(ui.play.client(run)?)) {
                Some(client) => (facts.lock_named(&client.lock), facts.key(&client.stake.key), client.lease()),
                None => (None, None, LeaseId::NONE),
            }
        }
        Screen::Members | Screen::Raft | Screen::Way | Screen::Log => (None, None, LeaseId::NONE),
    }
}

/// The bytes as text that does nothing by itself when it is pasted into a shell: whatever is
/// not printable is written as an escape.
fn pasteable(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
        _ => bytes.escape_ascii().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::testing::{World, copied, lease_of};

    #[test]
    fn y_asks_what_to_copy_and_copies_it() {
        let mut world = World::new(&[("/a", 0), ("/b", 3)]);
        assert_eq!(copied(&world.keys("yn")), Some("/b"));
        assert_eq!(world.toast(), "lock name sent to the terminal's clipboard: /b");
        let lease = lease_of("/b", 0);
        assert_eq!(copied(&world.keys("yk")), Some(format!("/b/{lease}").as_str()));
        assert_eq!(copied(&world.keys("yl")), Some(lease.to_string().as_str()));
        let token = world.model.shown().lock_named(b"/b").unwrap().holder().unwrap().token();
        assert_eq!(copied(&world.keys("yt")), Some(token.to_string().as_str()));
    }

    #[test]
    fn the_command_against_the_worst_finding_is_copied() {
        let mut world = World::new(&[("/a", 0), ("/b", 3)]);
        world.ttl(lease_of("/b", 0), 60, 20);
        world.pass(1_000);
        world.ttl(lease_of("/b", 0), 60, 19);
        world.pass(1_000);
        let effects = world.keys("yr");
        let [Effect::CopyRemedy(command)] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!(command.value("lease"), Some(&crate::domain::Value::Lease(lease_of("/b", 0))));
        world.keys("j");
        assert_eq!(world.keys("yr"), [], "nothing is wrong with /a");
    }

    #[test]
    fn in_a_queue_the_selected_key_is_copied() {
        let mut world = World::new(&[("/b", 3)]);
        assert_eq!(copied(&world.keys("<Enter>jjyl")), Some(lease_of("/b", 2).to_string().as_str()));
    }

    #[test]
    fn on_the_leases_the_lease_and_what_hangs_on_it_are_copied() {
        let mut world = World::new(&[("/b", 0)]);
        assert_eq!(copied(&world.keys("3yl")), Some(lease_of("/b", 0).to_string().as_str()));
        assert_eq!(copied(&world.keys("yn")), Some("/b"));
    }

    #[test]
    fn what_is_not_there_is_not_copied() {
        let mut world = World::new(&[]);
        for (keys, told) in [
            ("yn", "no lock name to copy here"),
            ("yl", "no lease id to copy here"),
            ("4yk", "no key to copy here"),
            ("yt", "no fencing token to copy here"),
        ] {
            assert_eq!((world.keys(keys), world.toast().as_str()), (Effects::new(), told));
        }
    }

    #[test]
    fn another_key_takes_the_question_away() {
        let mut world = World::new(&[("/b", 0)]);
        assert_eq!(world.keys("yx"), []);
        assert_eq!(world.keys("q"), [Effect::Quit]);
    }

    #[test]
    fn a_key_with_control_characters_pastes_as_its_escape() {
        assert_eq!(pasteable("/schlüssel a".as_bytes()), "/schlüssel a");
        assert_eq!(pasteable(b"/a\nrm -rf ~\n"), "/a\\nrm -rf ~\\n");
        assert_eq!(pasteable(b"/a\x1b[31m"), "/a\\x1b[31m");
        assert_eq!(pasteable(b"/\xff"), "/\\xff");
    }
}
