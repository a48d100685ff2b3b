//! A request to the scripted model: one HTTP request, without its method.

use foxwedge_core::Format;

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct ScriptedRequest<'a> {
    /// The format of its body.
    pub format: Format,
    /// Its path, with the query if there is one.
    pub path: &'a str,
    /// Its headers. Names are case-insensitive.
    pub headers: &'a [(&'a str, &'a str)],
    /// Its body.
    pub body: &'a [u8],
}

/// The endpoint of a path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScriptedEndpoint {
    /// A reply.
    Reply,
    /// Token counting.
    Count,
    /// The list of models.
    Models,
    /// Not served here.
    Unknown,
}

impl<'a> ScriptedRequest<'a> {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        let mut headers = self.headers.iter();
        headers.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    /// The endpoint of its path. An unknown path with a body counts as a request for a reply, so
    /// that direct callers of this crate need no path.
    pub fn endpoint(&self) -> ScriptedEndpoint {
        let path = self.path.split('?').next().unwrap_or_default().trim_end_matches('/');
        if path.ends_with("/count_tokens")
            || path.ends_with(":countTokens")
            || path.ends_with("/input_tokens")
        {
            return ScriptedEndpoint::Count;
        }
        if path.ends_with("/models") {
            return ScriptedEndpoint::Models;
        }
        let known = ["/chat/completions", "/responses", "/messages", "/interactions"];
        if known.iter().any(|end| path.ends_with(end))
            || path.ends_with(":generateContent")
            || path.ends_with(":streamGenerateContent")
            || path.is_empty()
        {
            return ScriptedEndpoint::Reply;
        }
        ScriptedEndpoint::Unknown
    }

    /// The format of a path, for a server that knows only the path.
    pub fn format_of_path(path: &str) -> Option<Format> {
        let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
        let table = [
            ("/chat/completions", Format::OpenaiChat),
            ("/responses", Format::OpenaiResponses),
            ("/responses/input_tokens", Format::OpenaiResponses),
            ("/messages", Format::Anthropic),
            ("/messages/count_tokens", Format::Anthropic),
            ("/interactions", Format::GeminiInteractions),
            (":generateContent", Format::Gemini),
            (":streamGenerateContent", Format::Gemini),
            (":countTokens", Format::Gemini),
            ("/v1beta/models", Format::Gemini),
            ("/models", Format::OpenaiChat),
        ];
        table.iter().find(|(end, _)| path.ends_with(end)).map(|(_, format)| *format)
    }

    /// The model in a path of Google's form.
    pub(crate) fn model_in_path(&self) -> Option<&'a str> {
        let path = self.path.split('?').next()?;
        let (_, rest) = path.split_once("/models/")?;
        let model = rest.rsplit_once(':').map_or(rest, |(model, _)| model);
        (!model.is_empty()).then_some(model)
    }

    /// Whether the path alone requests a stream (Google).
    pub(crate) fn streams_by_path(&self) -> bool {
        let path = self.path.split('?').next().unwrap_or_default();
        path.ends_with(":streamGenerateContent")
    }

    /// Whether the query requests server-sent events instead of a list (Google).
    pub(crate) fn wants_events(&self) -> bool {
        let query = self.path.split_once('?').map_or("", |(_, query)| query);
        query.split('&').any(|pair| pair == "alt=sse")
    }
}
