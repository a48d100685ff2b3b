//! What servers of Chat Completions take beyond their format.

/// What a server of Chat Completions takes or refuses beyond the format and its profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChatServer {
    /// Its token limit is `max_tokens`: the newer name is OpenAI's own.
    pub older_token_limit: bool,
    /// It refuses reasoning in messages.
    pub refuses_reasoning: bool,
}
