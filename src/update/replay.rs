//! What is asked of a replay, and what a replay refuses: it shows what was, and nothing can be
//! done to that.

use crate::effect::{Effect, Effects, Replay};
use crate::input::SeekTo;
use crate::input::action::{self, Action};
use crate::model::Model;
use crate::model::ui::Notice;

/// Whether an action would do something to a cluster or to clients, and so nothing in a replay.
pub const fn is_refused(action: Action) -> bool {
    matches!(
        action,
        Action::Node(_)
            | Action::Heal
            | Action::Pace(_)
            | Action::MoveLead
            | Action::Client(_)
            | Action::Join(_)
            | Action::Record
            | Action::Write(_)
            | Action::Faster
            | Action::Slower
    )
}

/// Refuses it.
pub fn refuse(model: &mut Model) -> Effects {
    model.tell(Notice::OnlyReplay);
    Effects::new()
}

/// What a key asks of a replay.
pub fn keyed(model: &mut Model, what: action::Replay) -> Effects {
    asked(model, Replay::Do(what))
}

/// Goes to a place.
pub fn seek(model: &mut Model, place: SeekTo) -> Effects {
    asked(model, Replay::Seek(place))
}

/// Goes on to what has a text in its name.
pub fn find(model: &mut Model, text: String) -> Effects {
    asked(model, Replay::Find(text))
}

fn asked(model: &mut Model, what: Replay) -> Effects {
    if model.is_replay() {
        return vec![Effect::Replay(what)];
    }
    model.tell(Notice::NeedsReplay);
    Effects::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ui::ReplayUi;
    use crate::update::testing::World;

    fn replay() -> World {
        let mut world = World::new(&[("/a", 1)]);
        world.model.ui.replay = Some(ReplayUi::default());
        world
    }

    #[test]
    fn space_and_its_neighbours_move_the_replay_on_every_screen() {
        use crate::input::action::Replay as Key;
        for screen in ["1", "2", "3", "4", "r", "5", "6", "7", "8"] {
            let mut world = replay();
            world.keys(screen);
            for (key, what) in [
                (" ", Key::PlayOrPause),
                (".", Key::Next),
                (",", Key::Previous),
                (">", Key::NextRevision),
                ("[", Key::Slower),
                ("]", Key::Faster),
                ("n", Key::FindNext),
            ] {
                assert_eq!(world.keys(key), [Effect::Replay(Replay::Do(what))], "{key} on {screen}");
            }
            assert!(!world.model.is_paused(), "the facts are not held still beside the replay");
        }
    }

    #[test]
    fn places_and_texts_are_commands() {
        let mut world = replay();
        assert_eq!(world.keys(":seek rev 7<Enter>"), [Effect::Replay(Replay::Seek("rev 7".parse().unwrap()))]);
        assert_eq!(world.keys(":find /jobs/a b<Enter>"), [Effect::Replay(Replay::Find("/jobs/a b".into()))]);
        world.keys(":seek noon<Enter>");
        assert!(world.toast().contains("`noon` is no place"), "{}", world.toast());
        let mut live = World::new(&[("/a", 1)]);
        assert_eq!(live.keys(":seek end<Enter>"), []);
        assert_eq!(live.toast(), "this needs a recording: `lockscope replay FILE` shows one");
    }

    #[test]
    fn nothing_can_be_done_to_what_was() {
        let mut world = replay();
        for command in [":kill n1<Enter>", ":add 3<Enter>", ":record x<Enter>", "T", "R", ":release /a<Enter>"] {
            assert_eq!(world.keys(command), [], "{command}");
            assert!(world.model.ui.toast.as_ref().is_some_and(|toast| toast.notice.is_error()), "{command}");
            world.model.ui.toast = None;
        }
    }
}
