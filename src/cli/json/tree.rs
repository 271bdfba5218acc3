//! Who waits for whom: the document of `show --tree`.

use serde::{Serialize, Serializer};

use super::{Each, Head, Hex, Style, Text};
use crate::cli::tree::name;
use crate::domain::Revision;
use crate::model::wait_for::{Circle, ClientIx, WaitFor, WaitIx};
use crate::model::{Facts, Since};

/// How deep children are nested: programs that read JSON have a limit of their own, some of them a
/// low one, and a chain of locks may be long.
const DEEPEST: usize = 40;

/// The document of `show --tree` without a lock.
pub struct Forest<'a> {
    /// What was learnt.
    pub facts: &'a Facts,
    /// The whole forest.
    pub tree: Tree<'a>,
}

impl Serialize for Forest<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            #[serde(flatten)]
            head: Head,
            #[serde(flatten)]
            tree: &'a Tree<'a>,
        }
        Document { head: Head::of(self.facts), tree: &self.tree }.serialize(to)
    }
}

/// A forest, or a part of it.
#[derive(Clone, Copy)]
pub struct Tree<'a> {
    /// What was learnt.
    pub facts: &'a Facts,
    /// Who waits for whom.
    pub graph: &'a WaitFor<'a>,
    /// The clients to show, by their indices; all of them when there is none.
    pub only: Option<&'a [bool]>,
    /// How texts are printed.
    pub style: Style,
}

impl Tree<'_> {
    fn shows(&self, client: ClientIx) -> bool {
        self.only.is_none_or(|only| only.get(client.index()).copied().unwrap_or(false))
    }
}

impl Serialize for Tree<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<R, C> {
            roots: R,
            cycles: C,
        }
        let shown = |circle: &&Circle| self.shows(circle.links[0].client);
        Shape {
            roots: Each(|| {
                let clients = self.graph.roots().iter().flat_map(|root| root.clients.iter().copied());
                clients.filter(|&client| self.shows(client)).map(|client| Node { tree: *self, client, depth: 0 })
            }),
            cycles: Each(|| self.graph.circles().iter().filter(shown).map(|circle| Cycle { tree: *self, circle })),
        }
        .serialize(to)
    }
}

/// A client with those that hang on it.
struct Node<'a> {
    tree: Tree<'a>,
    client: ClientIx,
    depth: usize,
}

#[derive(Serialize)]
struct Waits<'a> {
    lock: Text<'a>,
    key: Text<'a>,
    position: usize,
    create_revision: Revision,
    held_by: Vec<String>,
}

#[derive(Serialize)]
struct Behind {
    direct: usize,
    all: usize,
    locks: usize,
}

/// Since when something is so; a beginning that nobody watched has none.
fn began(since: Option<Since>) -> Option<String> {
    since.filter(|since| since.exact).and_then(|since| since.at.rfc3339())
}

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a, C> {
            client: String,
            key: Text<'a>,
            lease: Option<Hex>,
            leases: Vec<Hex>,
            owner: Option<String>,
            holds: Vec<Text<'a>>,
            waits_for: Vec<Waits<'a>>,
            behind: Behind,
            since: Option<String>,
            cycle: bool,
            children: C,
            children_left_off: usize,
        }
        let Self { tree, client: ix, depth } = *self;
        let (graph, style) = (tree.graph, tree.style);
        let client = graph.client(ix);
        let waits_for = client.waits.iter().map(|&wait| waits(tree, wait)).collect();
        let holds = crate::cli::tree::holds(tree.facts, graph, ix);
        let is_cut = depth + 1 >= DEEPEST;
        let children = move || {
            let children = graph.client(ix).children.iter().copied().filter(move |&child| tree.shows(child) && !is_cut);
            children.map(move |client| Node { tree, client, depth: depth + 1 })
        };
        let since = match client.waits.first() {
            Some(&wait) => Some(graph.wait(wait).since()),
            None => client.holds.iter().filter_map(|&held| graph.contended(held).lock.held_since()).min(),
        };
        Shape {
            client: name(client),
            key: style.text(client.key.key()),
            lease: client.leases.first().map(|&lease| Hex::Lease(lease)),
            leases: client.leases.iter().map(|&lease| Hex::Lease(lease)).collect(),
            owner: client.key.owner(),
            holds: holds.into_iter().map(|name| style.text(name)).collect(),
            waits_for,
            behind: Behind { direct: client.behind.direct, all: client.behind.all, locks: client.behind.locks },
            since: began(since),
            cycle: client.entangled,
            children: Each(children),
            children_left_off: if is_cut { client.children.len() } else { 0 },
        }
        .serialize(to)
    }
}

fn waits(tree: Tree<'_>, wait: WaitIx) -> Waits<'_> {
    let (waits, on) = (tree.graph.wait(wait), tree.graph.lock_of(wait));
    Waits {
        lock: tree.style.text(on.lock.name()),
        key: tree.style.text(waits.key.key()),
        position: waits.position,
        create_revision: waits.key.token(),
        held_by: on.holders.iter().map(|&holder| name(tree.graph.client(holder))).collect(),
    }
}

/// A circle in its order.
struct Cycle<'a> {
    tree: Tree<'a>,
    circle: &'a Circle,
}

impl Serialize for Cycle<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Link<'a> {
            client: String,
            lease: Option<Hex>,
            waits_for: Text<'a>,
        }
        #[derive(Serialize)]
        struct Shape<'a> {
            clients: Vec<Link<'a>>,
            entangled: usize,
            deadlock: bool,
            since: Option<String>,
        }
        let Self { tree, circle } = self;
        let links = circle.links.iter().map(|link| {
            let client = tree.graph.client(link.client);
            Link {
                client: name(client),
                lease: client.leases.first().map(|&lease| Hex::Lease(lease)),
                waits_for: tree.style.text(tree.graph.lock_of(link.wait).lock.name()),
            }
        });
        Shape {
            clients: links.collect(),
            entangled: circle.clients.len(),
            deadlock: circle.certain,
            since: began(Some(circle.since)),
        }
        .serialize(to)
    }
}
