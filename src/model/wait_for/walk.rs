//! Goes through the forest from above, without recursion: a chain of locks may be long.

use super::{ClientIx, WaitFor};

/// A step of the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Circles come, whose clients follow one level deeper: the index of their root.
    Circle(usize),
    /// A client.
    Client(ClientIx),
}

/// The way through a forest: each step with how deep it hangs.
pub struct Walk<'g, 'a> {
    graph: &'g WaitFor<'a>,
    /// The next root.
    root: usize,
    open: Vec<(usize, ClientIx)>,
}

impl<'g, 'a> Walk<'g, 'a> {
    pub(super) const fn through(graph: &'g WaitFor<'a>) -> Self {
        Self { graph, root: 0, open: Vec::new() }
    }
}

impl Iterator for Walk<'_, '_> {
    type Item = (usize, Step);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some((depth, client)) = self.open.pop() {
            let children = self.graph.client(client).children.iter().rev();
            self.open.extend(children.map(|&child| (depth + 1, child)));
            return Some((depth, Step::Client(client)));
        }
        let (at, root) = (self.root, self.graph.roots().get(self.root)?);
        self.root += 1;
        let in_circle = !root.circles.is_empty();
        self.open.extend(root.clients.iter().rev().map(|&client| (usize::from(in_circle), client)));
        if in_circle { Some((0, Step::Circle(at))) } else { self.next() }
    }
}
