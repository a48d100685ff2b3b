//! What the readers of all formats share.

use foxwedge_core::Format;

use crate::{
    json::{JsonObject, JsonShape, JsonValue},
    model::{
        ContentPart, Loss, LossKind, LossLocation, ModelPart, ProviderError, ProviderErrorKind,
        StopReason, TokenUsage, decode, provider_errors, token_usage,
    },
};

/// A body on its way out of a format.
#[derive(Default)]
pub(super) struct ReplyBodyReader {
    pub(super) losses: Vec<Loss>,
}

impl ReplyBodyReader {
    /// Notes that something has no place in an answer, once for each sentence.
    pub(super) fn record_loss(&mut self, what: LossKind, note: impl Into<String>) {
        let loss = Loss { kind: what, location: LossLocation::Reply, note: note.into() };
        if !self.losses.contains(&loss) {
            self.losses.push(loss);
        }
    }

    /// Notes a field if it says anything.
    pub(super) fn record_field_loss(
        &mut self,
        object: &JsonObject<'_, '_>,
        key: &str,
        what: LossKind,
    ) {
        if object.get(key).is_some_and(has_content) {
            self.record_loss(what, dropped_field_note(key));
        }
    }

    /// A field, if it has the type that it should have. Any other type is noted.
    pub(super) fn get_of_shape<'t, 'a>(
        &mut self,
        object: &JsonObject<'t, 'a>,
        key: &str,
        shapes: &[JsonShape],
    ) -> Option<JsonValue<'t, 'a>> {
        let value = object.get(key).filter(|value| !value.is_null())?;
        if !shapes.contains(&value.shape()) {
            self.record_loss(
                LossKind::Unknown,
                format!("`{key}` is not what it should be and is left out"),
            );
            return None;
        }
        Some(value)
    }

    /// What the answer cost.
    pub(super) fn read_usage(
        &mut self,
        wire: Format,
        body: &JsonObject<'_, '_>,
        key: &str,
    ) -> TokenUsage {
        let figures =
            self.get_of_shape(body, key, &[JsonShape::Object]).and_then(JsonValue::object);
        figures.map(|figures| token_usage::read(wire, &figures)).unwrap_or_default()
    }
}

/// What is said of a field that is not kept.
pub(super) fn dropped_field_note(key: &str) -> String {
    format!("`{key}` is left out")
}

/// Whether a value says anything.
pub(super) fn has_content(value: JsonValue<'_, '_>) -> bool {
    !matches!(value.raw(), "null" | "[]" | "{}" | "\"\"")
}

/// The trouble that stands under `error`.
pub(super) fn read_error<'a>(wire: Format, body: &JsonObject<'_, 'a>) -> Option<ProviderError<'a>> {
    let error = body.get("error")?;
    match error.object() {
        Some(error) => Some(provider_errors::read(wire, &error)),
        None => {
            let message = decode::read_text(Some(error))?;
            Some(ProviderError { kind: ProviderErrorKind::Server, message, code: None })
        }
    }
}

/// A stop of a format that has no word of its own for calls.
pub(super) fn stop_with_calls<'a>(stop: StopReason<'a>, parts: &[ModelPart<'a>]) -> StopReason<'a> {
    let calls = parts.iter().any(|part| matches!(part.content(), ContentPart::ToolCall(_)));
    if calls && stop == StopReason::End { StopReason::ToolCalls } else { stop }
}

/// Seconds, spelled with or without a fraction.
pub(super) fn read_seconds(value: Option<JsonValue<'_, '_>>) -> Option<u64> {
    value?.number()?.split('.').next()?.parse().ok()
}
