//! What is asked of the scripted model: one HTTP request, without its method.

use foxwedge_core::Format;

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct ScriptedRequest<'a> {
    /// The format of its body.
    pub format: Format,
    /// Its path, with the query if there is one.
    pub path: &'a str,
    /// Its headers. Names are compared without regard to case.
    pub headers: &'a [(&'a str, &'a str)],
    /// Its body.
    pub body: &'a [u8],
}

/// What a path asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScriptedEndpoint {
    /// A reply.
    Reply,
    /// How many tokens a request has.
    Count,
    /// The list of models.
    Models,
    /// Nothing that is served here.
    Unknown,
}

impl<'a> ScriptedRequest<'a> {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        let mut headers = self.headers.iter();
        headers.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    /// What its path asks for. Unknown paths that carry a body are taken for a request for a
    /// reply: who calls this crate directly need not invent a path.
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
        let known = ["/chat/completions", "/responses", "/messages"];
        if known.iter().any(|end| path.ends_with(end))
            || path.ends_with(":generateContent")
            || path.ends_with(":streamGenerateContent")
            || path.is_empty()
        {
            return ScriptedEndpoint::Reply;
        }
        ScriptedEndpoint::Unknown
    }

    /// The format of what is served under a path, for a server that has only the path.
    pub fn format_of_path(path: &str) -> Option<Format> {
        let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
        let table = [
            ("/chat/completions", Format::OpenaiChat),
            ("/responses", Format::OpenaiResponses),
            ("/responses/input_tokens", Format::OpenaiResponses),
            ("/messages", Format::Anthropic),
            ("/messages/count_tokens", Format::Anthropic),
            (":generateContent", Format::Gemini),
            (":streamGenerateContent", Format::Gemini),
            (":countTokens", Format::Gemini),
            ("/v1beta/models", Format::Gemini),
            ("/models", Format::OpenaiChat),
        ];
        table.iter().find(|(end, _)| path.ends_with(end)).map(|(_, wire)| *wire)
    }

    /// The model that a path of Google's form names.
    pub(crate) fn model_in_path(&self) -> Option<&'a str> {
        let path = self.path.split('?').next()?;
        let (_, rest) = path.split_once("/models/")?;
        let model = rest.rsplit_once(':').map_or(rest, |(model, _)| model);
        (!model.is_empty()).then_some(model)
    }

    /// Whether the path alone asks for a stream (Google).
    pub(crate) fn streams_by_path(&self) -> bool {
        let path = self.path.split('?').next().unwrap_or_default();
        path.ends_with(":streamGenerateContent")
    }

    /// Whether a query asks for server-sent events where a list is the rule (Google).
    pub(crate) fn wants_events(&self) -> bool {
        let query = self.path.split_once('?').map_or("", |(_, query)| query);
        query.split('&').any(|pair| pair == "alt=sse")
    }
}
