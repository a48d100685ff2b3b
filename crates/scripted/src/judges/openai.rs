//! Error messages that both of OpenAI's endpoints use.

use serde_json::Value;

use super::{JudgeObjection, JudgeResult};
use crate::json_fields::has_only;

/// A missing field.
pub(super) fn missing(param: &str) -> JudgeObjection {
    JudgeObjection::new(format!("Missing required parameter: '{param}'."))
        .at(param)
        .code("missing_required_parameter")
}

/// A field of a wrong type.
pub(super) fn wrong_type(param: &str, expected: &str, found: &Value) -> JudgeObjection {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a decimal number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    JudgeObjection::new(format!(
        "Invalid type for '{param}': expected {expected}, but got {found} instead."
    ))
    .at(param)
    .code("invalid_type")
}

/// An unknown value.
pub(super) fn wrong_value(param: &str, value: &str, known: &str) -> JudgeObjection {
    JudgeObjection::new(format!("Invalid value: '{value}'. Supported values are: {known}."))
        .at(param)
        .code("invalid_value")
}

/// An empty list.
pub(super) fn empty_array(param: &str) -> JudgeObjection {
    JudgeObjection::new(format!(
        "Invalid '{param}': empty array. Expected an array with minimum length 1, but got an empty \
         array instead."
    ))
    .at(param)
    .code("empty_array")
}

/// A list that is too long.
pub(super) fn long_array(param: &str, max: usize, length: usize) -> JudgeObjection {
    JudgeObjection::new(format!(
        "Invalid '{param}': array too long. Expected an array with maximum length {max}, but got an \
         array with length {length} instead."
    ))
    .at(param)
    .code("array_above_max_length")
}

/// Checks a required text and its length.
pub(super) fn check_string<'v>(
    value: Option<&'v Value>,
    param: &str,
    max: usize,
) -> Result<&'v str, JudgeObjection> {
    let value = value.ok_or_else(|| missing(param))?;
    let text = value.as_str().ok_or_else(|| wrong_type(param, "a string", value))?;
    if text.is_empty() {
        return Err(JudgeObjection::new(format!(
            "Invalid '{param}': empty string. Expected a string with minimum length 1, but got an \
             empty string instead."
        ))
        .at(param)
        .code("empty_string"));
    }
    let length = text.chars().count();
    if length > max {
        return Err(JudgeObjection::new(format!(
            "Invalid '{param}': string too long. Expected a string with maximum length {max}, but \
             got a string with length {length} instead."
        ))
        .at(param)
        .code("string_above_max_length"));
    }
    Ok(text)
}

/// Checks the name of a tool.
pub(super) fn check_name(value: Option<&Value>, param: &str, max: usize) -> JudgeResult {
    let name = check_string(value, param, max)?;
    if has_only(name, "_-") {
        return Ok(());
    }
    Err(JudgeObjection::new(format!(
        "Invalid '{param}': string does not match pattern. Expected a string that matches the \
         pattern '^[a-zA-Z0-9_-]+$'."
    ))
    .at(param)
    .code("invalid_value"))
}

/// Checks a number of tokens.
pub(super) fn check_token_count(request: &Value, param: &str, least: u64) -> JudgeResult {
    match request.get(param) {
        None | Some(Value::Null) => Ok(()),
        Some(value) => match value.as_i64() {
            None => Err(wrong_type(param, "an integer", value)),
            Some(count) if count < 0 || count.unsigned_abs() < least => {
                Err(JudgeObjection::new(format!(
                    "Invalid '{param}': integer below minimum value. Expected a value >= {least}, \
                     but got {count} instead."
                ))
                .at(param)
                .code("integer_below_min_value"))
            }
            Some(_) => Ok(()),
        },
    }
}
