//! What the response readers and writers of all formats share.

mod citations;
mod part_losses;
mod reader;
mod writer;

use std::borrow::Cow;

use foxwedge_core::{Format, Profile, fresh_id};

use super::{IdentifierReplacement, Loss};
pub(crate) use reader::{
    ReplyBodyReader, dropped_field_note, has_content, read_error, read_seconds, stop_with_calls,
};
pub(crate) use writer::ReplyBodyWriter;

/// An encoded response body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EncodedReply {
    /// The body.
    pub body: String,
    /// What the format cannot represent.
    pub losses: Vec<Loss>,
    /// Call ids that the format does not accept, with their replacements.
    pub renamed: Vec<IdentifierReplacement>,
}

/// The id of a response: its own, or one derived from the seed.
pub(crate) fn reply_id<'i>(format: Format, id: Option<&'i str>, seed: &str) -> Cow<'i, str> {
    let prefix = match format {
        Format::OpenaiChat => "chatcmpl-",
        Format::OpenaiResponses => "resp_",
        Format::Anthropic => "msg_",
        Format::GeminiInteractions => "interaction_",
        Format::Gemini | Format::Bedrock => "",
    };
    match id.filter(|id| !id.is_empty()) {
        Some(id) => Cow::Borrowed(id),
        None => Cow::Owned(format!("{prefix}{}", seed_digits(&format!("reply {seed}")))),
    }
}

/// The id of an item of a Responses body: the prefix `msg`, `fc`, `ctc` or `rs`, and a hash of the
/// response id and the index of the item in the output.
pub(crate) fn item_id(prefix: &str, reply: &str, index: usize) -> String {
    format!("{prefix}_{}", seed_digits(&format!("item {index} {reply}")))
}

/// Whether a reasoning signature is valid in a format. Only the provider that made it can verify
/// it; Anthropic and Bedrock serve the same models.
pub(crate) fn carries_signature(from: Option<Format>, to: Format) -> bool {
    let claude = |format| matches!(format, Format::Anthropic | Format::Bedrock);
    from.is_some_and(|from| from == to || claude(from) && claude(to))
}

fn seed_digits(seed: &str) -> String {
    let format = Format::OpenaiResponses;
    let id = fresh_id(format, Profile::for_format(format).id_rule(), seed);
    id.rsplit('_').next().unwrap_or_default().to_owned()
}
