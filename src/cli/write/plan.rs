//! What a command is about to do, ready to be shown.

use crate::config::Connection;
use crate::domain::LeaseId;
use crate::domain::write::Confirmed;
use crate::model::BlastRadius;
use crate::model::ui::dialog::Word;

/// A write, or several of one kind, before it is confirmed.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The command's name, which is also the word for it in documents.
    pub verb: &'static str,
    /// What is done to what, as one line: `revoke lease a1`.
    pub title: String,
    /// What has to be typed.
    pub word: Word,
    /// The lease that it is about, if it is about one.
    pub lease: Option<LeaseId>,
    /// Seconds granted and left of that lease, where they are known.
    pub ttl: Option<(i64, i64)>,
    /// What goes and what is freed.
    pub blast: BlastRadius,
    /// What is carried out, one after the other.
    pub confirmed: Vec<Confirmed>,
    /// What to know before it is confirmed, a line each.
    pub notes: Vec<String>,
    /// An endpoint that has to be among those that etcdctl is given.
    pub through: Option<String>,
    /// Why there is nothing to do, when it is so already.
    pub nothing_to_do: Option<String>,
}

impl Plan {
    /// A plan of one write.
    pub fn new(verb: &'static str, title: String, word: Word, blast: BlastRadius) -> Self {
        let confirmed = vec![Confirmed { write: blast.write.clone(), shown: blast.keys.clone() }];
        let (lease, ttl, through, notes, nothing_to_do) = (None, None, None, Vec::new(), None);
        Self { verb, title, word, lease, ttl, blast, confirmed, notes, through, nothing_to_do }
    }

    /// The same with commands that find the cluster of these settings.
    #[must_use]
    pub fn reached_by(mut self, connection: &Connection) -> Self {
        let mut connection = connection.clone();
        if let Some(through) = self.through.take()
            && !connection.endpoints.contains(&through)
        {
            connection.endpoints.push(through);
        }
        self.blast = self.blast.reached_by(&connection.etcdctl_variables());
        self
    }
}
