//! The tee of a session: what it observes is also recorded, from its start or from when somebody
//! says so.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::tz::TimeZone;
use tokio::time::timeout;
use tracing::{info, warn};

use super::replay::default_name;
use super::{ExitReason, RuntimeError};
use crate::config::Config;
use crate::domain::{Redaction, Timestamp};
use crate::event::{Observation, Stamped};
use crate::model::Model;
use crate::model::ui::{Notice, RecordingUi};
use crate::record::{CreateError, Header, Recorder};
use crate::view::text::escape_text;

/// How long the disk may take for what is known when a recording begins: the screen stands still.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is recorded, and how what is begun later would be.
#[derive(Default)]
pub struct Taping {
    recorder: Option<Recorder>,
    endpoints: Vec<String>,
    prefixes: Vec<Vec<u8>>,
    redaction: Redaction,
    /// Whether it was said that it stopped by itself.
    said_failed: bool,
}

impl Taping {
    /// Begins what the settings ask for.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn begin(config: &Config, now: Timestamp) -> Result<Self, CreateError> {
        let mut taping = Self {
            recorder: None,
            endpoints: config.connection.endpoints.clone(),
            prefixes: config.prefixes.clone(),
            redaction: config.recording.redaction,
            said_failed: false,
        };
        if let Some(file) = &config.recording.file {
            taping.recorder = Some(Recorder::create(file, &taping.header(now))?);
            info!(file = %file.display(), "recording");
        }
        Ok(taping)
    }

    fn header(&self, now: Timestamp) -> Header {
        Header::new(now, &self.endpoints, &self.prefixes, self.redaction)
    }

    /// Records an observation, if anything is recorded.
    pub fn take(&mut self, observed: &Stamped<Observation>, model: &mut Model) {
        let Some(recorder) = &mut self.recorder else { return };
        recorder.offer(observed);
        if let Some(why) = recorder.progress().failed
            && !std::mem::replace(&mut self.said_failed, true)
        {
            warn!(file = %recorder.path().display(), why, "the recording stopped");
            let what = format!("the recording {} stopped: {why}", told(recorder.path()));
            model.tell(Notice::NotRecorded(what));
        }
    }

    /// Begins a recording, in this file or in one with a name of its own, or ends the one that
    /// there is when no file is named.
    pub async fn toggle(&mut self, file: Option<String>, now: Timestamp, zone: &TimeZone, model: &mut Model) {
        let before = self.recorder.take();
        let ends = before.is_some() && file.is_none();
        if let Some(recorder) = before {
            let path = told(recorder.path());
            let done = recorder.end(now, "told to end").await;
            model.tell(Notice::Recorded(path, done.observations));
        }
        model.ui.recording = None;
        if ends {
            return;
        }
        let file = file.map_or_else(|| default_name(now, zone), PathBuf::from);
        self.said_failed = false;
        let header = self.header(now).of(model.live().link.cluster_id);
        match Recorder::create(&file, &header) {
            Ok(mut recorder) => {
                // It begins with what is known by now, and nobody may wait for ever for the disk.
                let known = async {
                    for observed in model.live().as_observed() {
                        recorder.record(&observed).await;
                    }
                };
                if timeout(PATIENCE, known).await.is_err() {
                    let what = format!("cannot record to {}: the disk takes too long", told(&file));
                    return model.tell(Notice::NotRecorded(what));
                }
                self.recorder = Some(recorder);
                info!(file = %file.display(), "recording");
                model.tell(Notice::Recording(told(&file)));
            }
            Err(error) => model.tell(Notice::NotRecorded(error.to_string())),
        }
    }

    /// Brings what the screen says of it up to date.
    pub fn show(&self, model: &mut Model) {
        // It alone is no reason for another frame.
        model.ui.recording = self.recorder.as_ref().map(|recorder| {
            let progress = recorder.progress();
            RecordingUi { bytes: progress.bytes, dropped: progress.dropped, failed: progress.failed.is_some() }
        });
    }

    /// Ends it with the session; a line to say when there is no screen any more, if it is not whole.
    pub async fn end(&mut self, now: Timestamp, reason: &Result<ExitReason, RuntimeError>) -> Option<String> {
        let recorder = self.recorder.take()?;
        let why = match reason {
            Ok(ExitReason::Quit | ExitReason::Unknown | ExitReason::NotRecorded) => "quit".to_owned(),
            Ok(ExitReason::Signal(number)) => format!("signal {number}"),
            Ok(ExitReason::HungUp) => "the terminal is gone".to_owned(),
            Err(_) => "failed".to_owned(),
        };
        let file = recorder.path().to_owned();
        let done = recorder.end(now, &why).await;
        if let Some(why) = done.failed {
            warn!(file = %file.display(), why, "the recording is not whole");
            return Some(format!("lockscope: the recording {} stopped: {}", told(&file), escape_text(&why)));
        }
        info!(file = %file.display(), observations = done.observations, "recorded");
        None
    }
}

fn told(path: &Path) -> String {
    escape_text(&path.to_string_lossy()).into_owned()
}
