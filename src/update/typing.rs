//! Typing a filter or a command.

use crate::domain::play::ClientId;
use crate::domain::raft::NodeId;
use crate::domain::write::Write;
use crate::effect::{Effect, Effects};
use crate::input::action::Edit;
use crate::input::command::{self, Command, Direction, Names};
use crate::model::Model;
use crate::model::ui::{Layer, Notice, Purpose};

use super::action::{perform, use_theme};
use super::navigating::{open_named, set_filter, take_filter_away};
use super::{dialog, faults, play, replay};

/// Puts text into the line, if one is being typed.
pub fn insert(model: &mut Model, text: &str) {
    if let Some(prompt) = &mut model.ui.prompt {
        prompt.line.insert(text);
        prompt.changed();
        filter_live(model);
    }
}

/// Changes the line, uses it, or gives it up.
pub fn edit(model: &mut Model, edit: Edit) -> Effects {
    let (nodes, leader, clients, members) = (nodes(model), leader(model), clients(model), members(model));
    let (facts, ui) = model.shown_and_ui();
    let Some(prompt) = &mut ui.prompt else { return Effects::new() };
    match edit {
        Edit::Accept => return accept(model),
        Edit::Cancel => cancel(model),
        Edit::Complete => {
            let rows = ui.lock_order.rows().iter();
            let names = rows.filter_map(|&ix| std::str::from_utf8(facts.lock(ix)?.name()).ok());
            let (nodes, clients) = (nodes.as_deref(), clients.as_deref());
            prompt.complete(Names { themes: &ui.themes, nodes, leader, clients, members: &members }, names);
        }
        Edit::Earlier => prompt.earlier(&ui.typed),
        Edit::Later => prompt.later(&ui.typed),
        _ => {
            prompt.line.edit(edit);
            prompt.changed();
            filter_live(model);
        }
    }
    Effects::new()
}

/// A filter works while it is typed.
fn filter_live(model: &mut Model) {
    let ui = &mut model.ui;
    let Some(prompt) = &ui.prompt else { return };
    let text = prompt.line.text().to_owned();
    match (prompt.purpose, &mut ui.layer) {
        (Purpose::Filter, _) => set_filter(ui, &text),
        (Purpose::HelpFilter, Layer::Help { filter }) => *filter = text,
        (Purpose::HelpFilter | Purpose::Command, _) => {}
    }
}

fn cancel(model: &mut Model) {
    let ui = &mut model.ui;
    let Some(prompt) = ui.prompt.take() else { return };
    match (prompt.purpose, &mut ui.layer) {
        (Purpose::Filter, _) => take_filter_away(model),
        (Purpose::HelpFilter, Layer::Help { filter }) => filter.clear(),
        (Purpose::HelpFilter | Purpose::Command, _) => {}
    }
}

fn accept(model: &mut Model) -> Effects {
    let Some(prompt) = model.ui.prompt.take() else { return Effects::new() };
    if prompt.purpose != Purpose::Command {
        return Effects::new();
    }
    let line = prompt.line.text();
    if !line.trim().is_empty() {
        model.ui.typed.remember(line);
    }
    let (nodes, leader, clients, members) = (nodes(model), leader(model), clients(model), members(model));
    let (nodes, clients) = (nodes.as_deref(), clients.as_deref());
    match command::parse(line, Names { themes: &model.ui.themes, nodes, leader, clients, members: &members }) {
        Ok(None) => Effects::new(),
        Ok(Some(command)) => {
            // What went wrong before is over when the next command works.
            model.ui.toast.take_if(|toast| toast.notice.is_error());
            carry_out(model, command)
        }
        Err(error) => {
            model.tell(Notice::Command(error));
            Effects::new()
        }
    }
}

/// The nodes a command can name; `None` where there is no embedded cluster.
fn nodes(model: &Model) -> Option<Vec<NodeId>> {
    let picture = model.live().raft.as_deref();
    let nodes = || picture.into_iter().flat_map(|picture| &picture.nodes).map(|node| node.id).collect();
    model.is_embedded().then(nodes)
}

/// The node that leads.
fn leader(model: &Model) -> Option<NodeId> {
    crate::model::raft::leader(model.live().raft.as_deref()?).map(|node| node.id)
}

/// The clients a command can name; `None` where nobody plays.
fn clients(model: &Model) -> Option<Vec<ClientId>> {
    let play = model.live().play.as_deref()?;
    Some(play.clients().iter().map(|client| client.id).collect())
}

/// The names of the members, or their ids where they have none.
fn members(model: &Model) -> Vec<String> {
    let members = model.live().cluster.members().iter().map(|known| &known.member);
    members.map(|member| if member.name.is_empty() { member.id.to_string() } else { member.name.clone() }).collect()
}

fn carry_out(model: &mut Model, command: Command) -> Effects {
    match command {
        Command::Do(action) => return perform(model, action),
        Command::Sort(sort, direction) => {
            let ui = &mut model.ui;
            ui.sort = sort;
            ui.reversed = match direction {
                Direction::Own => false,
                Direction::Ascending => sort.starts_with_largest(),
                Direction::Descending => !sort.starts_with_largest(),
            };
            ui.spoil();
        }
        Command::Theme(name) => use_theme(model, name),
        Command::Filter(text) => set_filter(&mut model.ui, &text),
        Command::Lock(name) => open_named(model, name),
        Command::Seek(place) => return replay::seek(model, place),
        Command::Find(text) => return replay::find(model, text),
        Command::Fault(_)
        | Command::Order(_)
        | Command::Record(_)
        | Command::Revoke(_)
        | Command::Release(_)
        | Command::MoveLeader(_)
            if model.is_replay() =>
        {
            return replay::refuse(model);
        }
        Command::Record(file) => return vec![Effect::Record(Some(file))],
        Command::Fault(fault) => return faults::cluster(model, fault),
        Command::Order(order) => return play::order(model, order),
        Command::Revoke(lease) => return dialog::open(model, &Write::Revoke { lease }),
        Command::Release(name) => return dialog::release_named(model, &name),
        Command::MoveLeader(name) => return dialog::move_leader_named(model, &name),
    }
    Effects::new()
}

#[cfg(test)]
mod tests {
    use crate::effect::Effect;
    use crate::input::{Screen, Sort};
    use crate::update::testing::World;

    fn world() -> World {
        World::new(&[("/jobs/a", 1), ("/jobs/b", 3), ("/cron", 0)])
    }

    #[test]
    fn the_list_narrows_while_the_filter_is_typed_and_widens_with_esc() {
        let mut world = world();
        world.keys("/jo");
        assert_eq!(world.listed(), ["/jobs/b", "/jobs/a"]);
        world.keys("bs/a");
        assert_eq!(world.listed(), ["/jobs/a"]);
        world.keys("<Backspace>");
        assert_eq!(world.listed().len(), 2);
        world.keys("<Esc>");
        assert_eq!(world.listed().len(), 3);
        assert!(world.model.ui.prompt.is_none() && world.model.ui.filter.is_empty());
    }

    #[test]
    fn the_selection_stays_with_its_lock_when_the_filter_is_taken_away() {
        let selected = |world: &World| {
            let lock = world.model.ui.selected_lock(world.model.shown()).expect("something is listed");
            String::from_utf8_lossy(lock.name()).into_owned()
        };
        for keys in ["/jobs/a<Esc>", "/jobs/a<Enter><Esc>", "j/jobs<Enter>j<Esc>"] {
            let mut world = world();
            world.keys(keys);
            assert_eq!((world.listed().len(), selected(&world).as_str()), (3, "/jobs/a"), "{keys}");
        }
        let mut world = world();
        world.keys("j/nothing<Esc>");
        assert_eq!(selected(&world), "/jobs/a", "where nothing was listed, the one before");
    }

    #[test]
    fn enter_keeps_the_filter_and_slash_goes_on_with_it() {
        let mut world = world();
        world.keys("/!jobs<Enter>");
        assert_eq!(world.listed(), ["/cron"]);
        assert_eq!(world.model.ui.lock_order.total(), 3);
        world.keys("/");
        assert_eq!(world.model.ui.prompt.as_ref().unwrap().line.text(), "!jobs");
        world.keys("<Enter><Esc>");
        assert_eq!(world.listed().len(), 3, "esc on the list takes the filter away");
    }

    #[test]
    fn a_lock_is_found_by_its_holders_lease() {
        let mut world = world();
        let lease = crate::update::testing::lease_of("/cron", 0);
        world.keys(&format!("/{lease}"));
        assert_eq!(world.listed(), ["/cron"]);
    }

    #[test]
    fn commands_do_what_they_say() {
        let mut world = world();
        assert_eq!(world.keys(":q<Enter>"), [Effect::Quit]);
        world.keys(":leases<Enter>");
        assert_eq!(world.model.ui.screen, Screen::Leases);
        world.keys(":locks<Enter>:sort name desc<Enter>");
        assert_eq!(world.listed(), ["/jobs/b", "/jobs/a", "/cron"]);
        world.keys(":sort wait asc<Enter>");
        assert_eq!((world.model.ui.sort, world.listed()[0].as_str()), (Sort::Wait, "/cron"));
        world.keys(":filter cron<Enter>");
        assert_eq!(world.listed(), ["/cron"]);
        world.keys(":filter<Enter>");
        assert_eq!(world.listed().len(), 3);
    }

    #[test]
    fn a_mistake_is_told_and_can_be_called_back() {
        let mut world = world();
        world.keys(":sort size<Enter>");
        assert_eq!(world.toast(), "`sort` wants weight, wait, name, held, ttl or handovers, not `size`");
        assert!(world.model.ui.toast.as_ref().unwrap().notice.is_error());
        world.keys(":<Up>");
        assert_eq!(world.model.ui.prompt.as_ref().unwrap().line.text(), "sort size");
        world.keys("<C-w>ttl<Enter>");
        assert_eq!(world.model.ui.sort, Sort::Ttl);
    }

    #[test]
    fn a_command_that_works_takes_the_mistake_before_it_away() {
        let mut world = world();
        for (command, toast) in [
            ("sort size", "`sort` wants weight, wait, name, held, ttl or handovers, not `size`"),
            ("sort name", ""),
            ("lock /nowhere", "no lock `/nowhere`"),
            ("leases", ""),
            ("theme light", "theme light"),
            ("sort name", ""),
        ] {
            world.keys(&format!(":{command}<Enter>"));
            assert_eq!(world.toast(), toast, "{command}");
        }
    }

    #[test]
    fn tab_completes_commands_themes_and_locks() {
        let mut world = world();
        world.keys(":the<Tab> l<Tab><Enter>");
        assert_eq!(world.model.ui.theme, "light");
        world.keys(":lock /c<Tab><Enter>");
        assert_eq!(world.model.ui.opened.as_ref().unwrap().name, "/cron".into());
    }

    #[test]
    fn esc_gives_a_command_up_and_an_empty_one_does_nothing() {
        let mut world = world();
        assert_eq!(world.keys(":quit<Esc>"), []);
        assert!(world.model.ui.prompt.is_none());
        assert_eq!(world.keys(":<Enter>"), []);
        assert_eq!(world.toast(), "");
    }
}
