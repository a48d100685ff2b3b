//! What a session file records about its session.

use std::borrow::Cow;

/// What a session file records about its session. A field is `None` if the file does not have it.
#[derive(Clone, Debug, Default)]
pub struct SessionMetadata<'a> {
    /// The session id.
    pub id: Option<Cow<'a, str>>,
    /// The working directory.
    pub folder: Option<Cow<'a, str>>,
    /// The title that the user or the agent gave it.
    pub title: Option<Cow<'a, str>>,
    /// The version of the agent that wrote the last record.
    pub version: Option<Cow<'a, str>>,
    /// The model of the last reply.
    pub model: Option<Cow<'a, str>>,
    /// The agent put off the calls of the last reply: it answers them when the session is resumed.
    pub waits_for_tools: bool,
    /// When the first record was written.
    pub started: Option<Cow<'a, str>>,
    /// When the last record was written.
    pub updated: Option<Cow<'a, str>>,
}

impl<'a> SessionMetadata<'a> {
    /// Updates the times from the timestamp of a record.
    pub(super) fn record_time(&mut self, time: Option<&'a str>) {
        if let Some(time) = time {
            self.started.get_or_insert(time.into());
            self.updated = Some(time.into());
        }
    }
}
