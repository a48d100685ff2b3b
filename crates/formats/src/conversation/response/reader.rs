//! State and functions that the response readers of all formats share.

use foxwedge_core::Format;

use crate::conversation::{
    ContentPart, Loss, LossKind, LossLocation, ModelPart, ProviderError, ProviderErrorKind,
    StopReason, TokenUsage, decode, provider_errors, token_usage,
};
use foxwedge_json::{JsonObject, JsonShape, JsonValue};

/// Reads a response body.
#[derive(Default)]
pub(crate) struct ReplyBodyReader {
    pub(crate) losses: Vec<Loss>,
}

impl ReplyBodyReader {
    /// Records a loss, once for each note.
    pub(crate) fn record_loss(&mut self, kind: LossKind, note: impl Into<String>) {
        let loss = Loss { kind, location: LossLocation::Reply, note: note.into() };
        if !self.losses.contains(&loss) {
            self.losses.push(loss);
        }
    }

    /// Records the loss of a field unless it is empty.
    pub(crate) fn record_field_loss(
        &mut self,
        object: &JsonObject<'_, '_>,
        key: &str,
        kind: LossKind,
    ) {
        if object.get(key).is_some_and(has_content) {
            self.record_loss(kind, dropped_field_note(key));
        }
    }

    /// A field, if it has the expected type. Any other type is recorded as a loss.
    pub(crate) fn get_of_shape<'t, 'a>(
        &mut self,
        object: &JsonObject<'t, 'a>,
        key: &str,
        shapes: &[JsonShape],
    ) -> Option<JsonValue<'t, 'a>> {
        let value = object.get(key).filter(|value| !value.is_null())?;
        if !shapes.contains(&value.shape()) {
            self.record_loss(
                LossKind::Unknown,
                format!("`{key}` has the wrong type and is left out"),
            );
            return None;
        }
        Some(value)
    }

    /// Reads the token usage.
    pub(crate) fn read_usage(
        &mut self,
        format: Format,
        body: &JsonObject<'_, '_>,
        key: &str,
    ) -> TokenUsage {
        let usage = self.get_of_shape(body, key, &[JsonShape::Object]).and_then(JsonValue::object);
        usage.map(|usage| token_usage::read(format, &usage)).unwrap_or_default()
    }
}

/// The note about a dropped field.
pub(crate) fn dropped_field_note(key: &str) -> String {
    format!("`{key}` is left out")
}

/// Whether a value is not empty.
pub(crate) fn has_content(value: JsonValue<'_, '_>) -> bool {
    !matches!(value.raw(), "null" | "[]" | "{}" | "\"\"")
}

/// Reads the error object under `error`.
pub(crate) fn read_error<'a>(
    format: Format,
    body: &JsonObject<'_, 'a>,
) -> Option<ProviderError<'a>> {
    let error = body.get("error")?;
    match error.object() {
        Some(error) => Some(provider_errors::read(format, &error)),
        None => {
            let message = decode::read_text(Some(error))?;
            let error = ProviderError { kind: ProviderErrorKind::Server, message, code: None };
            Some(provider_errors::recognize_overflow(error))
        }
    }
}

/// The stop reason in a format that has no separate stop reason for calls.
pub(crate) fn stop_with_calls<'a>(stop: StopReason<'a>, parts: &[ModelPart<'a>]) -> StopReason<'a> {
    let calls = parts.iter().any(|part| matches!(part.content(), ContentPart::ToolCall(_)));
    if calls && stop == StopReason::End { StopReason::ToolCalls } else { stop }
}

/// Reads seconds, with or without a fraction.
pub(crate) fn read_seconds(value: Option<JsonValue<'_, '_>>) -> Option<u64> {
    value?.number()?.split('.').next()?.parse().ok()
}
