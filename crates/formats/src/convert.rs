//! Converts a request or a response from one format to another.
//!
//! Conversion goes through the canonical model, with a repair before and after. The first repair
//! fixes the source history; the second fixes what the target provider would reject. Content that
//! the target format cannot represent is reported as a list of typed losses. Conversion is pure and
//! deterministic.

mod request;
mod tool_names;
mod response;
mod text_tools;

use foxwedge_core::{EditLog, Finding, Format, Policy, Profile};

use crate::model::{IdentifierReplacement, Loss};

pub use crate::conversation::request::chat_server::ChatServer;

pub use request::{compose, message_list, request};
pub use response::{ConvertedResponse, decoded_response, response};

/// Options of a conversion.
#[derive(Clone, Debug, Default)]
pub struct ConversionOptions {
    /// Profile that the result must satisfy. Default: the default profile of the target format.
    pub profile: Option<Profile>,
    /// What repairs may do.
    pub policy: Policy,
    /// The server, where the target is Chat Completions.
    pub chat_server: ChatServer,
    /// How tool calls and tool results are written.
    pub tools: ToolNotation,
    /// Model of the result. Default: unchanged.
    pub model: Option<String>,
    /// Whether the reply to a request is a stream, where the path of the source says so and not its
    /// body. Default: as in the body.
    pub stream: Option<bool>,
    /// Id of a response, whatever the provider sends. Default: unchanged.
    pub reply_id: Option<String>,
    /// Ids that an earlier conversion replaced. The conversion restores them.
    pub restored_ids: Vec<IdentifierReplacement>,
    /// Tool names that were replaced in the request. A response gets the original names back.
    pub renamed_tools: Vec<IdentifierReplacement>,
    /// Tools with free text whose calls in a response have it as the field `input` of an object.
    pub free_text_tools: Vec<String>,
    /// Distinguishes responses that have no id of their own.
    pub seed: String,
    /// Creation time of a response in Unix seconds, used if the response has none.
    pub created: Option<u64>,
}

impl ConversionOptions {
    /// The profile that a result in that format must satisfy.
    pub fn profile(&self, to: Format) -> Profile {
        self.profile.unwrap_or(Profile::for_format(to))
    }
}

/// How tool calls and tool results are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ToolNotation {
    /// In the native notation of the format.
    #[default]
    Native,
    /// As text, for models without tool support.
    Text,
}

/// A converted request.
#[derive(Clone, Debug)]
pub struct ConvertedRequest {
    /// The request body: an object if the source was one or if instructions are separate from the
    /// messages, else the bare list.
    pub body: String,
    /// What the target format cannot represent.
    pub losses: Vec<Loss>,
    /// Call ids that the target does not accept, with their replacements.
    pub renamed: Vec<IdentifierReplacement>,
    /// Tool names that the target does not accept, with their replacements in calls and
    /// declarations. Responses of the target's model use the new names.
    pub renamed_tools: Vec<IdentifierReplacement>,
    /// Tools with free text, by their new names, if the target has objects only.
    pub free_text_tools: Vec<String>,
    /// Repairs made before the conversion.
    pub source_edits: EditLog,
    /// Repairs made after the conversion, for the target profile.
    pub target_edits: EditLog,
    /// Findings that the policy does not allow to repair; the target provider still rejects these.
    /// Holds the first findings of each rule.
    pub remaining: Vec<Finding>,
    /// Number of remaining findings, listed or not.
    pub remaining_total: usize,
    /// Number of converted messages.
    pub messages: usize,
}

#[cfg(test)]
mod tests;
