//! Three readings of the same rules that share no code: the judges, the engine, the oracle's
//! generators. Where they disagree, one of them is wrong.
//!
//! `CASES=50000` runs so many for each provider, and `TELL=1` prints every kind of disagreement with its shortest
//! case.

use std::collections::BTreeMap;

use foxwedge_core::{CheckOptions, Format, Policy, Profile, Severity, check, explain};
use foxwedge_formats::{OutlineOptions, read};
use foxwedge_scripted::{ScriptedProvider, check_request};
use foxwedge_testkit::{Random, history, sound_history};
use serde_json::{Map, Value, json};

/// What no repair of a history can mend: things outside the history, histories of nothing, things that lie
/// on a server, and values of a type that no reader expects.
const BEYOND_REPAIR: &[&str] = &[
    // Nothing to send.
    "Invalid 'messages': empty array",
    "Invalid 'input': empty array",
    "messages: at least one message is required",
    "contents is not specified",
    "Conversation must have at least one message",
    // Beside the history.
    "'tools'",
    "'tools[",
    "'model'",
    "`model` or `agent` must be set",
    // Whether it is a leftover is the client's to say.
    "must be the last item",
    // On the server.
    "Item with id 'x'",
    "Item with id 'msg_###'",
    // Odd types and missing halves of things that are neither calls nor answers.
    ".content: Input should be a valid",
    ".content: Field required",
    "thinking.thinking: Field required",
    "function_response.response' (type",
    "Invalid type for",
    "content': empty array",
    "Invalid value for 'content'",
    "Missing required parameter: 'messages[#].content",
    "Missing required parameter: 'messages[##].content",
    "Missing required parameter: 'messages[#].tool_calls[#].type'",
    "Missing required parameter: 'messages[#].tool_calls[#].custom.input'",
    "Missing required parameter: 'input[#].content'",
    "Missing required parameter: 'input[##].content'",
    "Missing required parameter: 'input[#].input'",
    "Missing required parameter: 'input[##].input'",
    "Supported values are: 'function' and 'custom'",
    "this message with role 'developer' contains an image URL",
    "this message with role 'system' contains an image URL",
    "this message with role 'assistant' contains an image URL",
    "`input` must not be empty",
];

fn excused(message: &str) -> bool {
    let digits = |letter: char| if letter.is_ascii_digit() { '#' } else { letter };
    let message: String = message.chars().map(digits).collect();
    BEYOND_REPAIR.iter().any(|known| message.contains(known))
}

fn profile(provider: ScriptedProvider) -> Profile {
    match provider {
        ScriptedProvider::OpenaiChat => Profile::OpenaiChat,
        ScriptedProvider::OpenaiResponses => Profile::OpenaiResponses,
        ScriptedProvider::Anthropic => Profile::Anthropic,
        ScriptedProvider::Gemini => Profile::Gemini,
        ScriptedProvider::GeminiInteractions => Profile::GeminiInteractions,
        ScriptedProvider::Mistral => Profile::Mistral,
        ScriptedProvider::Deepseek => Profile::Deepseek,
    }
}

fn question(provider: ScriptedProvider) -> CheckOptions {
    let question = CheckOptions::for_profile(profile(provider));
    CheckOptions { policy: Policy { allow_unsafe: true, ..question.policy }, ..question }
}

/// A request around a history, without what lies on a server.
fn request(provider: ScriptedProvider, document: Value) -> Value {
    let key = match provider.request_format() {
        Format::OpenaiResponses | Format::GeminiInteractions => "input",
        Format::Gemini => "contents",
        Format::OpenaiChat | Format::Anthropic | Format::Bedrock => "messages",
    };
    let mut body = match document {
        Value::Object(fields) => fields,
        list => Map::from_iter([(key.to_owned(), list)]),
    };
    for gone in ["previous_response_id", "previous_interaction_id", "conversation", "thread"] {
        body.remove(gone);
    }
    if let Some(Value::Array(items)) = body.get_mut("input") {
        items.retain(|item| item["type"] != "item_reference");
    }
    let named = body.get("model").and_then(Value::as_str);
    let model = match provider {
        ScriptedProvider::Mistral => "mistral-large-latest",
        ScriptedProvider::Deepseek if named == Some("deepseek-reasoner") => "deepseek-reasoner",
        ScriptedProvider::Deepseek => "deepseek-chat",
        ScriptedProvider::OpenaiChat => "gpt-5",
        ScriptedProvider::OpenaiResponses
        | ScriptedProvider::Anthropic
        | ScriptedProvider::Gemini
        | ScriptedProvider::GeminiInteractions => named.unwrap_or("scripted"),
    };
    let model = json!(model);
    body.insert("model".to_owned(), model);
    if provider == ScriptedProvider::Anthropic {
        body.insert("max_tokens".to_owned(), json!(1024));
    }
    Value::Object(body)
}

fn cases() -> u64 {
    std::env::var("CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(400)
}

/// Kinds of disagreement, how often, and the shortest case of each.
#[derive(Default)]
struct Notes(BTreeMap<String, (u64, String)>);

impl Notes {
    fn add(&mut self, provider: ScriptedProvider, what: &str, message: &str, case: String) {
        let digits = |letter: char| if letter.is_ascii_digit() { '#' } else { letter };
        let message: String = message.chars().map(digits).take(120).collect();
        let key = format!("{} {what}: {message}", provider.name());
        let entry = self.0.entry(key).or_insert_with(|| (0, case.clone()));
        entry.0 += 1;
        if case.len() < entry.1.len() {
            entry.1 = case;
        }
    }

    fn told(&self) -> String {
        let lines =
            self.0.iter().map(|(what, (count, case))| format!("{count:6} {what}\n{case}\n"));
        lines.collect()
    }
}

#[test]
fn sound_histories_are_accepted() {
    let own = [
        ScriptedProvider::OpenaiChat,
        ScriptedProvider::OpenaiResponses,
        ScriptedProvider::Anthropic,
        ScriptedProvider::Gemini,
        ScriptedProvider::GeminiInteractions,
    ];
    let mut notes = Notes::default();
    for provider in own {
        for seed in 0..cases() {
            let size = 1 + usize::try_from(seed % 14).unwrap_or(0);
            let document =
                sound_history(&mut Random::new(seed), provider.request_format().name(), size);
            let mut body = request(provider, document);
            // A bare list of the generator may end with the model, and is no request.
            if provider == ScriptedProvider::Gemini && ends_with_the_model(&body) {
                let turn = json!({"role": "user", "parts": [{"text": "go on"}]});
                body["contents"]
                    .as_array_mut()
                    .into_iter()
                    .for_each(|list| list.push(turn.clone()));
            }
            if let Some(refusal) = check_request(provider, body.to_string().as_bytes()) {
                notes.add(provider, "refused", &refusal.message, body.to_string());
            }
        }
    }
    assert_eq!(notes.told(), "");
}

fn ends_with_the_model(body: &Value) -> bool {
    let last = body["contents"].as_array().and_then(|list| list.last());
    last.is_some_and(|last| last["role"] == "model")
}

#[test]
fn what_the_engine_mends_is_accepted() {
    let mut notes = Notes::default();
    let mut excuses = Notes::default();
    let (mut refused, mut mended) = (0, 0);
    for provider in ScriptedProvider::ALL {
        let question = question(provider);
        for seed in 0..cases() {
            let size = 1 + usize::try_from(seed % 12).unwrap_or(0);
            let document = history(&mut Random::new(seed), provider.request_format().name(), size);
            let body = request(provider, document).to_string();
            let Ok(reading) =
                read(&body, provider.request_format(), OutlineOptions { arguments: false })
            else {
                continue;
            };
            // A turn with something of an unknown type is left as it is.
            if !foxwedge_core::pair_calls(&reading.draft).unknown_turns.is_empty() {
                continue;
            }
            let before = check_request(provider, body.as_bytes());
            let (patched, _) = reading.fix(&question);
            let after = patched.to_string();
            match check_request(provider, after.as_bytes()) {
                Some(refusal) if excused(&refusal.message) => {
                    excuses.add(provider, "still refused", &refusal.message, after);
                }
                Some(refusal) => {
                    notes.add(
                        provider,
                        "still refused",
                        &refusal.message,
                        format!("{body}\n{after}"),
                    );
                }
                None if before.is_some() => mended += 1,
                None => {}
            }
            refused += u64::from(before.is_some());
        }
    }
    if std::env::var_os("TELL").is_some() {
        println!("{refused} refused as they were, {mended} of them mended\n{}", excuses.told());
    }
    assert_eq!(notes.told(), "");
    assert!(mended * 10 > refused * 8, "too little is mended: {mended} of {refused}");
}

#[test]
fn what_the_engine_finds_is_refused() {
    let mut notes = Notes::default();
    let mut unexplained = Notes::default();
    for provider in ScriptedProvider::ALL {
        let question = question(provider);
        for seed in 0..cases() {
            let size = 1 + usize::try_from(seed % 12).unwrap_or(0);
            let document = history(&mut Random::new(seed), provider.request_format().name(), size);
            let body = request(provider, document).to_string();
            let Ok(reading) =
                read(&body, provider.request_format(), OutlineOptions { arguments: false })
            else {
                continue;
            };
            let report = check(&reading.draft, &question);
            let sure = report.findings.iter().filter(|it| it.severity == Severity::Error);
            let mut sure: Vec<u16> = sure.map(|finding| finding.rule.code).collect();
            let all: Vec<u16> = report.findings.iter().map(|finding| finding.rule.code).collect();
            // Searches of the server have no ids, and nobody knows what it says about their outputs.
            let searches = body.contains("tool_search_output");
            sure.retain(|code| !(stricter(provider, *code, &all) || *code == 102 && searches));
            match check_request(provider, body.as_bytes()) {
                None if !sure.is_empty() => {
                    sure.sort_unstable();
                    let codes: Vec<String> = sure.iter().map(|code| spelled(*code)).collect();
                    notes.add(provider, "not refused", &codes.join(" "), body);
                }
                Some(refusal) if !all.is_empty() => {
                    let told = explain(&refusal.body);
                    let known = told.as_ref().is_some_and(|told| {
                        all.contains(&told.code)
                            || told.other_codes.iter().any(|code| all.contains(code))
                    });
                    if !known && !excused(&refusal.message) {
                        let code = told.map(|told| told.code);
                        let what = format!("explained as {code:?}");
                        unexplained.add(
                            provider,
                            &what,
                            &refusal.message,
                            format!("{all:?} {body}"),
                        );
                    }
                }
                None | Some(_) => {}
            }
        }
    }
    if std::env::var_os("TELL").is_some() {
        println!("{}", unexplained.told());
    }
    assert_eq!(notes.told(), "");
}

/// Where the engine wants more than is known of the provider: an answer's name, thoughts in their place,
/// reasoning that was there before, an empty role, a text between a call and its answer, an answer
/// for each of two calls with one id.
fn stricter(provider: ScriptedProvider, code: u16, all: &[u16]) -> bool {
    match code {
        103 | 107 | 304 | 407 | 501 | 502 => true,
        // Ids may be left out there, and arguments be null.
        101 | 102 | 302 if provider == ScriptedProvider::Gemini => true,
        101 => all.contains(&201),
        _ => false,
    }
}

/// A code in letters, so that it is not taken for a place.
fn spelled(code: u16) -> String {
    let letter =
        |digit: char| digit.to_digit(10).map_or(digit, |digit| char::from(b'a' + digit as u8));
    code.to_string().chars().map(letter).collect()
}
