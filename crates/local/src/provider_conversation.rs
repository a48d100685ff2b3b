//! The history of a document or session, as a provider sees it.

use std::borrow::Cow;

use foxwedge_core::{CheckOptions, Format};

use crate::{
    input_format::InputFormat,
    outcome::SessionRef,
    source::{DocumentBody, InputDocument},
};

/// A conversation as a provider sees it.
pub struct ProviderConversation<'d> {
    /// The history as JSON, in the wire format.
    pub text: Cow<'d, str>,
    /// Its wire format.
    pub wire: Format,
    /// How it is checked.
    pub check_options: CheckOptions,
    /// The model that the conversation names.
    pub model: Option<&'d str>,
    /// Input format of the file.
    pub format: InputFormat,
    /// Its session, if it is a session file.
    pub session: Option<SessionRef>,
}

impl<'d> ProviderConversation<'d> {
    /// The conversation of a document as a provider sees it.
    pub fn of(document: &'d InputDocument<'_>) -> ProviderConversation<'d> {
        let draft = document.draft();
        let (text, model, format, session) = match &document.body {
            DocumentBody::Wire(_) => {
                let model = draft.body.model.as_deref();
                (Cow::Borrowed(draft.source), model, InputFormat::Wire(draft.format), None)
            }
            DocumentBody::Session(session) => {
                let model = session.metadata.model.as_deref();
                let session_ref = SessionRef::of(session);
                (
                    Cow::Owned(session.history()),
                    model,
                    InputFormat::Agent(session.agent),
                    Some(session_ref),
                )
            }
        };
        ProviderConversation {
            text,
            wire: draft.format,
            check_options: document.check_options,
            model,
            format,
            session,
        }
    }
}
