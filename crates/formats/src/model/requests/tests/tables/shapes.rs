//! Response format.

use super::*;

#[test]
fn response_format_is_kept_or_reported_as_lost() {
    let schema = || json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    let open = || json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let closed = || {
        let mut schema = open();
        schema["additionalProperties"] = json!(false);
        schema
    };
    let chat =
        |inner: Value| json!({"response_format": {"type": "json_schema", "json_schema": inner}});
    let anthropic = |schema: Value| json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}});
    let gemini = |schema: Value| json!({"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": schema}});
    let bedrock = |inner: Value| json!({"outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": inner}}}});
    let lost_description =
        "setting: the description of the response schema is not supported in this format";
    let rows = vec![
        (Chat, json!({"response_format": {"type": "text"}}), Anthropic, json!({}), ""),
        (
            Chat,
            json!({"response_format": {"type": "text"}}),
            Responses,
            json!({"text": {"format": {"type": "text"}}}),
            "",
        ),
        (
            Chat,
            json!({"response_format": {"type": "json_object"}}),
            Gemini,
            json!({"generationConfig": {"responseMimeType": "application/json"}}),
            "",
        ),
        (
            Chat,
            json!({"response_format": {"type": "json_object"}}),
            Anthropic,
            json!({}),
            "setting: `response_format`: JSON output without a schema is not supported in this format",
        ),
        (
            Responses,
            json!({"text": {"format": {"type": "json_object"}}}),
            Bedrock,
            json!({}),
            "setting: `text.format`: JSON output without a schema is not supported in this format",
        ),
        (
            Chat,
            chat(json!({"name": "n", "schema": schema(), "strict": true})),
            Responses,
            json!({"text": {"format": {"type": "json_schema", "name": "n", "schema": schema(), "strict": true}}}),
            "",
        ),
        (Chat, chat(json!({"name": "n", "schema": open()})), Anthropic, anthropic(closed()), ""),
        (
            Chat,
            chat(json!({"name": "n", "description": "d", "schema": open()})),
            Anthropic,
            anthropic(closed()),
            lost_description,
        ),
        (
            Chat,
            chat(json!({"name": "n", "description": "d", "schema": open()})),
            Gemini,
            gemini(open()),
            lost_description,
        ),
        (
            Chat,
            chat(json!({"name": "n", "description": "d", "schema": {"type": "object"}})),
            Bedrock,
            bedrock(
                json!({"name": "n", "description": "d", "schema": "{\"type\":\"object\",\"additionalProperties\":false}"}),
            ),
            "",
        ),
        (
            Bedrock,
            bedrock(json!({"schema": "{\"type\": \"object\"}"})),
            Gemini,
            gemini(json!({"type": "object"})),
            "",
        ),
        (
            Bedrock,
            bedrock(json!({"schema": "{\"type\": "})),
            Gemini,
            json!({}),
            "setting: `outputConfig.textFormat` is not supported in this format",
        ),
        (
            Anthropic,
            anthropic(schema()),
            Chat,
            chat(json!({"name": "answer", "schema": schema(), "strict": true})),
            "",
        ),
        (
            Anthropic,
            json!({"output_format": {"type": "json_schema", "schema": open()}}),
            Chat,
            chat(json!({"name": "answer", "schema": open()})),
            "setting: the response schema is not enforced: only schemas that require every field and \
             allow no others are enforced in this format",
        ),
        (
            Gemini,
            json!({"generationConfig": {"responseMimeType": "application/json", "responseSchema": {"type": "STRING", "nullable": true}}}),
            Chat,
            chat(json!({"name": "answer", "schema": {"type": ["string", "null"]}})),
            "",
        ),
        (
            Gemini,
            json!({"generationConfig": {"responseMimeType": "text/plain"}}),
            Chat,
            json!({"response_format": {"type": "text"}}),
            "",
        ),
        (
            Gemini,
            json!({"generationConfig": {"responseMimeType": "text/x.enum"}}),
            Chat,
            json!({}),
            "setting: `generationConfig.responseMimeType` is not supported in this format",
        ),
    ];
    check(rows, false);
}
