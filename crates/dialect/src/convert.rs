//! Conversion: a request or an answer of one format, in another.
//!
//! Everything goes through the canonical model, and repair runs on both sides of it: what is broken
//! is mended where it stands, before anything crosses, and what the target's provider would refuse
//! is mended behind. What cannot be carried is a list of typed losses. Pure, and the same bytes give
//! the same bytes.

mod request;
mod tool_names;
mod response;
mod text_tools;

use foxwedge_core::{EditLog, Finding, Format, Policy, Profile};

use crate::model::{IdentifierReplacement, Loss};

pub use request::{compose, request};
pub use response::{ConvertedResponse, response};

/// How a conversion is to be done.
#[derive(Clone, Debug, Default)]
pub struct ConversionOptions {
    /// Whose rules the result has to obey; those of the target format's owner if not told.
    pub profile: Option<Profile>,
    /// What repairs may do.
    pub policy: Policy,
    /// How calls and answers are spelled.
    pub tools: ToolNotation,
    /// The model of the result; as it was if not told.
    pub model: Option<String>,
    /// Ids that an earlier conversion replaced: they come back.
    pub restored_ids: Vec<IdentifierReplacement>,
    /// Names of tools that were replaced in the request: an answer gets the old ones back.
    pub renamed_tools: Vec<IdentifierReplacement>,
    /// Tells answers apart that have no ids of their own.
    pub seed: String,
    /// When an answer was made, in seconds since 1970, if it does not say so itself.
    pub created: Option<u64>,
}

impl ConversionOptions {
    /// Whose rules a result in that format has to obey.
    pub fn profile(&self, to: Format) -> Profile {
        self.profile.unwrap_or(Profile::for_format(to))
    }
}

/// How calls and answers are spelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ToolNotation {
    /// As the format spells them.
    #[default]
    Native,
    /// As text, for models that know no tools.
    Text,
}

/// A request in another format.
#[derive(Clone, Debug)]
pub struct ConvertedRequest {
    /// The request: an object if it was one or has instructions beside its messages, else the bare
    /// list.
    pub body: String,
    /// What could not be carried.
    pub losses: Vec<Loss>,
    /// Ids that the target does not take, and what stands for them.
    pub renamed: Vec<IdentifierReplacement>,
    /// Names of tools that the target does not take, and what stands for them, in calls and where
    /// tools are declared. Answers of the target's model use the new names.
    pub renamed_tools: Vec<IdentifierReplacement>,
    /// What was mended before it crossed.
    pub source_edits: EditLog,
    /// What was mended behind, for the target.
    pub target_edits: EditLog,
    /// What the target's provider still refuses: there is no repair that may be done unasked. The
    /// first findings of each rule.
    pub remaining: Vec<Finding>,
    /// How many findings are left, listed or not.
    pub remaining_total: usize,
    /// Messages that crossed.
    pub messages: usize,
}

#[cfg(test)]
mod tests;
