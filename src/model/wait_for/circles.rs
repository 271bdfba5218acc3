//! Finds circles: Tarjan's strongly connected components over clients and locks, then the shortest
//! circle through one client of each. Locks are nodes of their own, so that a lock with many
//! holders and many waiters costs their sum and not their product.

use std::collections::VecDeque;

use super::{Circle, ClientIx, Link, WaitFor, WaitIx};
use crate::model::Since;

/// Which clients reach each other.
pub(super) struct Components {
    /// The component of each client.
    of: Vec<u32>,
    /// How many clients each component has.
    sizes: Vec<u32>,
}

impl Components {
    /// The component of a client, when others are in it.
    pub fn entangled(&self, client: ClientIx) -> Option<u32> {
        let component = self.of[client.0 as usize];
        (self.sizes[component as usize] > 1).then_some(component)
    }

    /// The clients of each component that has several, in the order of their numbers.
    fn groups(&self) -> Vec<Vec<ClientIx>> {
        let mut groups: Vec<Vec<ClientIx>> = vec![Vec::new(); self.sizes.len()];
        for (client, &component) in (0..).map(ClientIx).zip(&self.of) {
            if self.sizes[component as usize] > 1 {
                groups[component as usize].push(client);
            }
        }
        groups.retain(|group| !group.is_empty());
        groups
    }
}

/// Finds the circles of a graph, and says which clients are entangled with which.
pub(super) fn find(graph: &mut WaitFor<'_>) -> Components {
    let all = components(graph, false);
    let certain = components(graph, true);
    let mut search = Search::new(graph);
    let groups = certain.groups().into_iter();
    let mut circles: Vec<Circle> = groups.filter_map(|group| search.circle(graph, &certain, group, true)).collect();
    // Where a certain circle was found, those through elections around it add nothing.
    let mut known = vec![false; all.sizes.len()];
    for circle in &circles {
        known[all.of[circle.clients[0].0 as usize] as usize] = true;
    }
    let others = all.groups().into_iter().filter(|group| !known[all.of[group[0].0 as usize] as usize]);
    circles.extend(others.filter_map(|group| search.circle(graph, &all, group, false)));
    circles.sort_by_key(|circle| (!circle.certain, circle.since.at));
    graph.circles = circles;
    all
}

/// The components of clients, going only through locks that clients stand still for when `certain`.
fn components(graph: &WaitFor<'_>, certain: bool) -> Components {
    let clients = graph.clients.len();
    // Clients come first, then locks.
    let next = |node: usize, edge: usize| -> Option<usize> {
        if let Some(client) = graph.clients.get(node) {
            return client.waits.get(edge).map(|&wait| clients + graph.wait(wait).on.0 as usize);
        }
        let lock = &graph.locks[node - clients];
        let holders: &[ClientIx] = if certain && lock.in_background { &[] } else { &lock.holders };
        holders.get(edge).map(|holder| holder.0 as usize)
    };
    let (of, count) = tarjan(clients + graph.locks.len(), next);
    let mut sizes = vec![0; count];
    for &component in &of[..clients] {
        sizes[component as usize] += 1;
    }
    Components { of: of[..clients].to_vec(), sizes }
}

/// Tarjan's algorithm with a stack of its own: the component of each node, and how many there are.
fn tarjan(nodes: usize, next: impl Fn(usize, usize) -> Option<usize>) -> (Vec<u32>, usize) {
    const NONE: u32 = u32::MAX;
    let mut component = vec![NONE; nodes];
    let (mut order, mut lowest) = (vec![NONE; nodes], vec![0; nodes]);
    let (mut found, mut count): (u32, u32) = (0, 0);
    let (mut open, mut path): (Vec<usize>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
    for start in 0..nodes {
        if order[start] != NONE {
            continue;
        }
        path.push((start, 0));
        while let Some((node, edge)) = path.last_mut() {
            let node = *node;
            if *edge == 0 {
                (order[node], lowest[node]) = (found, found);
                found += 1;
                open.push(node);
            }
            let target = next(node, *edge);
            *edge += 1;
            match target {
                Some(target) if order[target] == NONE => path.push((target, 0)),
                Some(target) if component[target] == NONE => lowest[node] = lowest[node].min(order[target]),
                Some(_) => {}
                None => {
                    path.pop();
                    if let Some(&(parent, _)) = path.last() {
                        lowest[parent] = lowest[parent].min(lowest[node]);
                    }
                    if lowest[node] == order[node] {
                        while let Some(member) = open.pop() {
                            component[member] = count;
                            if member == node {
                                break;
                            }
                        }
                        count += 1;
                    }
                }
            }
        }
    }
    (component, count as usize)
}

/// Since when a client of a circle waits for the next one: it does not before that one holds.
fn closed(graph: &WaitFor<'_>, link: Link) -> Since {
    let waits = graph.wait(link.wait).since();
    let held = graph.lock_of(link.wait).lock.held_since();
    held.filter(|held| held.at > waits.at).unwrap_or(waits)
}

/// What searches have seen. Components have no client in common, so only locks need to be told apart.
struct Search {
    /// The wait that led to a client.
    came: Vec<Option<WaitIx>>,
    /// The last search that came by a lock.
    seen: Vec<u32>,
    searches: u32,
}

impl Search {
    fn new(graph: &WaitFor<'_>) -> Self {
        Self { came: vec![None; graph.clients.len()], seen: vec![0; graph.locks.len()], searches: 0 }
    }

    /// The shortest circle through the first client, by its key, of a component.
    fn circle(
        &mut self,
        graph: &WaitFor<'_>,
        within: &Components,
        group: Vec<ClientIx>,
        certain: bool,
    ) -> Option<Circle> {
        let start = group.iter().copied().min_by_key(|&client| graph.client(client).key.key())?;
        let last = self.way_back(graph, within, start, certain)?;
        let mut links = Vec::new();
        let mut way = Some(last);
        while let Some(wait) = way {
            let client = graph.wait(wait).client;
            links.push(Link { client, wait });
            way = if client == start { None } else { self.came[client.0 as usize] };
        }
        links.reverse();
        let since = links.iter().map(|link| closed(graph, *link)).max_by_key(|since| since.at)?;
        Some(Circle { links, clients: group, certain, since })
    }

    /// The wait of another client for a lock of `start` that the fewest waits lead to.
    fn way_back(&mut self, graph: &WaitFor<'_>, within: &Components, start: ClientIx, certain: bool) -> Option<WaitIx> {
        self.searches += 1;
        let home = within.of[start.0 as usize];
        let mut open = VecDeque::from([start]);
        while let Some(client) = open.pop_front() {
            for &wait in &graph.client(client).waits {
                let on = graph.wait(wait).on;
                let contended = graph.contended(on);
                if certain && contended.in_background {
                    continue;
                }
                if client != start && graph.client(start).holds.binary_search(&on).is_ok() {
                    return Some(wait);
                }
                if std::mem::replace(&mut self.seen[on.0 as usize], self.searches) == self.searches {
                    continue;
                }
                for &ClientIx(holder) in contended.holders.iter().filter(|&&holder| holder != start) {
                    let came = &mut self.came[holder as usize];
                    if within.of[holder as usize] == home && came.is_none() {
                        *came = Some(wait);
                        open.push_back(ClientIx(holder));
                    }
                }
            }
        }
        None
    }
}
