//! Hangs every waiting client on the one it is blocked by, and counts who is behind whom.
//!
//! A client hangs on the first holder of the lock it has waited for longest. Clients of circles hang
//! on nobody: they are a root together.

use super::circles::Components;
use super::{Behind, ClientIx, Root, WaitFor, WaitIx};
use crate::domain::Timestamp;

/// Makes the forest of a graph whose circles are known.
pub(super) fn grow(graph: &mut WaitFor<'_>, components: &Components, now: Timestamp) {
    hang(graph, components);
    let roots = roots(graph, components);
    let order = downwards(graph, &roots);
    for &client in order.iter().rev() {
        let behind = behind(graph, graph.client(client));
        graph.clients[client.0 as usize].behind = behind;
    }
    graph.roots = roots
        .into_iter()
        .map(|mut root| {
            for &client in &root.clients {
                let Behind { direct, all, locks, began } = graph.client(client).behind;
                root.behind.direct += direct;
                root.behind.all += all;
                root.behind.locks += locks;
                root.behind.began += began;
            }
            root
        })
        .collect();
    let mut roots = std::mem::take(&mut graph.roots);
    roots.sort_by_cached_key(|root| {
        let certain = root.circles.iter().any(|&circle| graph.circles[circle].certain);
        let key = graph.client(root.clients[0]).key.key();
        (!certain, root.circles.is_empty(), std::cmp::Reverse(root.behind.waited(now)), key)
    });
    graph.roots = roots;
}

/// Hangs clients on their blockers, each lock's in the order of its queue.
fn hang(graph: &mut WaitFor<'_>, components: &Components) {
    for at in 0..u32::try_from(graph.waits.len()).unwrap_or(u32::MAX) {
        let wait = WaitIx(at);
        let client = graph.wait(wait).client;
        let known = graph.client(client);
        // Waits are visited in the order of the queues; all but the one that counts are passed over.
        let counts = known.waits.iter().find_map(|&wait| Some((wait, blocker(graph, client, wait)?)));
        if components.entangled(client).is_none()
            && let Some((counts, blocker)) = counts
            && counts == wait
        {
            graph.clients[client.0 as usize].hangs = Some((wait, blocker));
            graph.clients[blocker.0 as usize].children.push(client);
        }
    }
}

/// The first holder of what is waited for, but for the waiting client itself.
fn blocker(graph: &WaitFor<'_>, client: ClientIx, wait: WaitIx) -> Option<ClientIx> {
    graph.lock_of(wait).holders.iter().copied().find(|&holder| holder != client)
}

/// The roots, in no order that means anything.
fn roots(graph: &WaitFor<'_>, components: &Components) -> Vec<Root> {
    let mut roots: Vec<Root> = Vec::new();
    let mut of_component = hashbrown::HashMap::new();
    // Those of the circles come first and in their order, then whoever is entangled with them.
    for (at, circle) in graph.circles.iter().enumerate() {
        let Some(component) = components.entangled(circle.links[0].client) else { continue };
        let root = *of_component.entry(component).or_insert(roots.len());
        if root == roots.len() {
            let clients = circle.links.iter().map(|link| link.client).collect();
            roots.push(Root { clients, circles: vec![at], behind: Behind::default() });
        } else {
            roots[root].circles.push(at);
        }
    }
    let mut listed = vec![false; graph.clients.len()];
    for client in roots.iter().flat_map(|root| &root.clients) {
        listed[client.0 as usize] = true;
    }
    for (ix, client) in graph.clients() {
        if listed[ix.0 as usize] {
            continue;
        }
        if let Some(&root) = components.entangled(ix).and_then(|component| of_component.get(&component)) {
            roots[root].clients.push(ix);
        } else if client.hangs.is_none() && (!client.children.is_empty() || !client.waits.is_empty()) {
            roots.push(Root { clients: vec![ix], circles: Vec::new(), behind: Behind::default() });
        }
    }
    roots
}

/// All clients of the forest, each behind the one it hangs on.
fn downwards(graph: &WaitFor<'_>, roots: &[Root]) -> Vec<ClientIx> {
    let mut order: Vec<ClientIx> = roots.iter().flat_map(|root| root.clients.iter().copied()).collect();
    let mut at = 0;
    while let Some(&client) = order.get(at) {
        order.extend_from_slice(&graph.client(client).children);
        at += 1;
    }
    order
}

/// Counts who is behind a client, once its children are counted.
fn behind(graph: &WaitFor<'_>, client: &super::Client<'_>) -> Behind {
    let mut behind = Behind { direct: client.children.len(), ..Behind::default() };
    let mut last = None;
    for child in client.children.iter().map(|&child| graph.client(child)) {
        let Some((wait, _)) = child.hangs else { continue };
        behind.all += 1 + child.behind.all;
        behind.locks += child.behind.locks;
        behind.began += i128::from(graph.wait(wait).since().at.0) + child.behind.began;
        let on = graph.wait(wait).on;
        behind.locks += usize::from(last.replace(on) != Some(on));
    }
    behind
}
