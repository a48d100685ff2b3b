//! The nesting depth that the configuration allows.

use crate::{ApiError, ApiErrorKind, config::GatewayLimits};
use foxwedge_formats::position;

/// Refuses a body that is nested deeper than configured. The reader of the formats refuses what is
/// deeper than the default.
pub(super) fn check_nesting(source: &str, limits: &GatewayLimits) -> Result<(), ApiError> {
    let limit = limits.json_depth;
    if limit >= GatewayLimits::default().json_depth {
        return Ok(());
    }
    let Some(at) = first_deeper(source.as_bytes(), limit) else { return Ok(()) };
    let at = position(source.as_bytes(), at);
    let message = format!(
        "the body cannot be read: nested deeper than {limit} levels (line {}, column {})",
        at.line, at.column
    );
    Err(ApiError::new(ApiErrorKind::InvalidRequest, "invalid_body", message))
}

/// Where the first value is that is nested deeper than `limit`.
fn first_deeper(source: &[u8], limit: usize) -> Option<usize> {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in source.iter().enumerate() {
        match (byte, is_text) {
            (_, true) if is_escaped => is_escaped = false,
            (b'\\', true) => is_escaped = true,
            (b'"', _) => is_text = !is_text,
            (b'[' | b'{', false) => {
                depth += 1;
                if depth > limit {
                    return Some(at);
                }
            }
            (b']' | b'}', false) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_brackets_outside_of_texts_nest() {
        let source = br#"{"a":"[[[\"[{","b":[{}],"c":[]}"#;
        assert_eq!(first_deeper(source, 3), None);
        assert_eq!(first_deeper(source, 2), Some(20));
        assert_eq!(first_deeper(source, 1), Some(19));
    }
}
