//! A request before and after its repair, message by message.

use foxwedge_core::{Format, Profile};
use foxwedge_formats::detect;
use serde_json::Value;

use super::{
    RowRange,
    conversation::ConsoleConversation,
    page::ConsolePageRows,
    repair_rows::{align_messages, row_json},
};

/// Rows that are shown of one request.
const MAX_ROWS: usize = 500;

/// The messages of a request before and after its repair, as the rows of a repair plan. `edited` has
/// the message of each edit. `None` if one of the bodies cannot be read.
pub fn request_repair_rows(
    before: &str,
    after: &str,
    format: Format,
    edited: &[usize],
) -> Option<Value> {
    // A request that was converted has another format after it.
    let format_after = detect(after).map_or(format, |detection| detection.wire);
    let read = |text: &str, format: Format| {
        ConsoleConversation::read(text.to_owned(), format, Profile::for_format(format)).ok()
    };
    let (before, after) = (read(before, format)?, read(after, format_after)?);
    let rows = align_messages(&before, &after, &[], edited);
    let page = RowRange { from: 0, limit: MAX_ROWS };
    let mut shown = ConsolePageRows::new(0);
    for row in &rows {
        if shown.is_full(page) {
            break;
        }
        shown.push(row_json(row, &before, &after));
    }
    Some(shown.into_rows())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_is_a_new_row_with_its_edit() {
        let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]}"#;
        let user = r#"{"role":"user","content":"go on"}"#;
        let result = r#"{"role":"tool","tool_call_id":"c1","content":"no result"}"#;
        let before = format!(r#"{{"model":"m","messages":[{user},{call},{user}]}}"#);
        let after = format!(r#"{{"model":"m","messages":[{user},{call},{result},{user}]}}"#);
        let rows = request_repair_rows(&before, &after, Format::OpenaiChat, &[1]).expect("rows");
        let kinds: Vec<&str> =
            rows.as_array().into_iter().flatten().filter_map(|row| row["kind"].as_str()).collect();
        assert_eq!(kinds, ["gap", "kept", "added", "kept"]);
        assert_eq!(rows[2]["edits"], serde_json::json!([0]));
        assert_eq!(rows[2]["after"]["parts"][0]["type"], "answer");
        assert_eq!(request_repair_rows("no JSON", &after, Format::OpenaiChat, &[]), None);
    }
}
