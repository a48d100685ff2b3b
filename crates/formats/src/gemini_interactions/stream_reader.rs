//! Reads Interactions events: steps with a start, deltas and a stop.

use super::{
    StepKind, WIRE,
    decode::{KNOWN, range_note, read_citation},
};
use crate::{
    conversation::{LossKind, decode::unknown_fields, provider_errors, stop_reasons, token_usage},
    event::{
        BlockStart,
        emitter::EventEmitter,
        fields::{
            missing_field, non_empty_text, optional_index, optional_list, optional_object,
            optional_text, require_object,
        },
        indexed_blocks::{IndexedBlockKind, IndexedBlocks},
    },
};
use foxwedge_json::{JsonObject, ScanResult};

#[derive(Debug, Default)]
pub(crate) struct InteractionEventReader {
    blocks: IndexedBlocks,
}

impl InteractionEventReader {
    pub(crate) fn read_frame(
        &mut self,
        name: Option<&str>,
        root: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let kind = optional_text(root, "event_type")?;
        match kind.as_deref().or(name).unwrap_or_default() {
            "step.delta" => self.read_delta(root, emitter),
            "step.start" => self.start_step(root, emitter),
            "step.stop" => {
                let index = optional_index(root, "index")?.unwrap_or(self.blocks.last());
                self.blocks.close(index, emitter);
                Ok(())
            }
            "interaction.created" => {
                if let Some(interaction) = optional_object(root, "interaction")? {
                    emitter.start_from(&interaction, ["id", "model", ""])?;
                }
                emitter.ensure_started();
                Ok(())
            }
            "interaction.status_update" => {
                if let Some(usage) = optional_object(root, "usage")? {
                    emitter.usage(token_usage::read(WIRE, &usage));
                }
                Ok(())
            }
            "interaction.completed" => match optional_object(root, "interaction")? {
                Some(interaction) => self.complete(&interaction, emitter),
                None => missing_field("`interaction`"),
            },
            kind => {
                match optional_object(root, "error")? {
                    Some(error) => emitter.fail(provider_errors::read(WIRE, &error)),
                    None => emitter.unknown_event(kind),
                }
                Ok(())
            }
        }
    }

    fn start_step(
        &mut self,
        root: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let Some(step) = optional_object(root, "step")? else { return missing_field("`step`") };
        let at = optional_index(root, "index")?.unwrap_or(self.blocks.last());
        let blocks = &mut self.blocks;
        let kind = optional_text(&step, "type")?.unwrap_or_default();
        match StepKind::of(&kind) {
            StepKind::ModelOutput => {
                blocks.open(at, IndexedBlockKind::Text, BlockStart::Text, emitter);
                for content in optional_list(&step, "content")? {
                    self.read_content(Some(at), &require_object(content, "content")?, emitter)?;
                }
            }
            StepKind::Thought => {
                blocks.open(at, IndexedBlockKind::Reasoning, BlockStart::Reasoning, emitter);
                for content in optional_list(&step, "summary")? {
                    self.read_summary(Some(at), &require_object(content, "summary")?, emitter)?;
                }
                let signature = optional_text(&step, "signature")?.unwrap_or_default();
                self.blocks.add_signature(Some(at), signature, emitter)?;
            }
            StepKind::FunctionCall => {
                blocks.open_call(at, &step, "arguments", emitter)?;
                emitter.skip_call_fields(Some(unknown_fields(&step, &KNOWN)));
            }
            kind_of_step => {
                blocks.skip(at, emitter);
                let loss = match kind_of_step {
                    StepKind::ServerCall | StepKind::ServerResult => LossKind::ServerCall,
                    _ => LossKind::Unknown,
                };
                emitter.skip(loss, format!("a step `{kind}` was left out"));
            }
        }
        Ok(())
    }

    fn read_delta(
        &mut self,
        root: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let at = optional_index(root, "index")?;
        let Some(delta) = optional_object(root, "delta")? else { return missing_field("`delta`") };
        // Deltas of a skipped step are skipped silently.
        if self.blocks.get(at).is_some_and(|open| open.kind == IndexedBlockKind::Skipped) {
            return Ok(());
        }
        match &*optional_text(&delta, "type")?.unwrap_or_default() {
            "arguments_delta" => {
                let text = optional_text(&delta, "arguments")?.unwrap_or_default();
                self.blocks.add_text(at, IndexedBlockKind::Call, text, emitter)
            }
            "thought_summary" => match optional_object(&delta, "content")? {
                Some(content) => self.read_summary(at, &content, emitter),
                None => Ok(()),
            },
            "thought_signature" => {
                let signature = optional_text(&delta, "signature")?.unwrap_or_default();
                self.blocks.add_signature(at, signature, emitter)
            }
            _ => self.read_content(at, &delta, emitter),
        }
    }

    /// Adds content of the model: text, its citations. Media cannot be streamed to other formats.
    fn read_content(
        &mut self,
        at: Option<u64>,
        content: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let kind = optional_text(content, "type")?.unwrap_or_default();
        match &*kind {
            "text" | "text_annotation_delta" => {
                let text = optional_text(content, "text")?.unwrap_or_default();
                self.blocks.add_text(at, IndexedBlockKind::Text, text, emitter)?;
                for citation in optional_list(content, "annotations")? {
                    let citation = require_object(citation, "annotations")?;
                    let block = self.blocks.get_or_open(at, IndexedBlockKind::Text, emitter)?;
                    let Some(block) = block.map(|open_block| open_block.block) else { break };
                    if citation.get("end_index").is_some() {
                        let note = || range_note().into_owned();
                        emitter.skip_once(LossKind::Citation, "range", note);
                    }
                    emitter.citation(block, read_citation(&citation));
                }
            }
            kind => {
                let loss = match StepKind::of(kind) {
                    StepKind::Media => LossKind::Media,
                    _ => LossKind::Unknown,
                };
                let note = || format!("content `{kind}` of a step was left out");
                emitter.skip_once(loss, kind, note);
            }
        }
        Ok(())
    }

    fn read_summary(
        &mut self,
        at: Option<u64>,
        content: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        match optional_text(content, "text")? {
            Some(text) => self.blocks.add_text(at, IndexedBlockKind::Reasoning, text, emitter),
            None => {
                let note = || "an image in a summary of thoughts was left out".to_owned();
                emitter.skip_once(LossKind::Media, "summary", note);
                Ok(())
            }
        }
    }

    fn complete(
        &mut self,
        interaction: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        emitter.start_from(interaction, ["id", "model", ""])?;
        if let Some(usage) = optional_object(interaction, "usage")? {
            emitter.usage(token_usage::read(WIRE, &usage));
        }
        let status = non_empty_text(interaction, "status")?.unwrap_or("completed".into());
        if *status == *"failed" {
            let error = optional_list(interaction, "errors")?.next();
            let error = error.map(|error| require_object(error, "errors")).transpose()?;
            let error = error.as_ref().unwrap_or(interaction);
            emitter.fail(provider_errors::read(WIRE, error));
            return Ok(());
        }
        self.blocks.close_all(emitter);
        emitter.skip_field(interaction, "continuation_token");
        emitter.stop(stop_reasons::read(WIRE, status));
        emitter.end();
        Ok(())
    }
}
