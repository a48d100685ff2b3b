//! Reads documents of any format into the conversation model, and writes the model for any format.
//!
//! [`decode()`] reads the messages of a document. [`encode()`] writes them for any format and lists
//! what that format cannot represent. What happens for one format is in the folder of that format;
//! these modules choose the folder.

pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod requests;
mod replies;
mod message;

pub use crate::conversation::{
    CallPairs, ContentPart, FormatSetting, IdentifierReplacement, JsonText, Loss, LossKind,
    LossLocation, MediaKind, MediaPart, MediaSource, ModelHistory, ModelMessage, ModelPart,
    ModelReply, ModelRequest, ModelResponse, ModelRole, PartIndex, PartNotes, PartOrigin,
    PartPlacement, ProviderError, ProviderErrorCode, ProviderErrorKind, ReasoningPart,
    ReasoningSignature, RequestSettings, ResponseShape, StopReason, TextCitation, ThinkingSetting,
    TokenUsage, ToolCallPart, ToolChoice, ToolDeclaration, ToolInput, ToolResultPart, UnknownPart,
    response::EncodedReply,
};
pub use decode::{decode, decode_message, decode_request};
pub use encode::encode;
pub use message::{decode_turn, encode_turn};
pub use replies::{DecodedReply, decode_reply, encode_reply};

#[cfg(test)]
mod tests;
