//! A rest for a program that is told much: where each waking brings a handful of changes out of
//! thousands a second, waking costs more than taking them in. After such a waking the thread rests
//! for some milliseconds before it waits again, and takes what came meanwhile together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tokio::runtime::Builder;

/// So many changes in one waking are many, be they of one transaction. Where they go on coming it is as
/// many in each rest, which makes four thousand a second.
const MANY: usize = 32;

/// How long a rest is: nobody reads faster, and what comes meanwhile fits the connection's window.
const REST: Duration = Duration::from_millis(8);

/// How much was told since the thread last had nothing to do.
#[derive(Clone, Debug, Default)]
pub struct Load(Arc<AtomicUsize>);

impl Load {
    /// Notes that so many changes were told.
    pub fn add(&self, changes: usize) {
        self.0.fetch_add(changes, Ordering::Relaxed);
    }

    /// Has the thread of this runtime rest where this asks for it. It has one thread: whoever else
    /// it works for waits as well.
    #[expect(clippy::disallowed_methods, reason = "nothing is awaited: it is the thread that is to rest")]
    pub fn rests(&self, runtime: &mut Builder) {
        let load = self.clone();
        runtime.on_thread_park(move || {
            if load.is_high() {
                thread::sleep(REST);
            }
        });
    }

    /// Whether much was told since this was asked last.
    fn is_high(&self) -> bool {
        self.0.swap(0, Ordering::Relaxed) >= MANY
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[test]
    fn a_rest_follows_much_and_only_once() {
        let load = Load::default();
        assert!(!load.is_high());
        load.add(MANY - 1);
        assert!(!load.is_high());
        load.add(1);
        assert!(!load.is_high(), "what came before it is forgotten");
        load.add(1);
        load.add(MANY);
        assert!(load.is_high() && !load.is_high());
    }

    #[test]
    fn a_runtime_rests_when_it_has_nothing_to_do_after_much() {
        let load = Load::default();
        let mut runtime = Builder::new_current_thread();
        load.rests(&mut runtime);
        let runtime = runtime.enable_time().build().unwrap();
        load.add(MANY);
        runtime.block_on(async {
            let began = Instant::now();
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert!(began.elapsed() >= REST, "{:?}", began.elapsed());
        });
        assert!(!load.is_high(), "the runtime has asked");
    }
}
