//! What people get wrong when they write these recipes themselves, as switches.

/// The mistakes of one client. What each leads to is known, and is part of the tests. Two more are
/// habits: a heartbeat slower than the lease, and no fencing at what the lock protects.
#[expect(clippy::struct_excessive_bools, reason = "each is a mistake of its own")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mistakes {
    /// Taking the predecessor's end for one's own turn, without looking again: two hold when the
    /// predecessor was only a waiter that gave up.
    pub no_recheck: bool,
    /// Taking any event of the predecessor's key for its end, such as a put. The second look finds
    /// it out; without that too, two hold as soon as a holder's key is put again.
    pub any_event: bool,
    /// Naming the queue without a slash at its end, so that `/lock/a` also queues behind the keys
    /// of `/lock/ab`.
    pub no_slash: bool,
    /// Putting the key first and hanging it on a lease only when the lock is held: a crash in
    /// between leaves a key that nothing ever takes away. Who ends in order deletes it.
    pub late_lease: bool,
}
