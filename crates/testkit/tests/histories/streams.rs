//! Answers of providers from any format into any other, whole and in pieces.

mod laws;
mod bounds;
mod clients;
mod careless;
mod odd;

use foxwedge_core::Format;
use foxwedge_testkit::answers::message;

/// How a stream of a format begins.
fn opening(wire: Format) -> Vec<u8> {
    let text = match wire {
        Format::OpenaiChat => {
            "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
             \"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\
             \"finish_reason\":null}]}\n\n"
        }
        Format::OpenaiResponses => {
            "data: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"r\",\
             \"object\":\"response\",\"created_at\":1,\"model\":\"m\",\"status\":\"in_progress\",\
             \"output\":[]}}\n\n"
        }
        Format::Anthropic => {
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"a\",\
             \"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\
             \"stop_reason\":null,\"stop_sequence\":null,\
             \"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n"
        }
        Format::GeminiInteractions => {
            "data: {\"event_type\":\"interaction.created\",\"interaction\":{\"id\":\"i\",\
             \"model\":\"m\",\"status\":\"in_progress\"}}\n\n"
        }
        Format::Gemini => "",
        Format::Bedrock => return message("event", "messageStart", b"{\"role\":\"assistant\"}"),
    };
    text.as_bytes().to_vec()
}

/// How a text begins, in block zero.
fn text_begins(wire: Format) -> Vec<u8> {
    let text = match wire {
        Format::OpenaiChat | Format::Gemini | Format::Bedrock => "",
        Format::GeminiInteractions => {
            "data: {\"event_type\":\"step.start\",\"index\":0,\
             \"step\":{\"type\":\"model_output\"}}\n\n"
        }
        Format::OpenaiResponses => {
            "data: {\"type\":\"response.output_item.added\",\"sequence_number\":1,\
             \"output_index\":0,\"item\":{\"id\":\"msg_0\",\"type\":\"message\",\
             \"role\":\"assistant\",\"status\":\"in_progress\",\"content\":[]}}\n\n\
             data: {\"type\":\"response.content_part.added\",\"sequence_number\":2,\
             \"item_id\":\"msg_0\",\"output_index\":0,\"content_index\":0,\
             \"part\":{\"type\":\"output_text\",\"text\":\"\",\"annotations\":[]}}\n\n"
        }
        Format::Anthropic => {
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\
             \"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
        }
    };
    text.as_bytes().to_vec()
}

/// A piece of the text in block zero. It must need no escapes.
fn text_piece(wire: Format, text: &str) -> Vec<u8> {
    let event = match wire {
        Format::OpenaiChat => format!(
            "{{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
             \"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\
             \"finish_reason\":null}}]}}"
        ),
        Format::OpenaiResponses => format!(
            "{{\"type\":\"response.output_text.delta\",\"item_id\":\"msg_0\",\
             \"output_index\":0,\"content_index\":0,\"delta\":\"{text}\"}}"
        ),
        Format::Anthropic => format!(
            "{{\"type\":\"content_block_delta\",\"index\":0,\
             \"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}"
        ),
        Format::GeminiInteractions => format!(
            "{{\"event_type\":\"step.delta\",\"index\":0,\
             \"delta\":{{\"type\":\"text\",\"text\":\"{text}\"}}}}"
        ),
        Format::Gemini => format!(
            "{{\"candidates\":[{{\"content\":{{\"role\":\"model\",\
             \"parts\":[{{\"text\":\"{text}\"}}]}},\"index\":0}}]}}"
        ),
        Format::Bedrock => {
            let event = format!("{{\"contentBlockIndex\":0,\"delta\":{{\"text\":\"{text}\"}}}}");
            return message("event", "contentBlockDelta", event.as_bytes());
        }
    };
    format!("data: {event}\n\n").into_bytes()
}

/// How a call begins, in the block of that number.
fn call_begins(wire: Format, index: usize) -> Vec<u8> {
    let event = match wire {
        Format::OpenaiChat => format!(
            "{{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
             \"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":{index},\
             \"id\":\"call_{index}\",\"type\":\"function\",\
             \"function\":{{\"name\":\"f\",\"arguments\":\"\"}}}}]}},\"finish_reason\":null}}]}}"
        ),
        Format::OpenaiResponses => format!(
            "{{\"type\":\"response.output_item.added\",\"output_index\":{index},\
             \"item\":{{\"id\":\"fc_{index}\",\"type\":\"function_call\",\
             \"status\":\"in_progress\",\"call_id\":\"call_{index}\",\"name\":\"f\",\
             \"arguments\":\"\"}}}}"
        ),
        Format::Anthropic => format!(
            "{{\"type\":\"content_block_start\",\"index\":{index},\
             \"content_block\":{{\"type\":\"tool_use\",\"id\":\"call_{index}\",\"name\":\"f\",\
             \"input\":{{}}}}}}"
        ),
        Format::GeminiInteractions => format!(
            "{{\"event_type\":\"step.start\",\"index\":{index},\
             \"step\":{{\"type\":\"function_call\",\"id\":\"call_{index}\",\"name\":\"f\",\
             \"arguments\":{{}}}}}}"
        ),
        Format::Bedrock => {
            let event = format!(
                "{{\"contentBlockIndex\":{index},\"start\":{{\"toolUse\":{{\
                 \"toolUseId\":\"call_{index}\",\"name\":\"f\"}}}}}}"
            );
            return message("event", "contentBlockStart", event.as_bytes());
        }
        Format::Gemini => panic!("Gemini's calls come whole"),
    };
    format!("data: {event}\n\n").into_bytes()
}

/// A piece of the arguments of a call, as it is spelled inside of a JSON string.
fn call_piece(wire: Format, index: usize, text: &str) -> Vec<u8> {
    let event = match wire {
        Format::OpenaiChat => format!(
            "{{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
             \"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":{index},\
             \"function\":{{\"arguments\":\"{text}\"}}}}]}},\"finish_reason\":null}}]}}"
        ),
        Format::OpenaiResponses => format!(
            "{{\"type\":\"response.function_call_arguments.delta\",\"item_id\":\"fc_{index}\",\
             \"output_index\":{index},\"delta\":\"{text}\"}}"
        ),
        Format::Anthropic => format!(
            "{{\"type\":\"content_block_delta\",\"index\":{index},\
             \"delta\":{{\"type\":\"input_json_delta\",\"partial_json\":\"{text}\"}}}}"
        ),
        Format::GeminiInteractions => format!(
            "{{\"event_type\":\"step.delta\",\"index\":{index},\
             \"delta\":{{\"type\":\"arguments_delta\",\"arguments\":\"{text}\"}}}}"
        ),
        Format::Bedrock => {
            let event = format!(
                "{{\"contentBlockIndex\":{index},\
                 \"delta\":{{\"toolUse\":{{\"input\":\"{text}\"}}}}}}"
            );
            return message("event", "contentBlockDelta", event.as_bytes());
        }
        Format::Gemini => panic!("Gemini's calls come whole"),
    };
    format!("data: {event}\n\n").into_bytes()
}
