//! Hostile requests.

use foxwedge_core::{Format, Profile};

use super::{HostileFormat, HostileShape, joined};

const fn request(
    name: &'static str,
    format: Format,
    profile: Profile,
    make: fn(usize) -> Vec<u8>,
) -> HostileShape {
    HostileShape { name, format: HostileFormat::Request(format, profile), make }
}

pub(super) fn shapes() -> Vec<HostileShape> {
    use Profile::{Deepseek, Strict};
    let (chat, items) = (Format::OpenaiChat, Format::OpenaiResponses);
    let (blocks, gemini, bedrock) = (Format::Anthropic, Format::Gemini, Format::Bedrock);
    let of = Profile::for_format;
    vec![
        request("half characters in one string", chat, of(chat), halves),
        request("strings of one half character", blocks, of(blocks), half_keys),
        request("calls of one id in one message", chat, of(chat), calls_of_one_id),
        request("calls of one id in many turns", chat, Strict, turns_of_one_id),
        request("answers to one call", chat, of(chat), answers_to_one_call),
        request("answers to one call before it", chat, Strict, answers_before),
        request("orphans", chat, of(chat), orphans),
        request("unanswered calls in one message", chat, of(chat), unanswered),
        request("calls answered in reverse", chat, Strict, reversed),
        request("assistants in a row", chat, Strict, assistants),
        request("assistants in a row that call", chat, Deepseek, calling_assistants),
        request("system messages", chat, Strict, systems),
        request("empty messages", chat, of(chat), empty_messages),
        request("unknown roles", chat, Strict, unknown_roles),
        request("calls without ids", chat, of(chat), without_ids),
        request("ids that differ at their end", chat, Strict, long_ids),
        request("illegal ids", chat, Profile::Mistral, illegal_ids),
        request("tool names", chat, Strict, tool_names),
        request("items: orphans", items, of(items), item_orphans),
        request("items: calls of one id", items, Strict, item_calls),
        request("items: reasoning", items, Strict, item_reasoning),
        request("items: item ids", items, of(items), item_ids),
        request("blocks in one message", blocks, of(blocks), block_texts),
        request("blocks: results in one message", blocks, of(blocks), block_results),
        request("blocks: calls and text in turn", blocks, Strict, block_mix),
        request("blocks: users in a row", blocks, Strict, block_users),
        request("blocks: results before their calls", blocks, of(blocks), block_early),
        request("blocks: thinking", blocks, of(blocks), block_thinking),
        request("blocks: server calls", blocks, of(blocks), block_servers),
        request("gemini: calls without ids", gemini, of(gemini), gemini_calls),
        request("gemini: responses of another name", gemini, of(gemini), gemini_names),
        request("gemini: turns", gemini, of(gemini), gemini_turns),
        request("bedrock: results split over messages", bedrock, of(bedrock), bedrock_split),
        request("bedrock: calls in user messages", bedrock, of(bedrock), bedrock_strays),
    ]
}

fn chat(many: usize, one: impl Fn(usize) -> String) -> Vec<u8> {
    joined("[{\"role\":\"user\",\"content\":\"go\"},", many, one, "]")
}

fn call(id: &str) -> String {
    format!(
        "{{\"id\":\"{id}\",\"type\":\"function\",\"function\":{{\"name\":\"f\",\"arguments\":\"{{}}\"}}}}"
    )
}

fn calling(id: &str) -> String {
    format!("{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{}]}}", call(id))
}

fn answer(id: &str, text: &str) -> String {
    format!("{{\"role\":\"tool\",\"tool_call_id\":\"{id}\",\"content\":\"{text}\"}}")
}

fn halves(many: usize) -> Vec<u8> {
    let text = "\\ud83d".repeat(many * 8);
    format!("{{\"model\":\"m\",\"messages\":[{{\"role\":\"user\",\"content\":\"{text}\"}}]}}")
        .into()
}

fn half_keys(many: usize) -> Vec<u8> {
    let before = "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\",\"extra\":[";
    joined(before, many, |_| "\"\\udc00\"".to_owned(), "]}]}]")
}

fn calls_of_one_id(many: usize) -> Vec<u8> {
    let before = "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[";
    joined(
        before,
        many,
        |_| call("a"),
        "]},{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"x\"}]",
    )
}

fn turns_of_one_id(many: usize) -> Vec<u8> {
    chat(many, |index| format!("{},{}", calling("a"), answer("a", &index.to_string())))
}

fn answers_to_one_call(many: usize) -> Vec<u8> {
    let before = format!("[{},", calling("a"));
    joined(&before, many, |index| answer("a", &index.to_string()), "]")
}

fn answers_before(many: usize) -> Vec<u8> {
    let behind = format!(",{}]", calling("a"));
    joined(
        "[{\"role\":\"user\",\"content\":\"go\"},",
        many,
        |at| answer("a", &at.to_string()),
        &behind,
    )
}

fn orphans(many: usize) -> Vec<u8> {
    chat(many, |index| answer(&format!("o{index}"), "x"))
}

fn unanswered(many: usize) -> Vec<u8> {
    let before = "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[";
    joined(
        before,
        many,
        |at| call(&format!("c{at}")),
        "]},{\"role\":\"user\",\"content\":\"so?\"}]",
    )
}

fn reversed(many: usize) -> Vec<u8> {
    let calls = joined(
        "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[",
        many,
        |at| call(&format!("c{at}")),
        "]},",
    );
    let before = String::from_utf8_lossy(&calls).into_owned();
    joined(&before, many, |at| answer(&format!("c{}", many - 1 - at), "x"), "]")
}

fn assistants(many: usize) -> Vec<u8> {
    chat(many, |_| "{\"role\":\"assistant\",\"content\":\"hm\"}".to_owned())
}

fn calling_assistants(many: usize) -> Vec<u8> {
    chat(many, |at| calling(&format!("c{at}")))
}

fn systems(many: usize) -> Vec<u8> {
    chat(many, |_| {
        "{\"role\":\"system\",\"content\":\"be\"},{\"role\":\"user\",\"content\":\"x\"}".to_owned()
    })
}

fn empty_messages(many: usize) -> Vec<u8> {
    chat(many, |_| "{\"role\":\"assistant\",\"content\":null}".to_owned())
}

fn unknown_roles(many: usize) -> Vec<u8> {
    chat(many, |_| "{\"role\":\"bot\",\"content\":\"x\"}".to_owned())
}

fn without_ids(many: usize) -> Vec<u8> {
    chat(many, |_| {
        "{\"role\":\"assistant\",\"tool_calls\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"content\":\"x\"}".to_owned()
    })
}

fn long_ids(many: usize) -> Vec<u8> {
    let id = |at: usize| format!("{}{at}", "i".repeat(200));
    chat(many, |at| format!("{},{}", calling(&id(at)), answer(&id(at), "x")))
}

fn illegal_ids(many: usize) -> Vec<u8> {
    let id = |at: usize| format!("call-{at}");
    chat(many, |at| format!("{},{}", calling(&id(at)), answer(&id(at), "x")))
}

fn tool_names(many: usize) -> Vec<u8> {
    chat(many, |at| {
        let call = call(&format!("c{at}")).replace("\"f\"", &format!("\"a tool {at}\""));
        format!(
            "{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{call}]}},{}",
            answer(&format!("c{at}"), "x")
        )
    })
}

fn item_orphans(many: usize) -> Vec<u8> {
    joined(
        "[",
        many,
        |at| {
            format!("{{\"type\":\"function_call_output\",\"call_id\":\"o{at}\",\"output\":\"x\"}}")
        },
        "]",
    )
}

fn item_calls(many: usize) -> Vec<u8> {
    joined(
        "[",
        many,
        |_| {
            "{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"f\",\"arguments\":\"{}\"}"
                .to_owned()
        },
        "]",
    )
}

fn item_reasoning(many: usize) -> Vec<u8> {
    joined(
        "[",
        many,
        |at| format!("{{\"type\":\"reasoning\",\"id\":\"rs_{at}\",\"summary\":[]}}"),
        "]",
    )
}

fn item_ids(many: usize) -> Vec<u8> {
    joined(
        "[",
        many,
        |at| {
            format!(
                "{{\"type\":\"message\",\"id\":\"x_{at}\",\"role\":\"assistant\",\"content\":[{{\"type\":\"output_text\",\"text\":\"a\"}}]}}"
            )
        },
        "]",
    )
}

fn block_texts(many: usize) -> Vec<u8> {
    joined(
        "[{\"role\":\"user\",\"content\":[",
        many,
        |_| "{\"type\":\"text\",\"text\":\"\"}".to_owned(),
        "]}]",
    )
}

fn result(id: &str) -> String {
    format!("{{\"type\":\"tool_result\",\"tool_use_id\":\"{id}\",\"content\":\"x\"}}")
}

fn tool_use(id: &str) -> String {
    format!("{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"f\",\"input\":{{}}}}")
}

fn block_results(many: usize) -> Vec<u8> {
    let before = format!(
        "[{{\"role\":\"assistant\",\"content\":[{}]}},{{\"role\":\"user\",\"content\":[",
        tool_use("a")
    );
    joined(&before, many, |at| result(&format!("r{at}")), "]}]")
}

fn block_mix(many: usize) -> Vec<u8> {
    let one =
        |at: usize| format!("{},{{\"type\":\"text\",\"text\":\"t\"}}", tool_use(&format!("c{at}")));
    joined(
        "[{\"role\":\"user\",\"content\":\"go\"},{\"role\":\"assistant\",\"content\":[",
        many,
        one,
        "]}]",
    )
}

fn block_users(many: usize) -> Vec<u8> {
    joined("[", many, |_| "{\"role\":\"user\",\"content\":\"x\"}".to_owned(), "]")
}

fn block_early(many: usize) -> Vec<u8> {
    joined(
        "[",
        many,
        |at| {
            format!(
                "{{\"role\":\"user\",\"content\":[{}]}},{{\"role\":\"assistant\",\"content\":[{}]}}",
                result(&format!("c{at}")),
                tool_use(&format!("c{at}"))
            )
        },
        "]",
    )
}

fn block_thinking(many: usize) -> Vec<u8> {
    joined(
        "[",
        many,
        |at| {
            format!(
                "{{\"role\":\"user\",\"content\":\"x\"}},{{\"role\":\"assistant\",\"content\":[{{\"type\":\"thinking\",\"thinking\":\"h\",\"signature\":\"\"}},{}]}}",
                tool_use(&format!("c{at}"))
            )
        },
        "]",
    )
}

fn block_servers(many: usize) -> Vec<u8> {
    let one = |at: usize| {
        format!(
            "{{\"type\":\"server_tool_use\",\"id\":\"s{at}\",\"name\":\"web_search\",\"input\":{{}}}}"
        )
    };
    joined(
        "[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"content\":[",
        many,
        one,
        "]},{\"role\":\"user\",\"content\":\"x\"}]",
    )
}

fn gemini_calls(many: usize) -> Vec<u8> {
    let one =
        |at: usize| format!("{{\"functionCall\":{{\"name\":\"f{}\",\"args\":{{}}}}}}", at % 7);
    joined(
        "[{\"role\":\"user\",\"parts\":[{\"text\":\"x\"}]},{\"role\":\"model\",\"parts\":[",
        many,
        one,
        "]},{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"f1\",\"response\":{}}}]}]",
    )
}

fn gemini_names(many: usize) -> Vec<u8> {
    let calls = joined(
        "[{\"role\":\"user\",\"parts\":[{\"text\":\"x\"}]},{\"role\":\"model\",\"parts\":[",
        many,
        |_| "{\"functionCall\":{\"name\":\"f\",\"args\":{}}}".to_owned(),
        "]},{\"role\":\"user\",\"parts\":[",
    );
    let before = String::from_utf8_lossy(&calls).into_owned();
    joined(
        &before,
        many,
        |at| {
            format!(
                "{{\"functionResponse\":{{\"id\":\"i{at}\",\"name\":\"g{at}\",\"response\":{{}}}}}}"
            )
        },
        "]}]",
    )
}

fn gemini_turns(many: usize) -> Vec<u8> {
    joined(
        "[",
        many,
        |_| {
            "{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"f\",\"args\":{}}}]}"
                .to_owned()
        },
        "]",
    )
}

fn bedrock_split(many: usize) -> Vec<u8> {
    let calls = joined(
        "[{\"role\":\"user\",\"content\":[{\"text\":\"x\"}]},{\"role\":\"assistant\",\"content\":[",
        many,
        |at| format!("{{\"toolUse\":{{\"toolUseId\":\"c{at}\",\"name\":\"f\",\"input\":{{}}}}}}"),
        "]},",
    );
    let before = String::from_utf8_lossy(&calls).into_owned();
    joined(
        &before,
        many,
        |at| {
            format!(
                "{{\"role\":\"user\",\"content\":[{{\"toolResult\":{{\"toolUseId\":\"c{at}\",\"content\":[{{\"text\":\"y\"}}]}}}}]}}"
            )
        },
        "]",
    )
}

fn bedrock_strays(many: usize) -> Vec<u8> {
    joined(
        "[",
        many,
        |at| {
            format!(
                "{{\"role\":\"user\",\"content\":[{{\"text\":\"x\"}},{{\"toolUse\":{{\"toolUseId\":\"c{at}\",\"name\":\"f\",\"input\":{{}}}}}}]}}"
            )
        },
        "]",
    )
}
