//! Which keys mean something: the contexts of the keymap that are open, by what is on the screen and what
//! lies on top of it.

use super::{Layer, Prompt, Purpose, Ui};
use crate::input::Screen;
use crate::input::keymap::Context;

impl Ui {
    /// The contexts of the keymap that are open, the innermost first; on an `embedded` cluster and
    /// where clients play more of them.
    pub fn contexts(&self, embedded: bool, plays: bool) -> &'static [Context] {
        use Context::{Anywhere, Command, Copy, Dialog, DialogEmpty, DialogRead, Help, Moving, Typing};
        match &self.dialog {
            Some(dialog) if dialog.wants_y() => return &[Dialog, Typing, Anywhere],
            Some(dialog) if dialog.is_typed_in() => return &[DialogEmpty, Dialog, Typing, Anywhere],
            Some(_) => return &[DialogRead, DialogEmpty, Dialog, Anywhere],
            None => {}
        }
        match (&self.prompt, &self.layer) {
            (Some(Prompt { purpose: Purpose::Command, .. }), _) => &[Command, Typing, Anywhere],
            (Some(_), _) => &[Typing, Anywhere],
            (None, Layer::Help { .. }) => &[Help, Moving, Anywhere],
            (None, Layer::Copy) => &[Copy, Anywhere],
            (None, Layer::None) => self.contexts_of_screen(embedded, plays),
        }
    }

    /// The contexts of the screen, where nothing lies on top of it.
    fn contexts_of_screen(&self, embedded: bool, plays: bool) -> &'static [Context] {
        use Context::{Anywhere, Browse, Embedded, Moving, Raft, Replay};
        use Context::{Leases, Lock, Locks, Log, Members, Playground, Waits};
        let replay = self.replay.is_some();
        // Every screen has the replay's keys; where there is one, nothing can be done to the cluster.
        macro_rules! on {
            ($($own:ident)?) => {
                match (replay, embedded) {
                    (true, _) => &[Replay, $($own,)? Browse, Moving, Anywhere],
                    (false, true) => &[$($own,)? Embedded, Browse, Moving, Anywhere],
                    (false, false) => &[$($own,)? Browse, Moving, Anywhere],
                }
            };
        }
        match self.screen {
            Screen::Locks => on!(Locks),
            Screen::Lock => on!(Lock),
            Screen::Leases => on!(Leases),
            Screen::Members => on!(Members),
            Screen::Log => on!(Log),
            Screen::Waits => on!(Waits),
            Screen::Raft if embedded => on!(Raft),
            Screen::Way if replay && embedded => on!(Raft),
            Screen::Playground if plays => on!(Playground),
            Screen::Raft | Screen::Way | Screen::Playground => on!(),
        }
    }

    /// The context of the screen, whatever lies on top.
    pub const fn screen_context(&self) -> Context {
        match self.screen {
            Screen::Locks => Context::Locks,
            Screen::Lock => Context::Lock,
            Screen::Leases => Context::Leases,
            Screen::Members => Context::Members,
            Screen::Raft | Screen::Way => Context::Raft,
            Screen::Playground => Context::Playground,
            Screen::Log => Context::Log,
            Screen::Waits => Context::Waits,
        }
    }
}
