//! What a session file says about itself.

use std::borrow::Cow;

/// What a session file says about itself; whatever it does not say is `None`.
#[derive(Clone, Debug, Default)]
pub struct SessionMetadata<'a> {
    /// The session's id.
    pub id: Option<Cow<'a, str>>,
    /// The folder it was about.
    pub folder: Option<Cow<'a, str>>,
    /// What the user or the agent calls it.
    pub title: Option<Cow<'a, str>>,
    /// The version of the agent that wrote the last record.
    pub version: Option<Cow<'a, str>>,
    /// The model of the last reply.
    pub model: Option<Cow<'a, str>>,
    /// When its first record was written.
    pub started: Option<Cow<'a, str>>,
    /// When its last record was written.
    pub updated: Option<Cow<'a, str>>,
}

impl<'a> SessionMetadata<'a> {
    /// Notes when a record was written.
    pub(super) fn record_time(&mut self, time: Option<&'a str>) {
        if let Some(time) = time {
            self.started.get_or_insert(time.into());
            self.updated = Some(time.into());
        }
    }
}
