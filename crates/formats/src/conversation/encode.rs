//! What the encoders of all formats share: the state, the turns, the blocks, the JSON.

mod arguments;
mod blocks;
mod history_encoder;
mod items;
mod late_results;
mod model_limits;
pub(crate) mod json_writer;
mod outline;
mod system;
mod turns;

use std::collections::HashMap;

use foxwedge_core::{Format, Profile, is_other_maker};

pub(crate) use arguments::write_arguments_object;
pub(crate) use blocks::{
    BlockEncodeFormat, CacheMarker, cache_lifetime, encode_instructions, write_messages,
    write_pieces, write_text_or_blocks,
};
pub(crate) use history_encoder::{
    ContentPiece, HistoryEncoder, MEDIA_FOLLOWS, SUMMARY_AS_TEXT, meaningful_fields,
    omitted_media_text, result_media_heading,
};
pub(crate) use items::{ItemEncodeFormat, write_items};
pub(crate) use late_results::{LATE_RESULT, late_results};
pub(crate) use outline::{OutlineRecorder, ResultOutline};
pub(crate) use system::is_foreign;
pub(crate) use turns::{EncodedTurn, split_turns};

/// The target that a history is written for.
#[derive(Clone, Debug)]
pub(crate) struct EncodeTarget {
    /// The format.
    pub(crate) wire: Format,
    /// The profile whose rules for ids and names apply.
    pub(crate) profile: Profile,
    /// Maps replacements of an earlier conversion to the original ids.
    pub(crate) restored_ids: HashMap<String, String>,
    /// Whether readable reasoning of other models is written.
    pub(crate) reasoning: bool,
    /// Whether the server refuses reasoning in messages of Chat Completions.
    pub(crate) refuses_reasoning: bool,
    /// The model, for Bedrock.
    pub(crate) bedrock_model: BedrockModel,
    /// Whether instructions go into a separate field, where the format has one.
    pub(crate) separate_instructions: bool,
}

/// Whose model a request for Bedrock is for. A model refuses fields that are meant for another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BedrockModel {
    /// Claude, or a model whose name does not say it.
    Claude,
    /// Amazon's Nova. It takes cache marks, except after tools.
    Nova,
    /// Another maker's. It takes neither cache marks nor Claude's reasoning.
    Other,
}

impl BedrockModel {
    /// The model of a name.
    pub(crate) fn of(model: Option<&str>) -> BedrockModel {
        match model.filter(|model| is_other_maker(model)) {
            None => BedrockModel::Claude,
            Some(model) if model.contains("amazon.nova") => BedrockModel::Nova,
            Some(_) => BedrockModel::Other,
        }
    }
}

impl EncodeTarget {
    pub(crate) fn new(profile: Profile, format: Format) -> EncodeTarget {
        EncodeTarget {
            wire: format,
            profile,
            restored_ids: HashMap::new(),
            // DeepSeek's models reject calls without their reasoning.
            reasoning: profile == Profile::Deepseek,
            refuses_reasoning: false,
            bedrock_model: BedrockModel::Claude,
            separate_instructions: false,
        }
    }
}
