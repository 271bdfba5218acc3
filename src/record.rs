//! Sessions as files: what was observed, a line each, so that it can be looked at again.
//!
//! ```text
//! source ── observation ──┬──► update ──► model            a session
//!                         └──► Recorder ──► file           its tee
//!                                           file ──► Reader ──► update ──► the same model
//! ```
//! The format is described for people in `docs/recording.md`. Nothing here knows the model or a
//! screen, and nothing read from a file is trusted: whatever its bytes are, they lead to
//! observations or to a message.

mod format;
mod harmless;
mod reader;
mod redact;
mod tail;
mod writer;

pub use format::{End, Header, KINDS, VERSION, kind};
pub use harmless::Harmless;
pub use reader::{Item, OpenError, Place, Reader, Trouble};
pub use redact::Redactor;
pub use tail::last_time;
pub use writer::{CreateError, Recorded, Recorder};
