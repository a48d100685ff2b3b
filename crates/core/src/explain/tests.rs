//! Tests every wording of the catalog in every wrapping.

use super::{advice::RuleAdvice, *};

/// The catalog of wordings: the rule (0: none) and the text.
const WORDINGS: &str = include_str!("tests/wordings.txt");

fn wordings() -> impl Iterator<Item = (u16, &'static str)> {
    let lines = WORDINGS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        let (code, text) = line.split_once(' ').expect("a code and a text");
        (code.parse().expect("a code"), text.trim())
    })
}

fn code(text: &str) -> u16 {
    explain(text).map_or(0, |explanation| explanation.code)
}

/// The wrappings of a text, with their names.
fn wrappings(text: &str) -> Vec<(&'static str, String)> {
    let json = text.replace('\\', "\\\\").replace('"', "\\\"");
    let twice = json.replace('\\', "\\\\").replace('"', "\\\"");
    let python = text.replace('\\', "\\\\").replace('\'', "\\'");
    let curly = text.replace(['\'', '`'], "’").replace('"', "”");
    let html = text.replace('&', "&amp;").replace('\'', "&#39;").replace('"', "&quot;");
    let terminal = text.replace(' ', "\n     ").replace('`', "\u{1b}[2m`\u{1b}[0m");
    vec![
        ("raw", text.to_owned()),
        (
            "json envelope",
            format!(r#"{{"type":"error","error":{{"type":"e","message":"{json}"}}}}"#),
        ),
        ("json in json", format!(r#"{{"error":{{"message":"{{\"message\":\"{twice}\\n\"}}"}}}}"#)),
        ("python repr", format!("Error code: 400 - {{'error': {{'message': '{python}'}}}}")),
        ("log line", format!("2026-11-03T10:00:01Z ERROR http[812]: status=400 msg={text}")),
        ("curly quotes", curly),
        ("no quotes", text.replace(['\'', '`', '"'], "")),
        ("html", html),
        ("upper case", text.to_uppercase()),
        ("narrow terminal", terminal),
        ("underscores eaten", text.replace('_', "")),
    ]
}

#[test]
fn every_wording_in_every_wrapping_names_its_rule() {
    let mut wrong = Vec::new();
    for (expected, text) in wordings() {
        for (wrapping, wrapped) in wrappings(text) {
            let found = code(&wrapped);
            if found != expected {
                wrong.push(format!("{found} instead of {expected}, {wrapping}: {wrapped}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_wrapping_does_not_change_the_provider_or_the_index() {
    for (_, text) in wordings() {
        let plain = explain(text);
        for (wrapping, wrapped) in wrappings(text) {
            let found = explain(&wrapped);
            let key = |found: &Option<ErrorExplanation<'_>>| {
                found.as_ref().map(|it| (it.provider, it.other_codes, it.message_index))
            };
            assert_eq!(key(&found), key(&plain), "{wrapping}: {wrapped}");
        }
    }
}

#[test]
fn ids_and_places_are_read_from_the_text() {
    let table: &[(&str, &[&str], Option<usize>)] = &[
        (
            "messages.43: `tool_use` ids were found without `tool_result` blocks immediately after: \
             toolu_01AB, toolu_02CD. Each `tool_use` block must have a corresponding `tool_result` \
             block in the next message.",
            &["toolu_01AB", "toolu_02CD"],
            Some(43),
        ),
        (
            "messages.243: `tool_use` ids were found without `tool_result` blocks immediately after: \
             bash-uOQIdN0O. Each `tool_use` block",
            &["bash-uOQIdN0O"],
            Some(243),
        ),
        (
            "The following tool_call_ids did not have response messages: call_9a, call_9b",
            &["call_9a", "call_9b"],
            None,
        ),
        (
            "Expected toolResult blocks at messages.2.content for the following Ids: tooluse_jQ9, \
             tooluse_sX1",
            &["tooluse_jQ9", "tooluse_sX1"],
            Some(2),
        ),
        (
            "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. \
             (param: messages.[3].role)",
            &[],
            Some(3),
        ),
        (
            "Invalid 'messages[12].tool_calls[0].id': string too long. Expected a string with maximum \
             length 40",
            &[],
            Some(12),
        ),
        (
            "Invalid 'input[5].id': 'call_8Zk'. Expected an ID that begins with 'fc'.",
            &["call_8Zk"],
            Some(5),
        ),
        ("No tool output found for function call call_M7x.", &["call_M7x"], None),
        ("No tool call found for function call output with call_id fc_12ab.", &["fc_12ab"], None),
        (
            "Missing `reasoning_content` field in the assistant message at message index 7",
            &[],
            Some(7),
        ),
        (
            "thinking is enabled but reasoning_content is missing in assistant tool call message at \
             index 5",
            &[],
            Some(5),
        ),
        ("the message at position 3 with role 'assistant' must not be empty", &[], Some(3)),
        ("Invalid request: tool call id exec:26 is duplicated", &["exec:26"], None),
        (
            "Tool call id was functions.get:0 but must be a-z, A-Z, 0-9, with a length of 9.",
            &["functions.get:0"],
            None,
        ),
        (
            "invalid params, tool result's tool id(call_function_g094w5_1) not found (2013)",
            &["call_function_g094w5_1"],
            None,
        ),
        ("Unexpected tool call id 'abcdefghi' in tool results", &["abcdefghi"], None),
        (
            "Value '' at 'messages.2.member.content.1.member.toolUse.toolUseId' failed to satisfy \
             constraint: Member must have length greater than or equal to 1",
            &[],
            Some(1),
        ),
        (
            "[{'type': 'missing', 'loc': ('body', 'messages', 4, 'tool'), 'msg': \"Missing parameter \
             'tool_call_id'\"}]",
            &[],
            Some(4),
        ),
        (
            "Found multiple `tool_result` blocks with id: chatcmpl-tool-77f",
            &["chatcmpl-tool-77f"],
            None,
        ),
    ];
    for (text, ids, index) in table {
        let found = explain(text).unwrap_or_else(|| panic!("unknown: {text}"));
        assert_eq!((found.ids.as_slice(), found.message_index), (*ids, *index), "{text}");
        let html = text.replace('\'', "&#39;").replace('`', "&#96;");
        let found = explain(&html).unwrap_or_else(|| panic!("unknown: {html}"));
        assert_eq!(found.ids, *ids, "{html}");
    }
}

#[test]
fn an_early_id_twice_is_in_one_turn() {
    assert_eq!(code("messages.1.content.1: `tool_use` ids must be unique"), 201);
    assert_eq!(code("messages.43.content.2: `tool_use` ids must be unique"), 202);
    assert_eq!(code("`tool_use` ids must be unique"), 202);
}

#[test]
fn every_advice_names_a_command_in_both_languages() {
    for group in table::GROUPS.iter().copied().flatten() {
        let WordingMeaning::Rule { code, advice, also } = group.meaning else { continue };
        for text in [advice.en, advice.zh] {
            assert!(text.contains("`foxwedge "), "FW{code}: {text}");
            assert!(text.contains(" FILE`"), "FW{code}: {text}");
        }
        assert!(advice.en.is_ascii() && !advice.en.contains("  "), "FW{code}: {}", advice.en);
        assert!(!also.contains(&code), "FW{code} also itself");
    }
}

#[test]
fn every_row_of_the_table_can_be_reached() {
    for group in table::GROUPS.iter().copied().flatten() {
        for (provider, fragments) in group.wordings {
            let text = fragments.join(" … ").replace('#', "7");
            let (_, found) = find_group(&NormalizedText::new(&text)).expect("its own row");
            let same = match group.meaning {
                WordingMeaning::Rule { code: 202, .. } => matches!(code(&text), 201 | 202),
                WordingMeaning::Rule { code: expected, .. } => code(&text) == expected,
                WordingMeaning::Other { advice } => {
                    explain_other(&text).is_some_and(|error| error.advice == advice.en)
                }
                WordingMeaning::UnrelatedError => code(&text) == 0,
            };
            assert!(same, "{text} is taken by another rule: {}", code(&text));
            assert_eq!(found, *provider, "{text} is taken by another provider");
        }
    }
}

#[test]
fn no_text_panics_however_hostile() {
    let fragments = [
        "\\",
        "\\u",
        "\\ud83d",
        "\\u00",
        "\\x2",
        "&",
        "&amp;",
        "&#",
        "&#x110000;",
        "&#99999999;",
        "\u{1b}[",
        "\u{1b}[31",
        "messages",
        "messages.",
        "messages[",
        "99999999999999999999999",
        "tool call id",
        "blocks immediately after",
        ":",
        ",",
        "'",
        "call_",
        "toolu_1",
        "é",
        "中",
        "😀",
        "\0",
        "input[5]",
        "message at index",
        "tool_use ids must be unique",
        ".member",
        " ",
        "\n",
    ];
    // A deterministic generator: every run reads the same texts.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % 65_521).unwrap_or_default()
    };
    for _ in 0..5_000 {
        let length = next() % 12;
        let text: String = (0..length).map(|_| fragments[next() % fragments.len()]).collect();
        explain(&text);
    }
    for _ in 0..5_000 {
        let bytes: Vec<u8> = (0..next() % 64).map(|_| (next() % 256) as u8).collect();
        explain(&String::from_utf8_lossy(&bytes));
    }
    // Texts that would make a backtracking search slow.
    let tail = "tool_use ids must be unique";
    for piece in [
        "with call_id ",
        "with call_id a1,",
        "withcallid_",
        "\\u0077ith call\\u005fid",
        "&中",
        "&amp;",
        "\\",
        "\u{1b}[1",
        "messages.",
        "message at position ",
        "call_1 ",
        "'",
        ", ",
    ] {
        let text = piece.repeat(4_000) + " " + tail;
        assert_eq!(code(&text), code(tail), "{piece}");
    }
}

#[test]
fn texts_about_something_else_have_no_explanation() {
    for text in [
        "",
        "Rate limit reached for requests",
        "Invalid 'tools': array too long. Expected an array with maximum length 128",
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        "invalid params, function parameters is empty (2013)",
        "The format of the value at messages.28.content.0.toolResult.content.0.json is invalid. \
         Provide a json object for the field and try again.",
        "API 调用参数有误，请检查文档。",
        "prompt is too long: 210000 tokens > 200000 maximum",
    ] {
        assert_eq!(code(text), 0, "{text}");
    }
}

#[test]
fn errors_beside_the_history_have_advice() {
    for text in [
        "Duplicate item found with id rs_1. Remove duplicate items from your input and try again.",
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        "'messages.2' : property 'reasoning_content' is unsupported",
        "This model only supports single tool-calls at once!",
        "Thinking may not be enabled when tool_choice forces tool use.",
    ] {
        for (wrapping, wrapped) in wrappings(text) {
            assert!(explain_other(&wrapped).is_some(), "{wrapping}: {wrapped}");
        }
    }
}

#[test]
fn advice_names_the_option_without_which_the_repair_is_not_made() {
    for (text, option) in [
        ("This model does not support assistant message prefill.", "--unsafe-fixes"),
        ("Expected last role User or Tool for serving but got assistant", "--unsafe-fixes"),
        ("Model input cannot be empty", "--unsafe-fixes"),
        ("messages.43.content.2: `tool_use` ids must be unique", "--profile strict --select FW202"),
        ("Duplicate item found with id fc_1. Remove duplicate items.", "`id`"),
    ] {
        let found = explain(text).unwrap_or_else(|| panic!("unknown: {text}"));
        for advice in [found.advice, found.advice_zh] {
            assert!(advice.contains(option), "{advice}");
        }
    }
}

#[test]
fn only_a_history_that_is_too_long_is_said_to_be_too_long() {
    let gemini = "You exceeded your current quota.\n* Quota exceeded for metric: generativelanguage.\
                  googleapis.com/generate_content_free_tier_input_token_count, limit: 250000";
    let openai = "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit \
                  30000, Requested 50000. The input or output tokens must be reduced.";
    let groq = "Request too large for model `llama` in organization `o` service tier `on_demand` on \
                tokens per minute (TPM): Limit 6000, Requested 8000, please reduce your message size";
    let reply = "This model's maximum context length is 8192 tokens. However, you requested 12000 \
                 tokens (500 in the messages, 11500 in the completion). Please reduce the length of \
                 the messages or completion.";
    let messages = reply.replace("(500 ", "(8100 ").replace("11500 in", "3900 in");
    let both = "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000";
    let bytes = "request_too_large: Request exceeds the maximum allowed number of bytes.";
    let overflow = Some(&advice::CONTEXT_OVERFLOW);
    let table: [(&str, Option<&RuleAdvice>, bool); 21] = [
        (gemini, Some(&advice::RATE_LIMIT), false),
        (openai, Some(&advice::RATE_LIMIT), false),
        (groq, Some(&advice::RATE_LIMIT), false),
        (reply, Some(&advice::REPLY_LIMIT), false),
        (&messages, Some(&advice::REPLY_LIMIT), true),
        (both, Some(&advice::REPLY_LIMIT), true),
        (bytes, Some(&advice::REQUEST_BYTES), false),
        ("Context window: 12% used\nError: connect ECONNREFUSED", None, false),
        ("limit exceeded. Context window: 12%", None, false),
        ("model_context_window = 200000 in config.toml is deprecated", None, false),
        ("input is too long for a filename field", None, false),
        ("prompt is too long: 210000 tokens > 200000 maximum", overflow, true),
        ("Input is too long for requested model.", overflow, true),
        ("Your input exceeds the context window of this model.", overflow, true),
        ("Requested tokens (2054) exceed context window of 2048", overflow, true),
        ("the request exceeds the available context size", overflow, true),
        ("This model's maximum context length is 65536 tokens.", overflow, true),
        ("model_context_window_exceeded", overflow, true),
        ("invalid params, context window exceeds limit (2013)", overflow, true),
        ("The input token count (9) exceeds the maximum number of tokens", overflow, true),
        ("Codex ran out of room in the model's context window.", overflow, true),
    ];
    for (text, expected, is_overflow) in table {
        for (wrapping, wrapped) in wrappings(text) {
            let found = explain_other(&wrapped).map(|error| error.advice);
            assert_eq!(found, expected.map(|advice| advice.en), "{wrapping}: {wrapped}");
            assert_eq!(is_context_overflow(&wrapped), is_overflow, "{wrapping}: {wrapped}");
        }
    }
    assert!([gemini, openai, groq].into_iter().all(is_rate_limit));
}

#[test]
fn a_repair_is_only_promised_for_a_signature_that_is_missing() {
    for text in [
        "Corrupted thought signature.",
        "Invalid thought signature",
        "Thought signature is not valid",
    ] {
        let found = explain(text).unwrap_or_else(|| panic!("unknown: {text}"));
        assert!(found.advice.contains("cannot be seen in the file"), "{text}");
        assert!(found.advice_zh.contains("看不出来"), "{text}");
    }
    let missing = explain("Function call is missing a thought_signature").expect("known");
    assert!(!missing.advice.contains("cannot be seen"), "{}", missing.advice);
}
