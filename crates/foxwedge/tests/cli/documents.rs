//! Conversations that the tests use, one broken history for each format.

/// A call without an answer, and an answer apart from its call.
pub(crate) const CHAT: &str = r#"{
  "model": "gpt-4o",
  "messages": [
    {"role": "user", "content": "run the tests"},
    {"role": "assistant", "content": "Sure.", "tool_calls": [
      {"id": "call_1", "type": "function", "function": {"name": "Bash", "arguments": "{}"}},
      {"id": "call_2", "type": "function", "function": {"name": "Read", "arguments": "{}"}}
    ]},
    {"role": "tool", "tool_call_id": "call_1", "content": "ok"},
    {"role": "user", "content": "测试怎么样？"},
    {"role": "assistant", "tool_calls": [
      {"id": "call_3", "type": "function", "function": {"name": "Bash", "arguments": "{}"}}
    ]},
    {"role": "user", "content": "wait"},
    {"role": "tool", "tool_call_id": "call_3", "content": "late"},
    {"role": "tool", "tool_call_id": "call_9", "content": "lost"}
  ]
}
"#;

/// A sound conversation, oddly spaced.
pub(crate) const SOUND: &str = r#"{ "messages" :[
	{"role":"user",  "content":"hi", "unknown":1.50},
  {"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}
  ,{"role":"tool","tool_call_id":"c","content":"done"}  ] }

"#;

pub(crate) const ANTHROPIC: &str = r#"[{"role":"user","content":"list files"},
 {"role":"assistant","content":[{"type":"text","text":"Let me look."},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}},{"type":"tool_use","id":"toolu_2","name":"Read","input":{}}]},
 {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a b c"}]},
 {"role":"user","content":"and now?"}]
"#;

pub(crate) const RESPONSES: &str = r#"{"model":"gpt-5","input":[{"role":"user","content":"go"},
{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
{"type":"function_call","call_id":"c2","name":"g","arguments":"{}"},
{"type":"function_call_output","call_id":"c2","output":"x"},
{"type":"function_call_output","call_id":"c7","output":"y"}]}
"#;

pub(crate) const GEMINI: &str = r#"{"contents":[{"role":"user","parts":[{"text":"weather?"}]},
{"role":"model","parts":[{"functionCall":{"name":"get_weather","args":{}}},{"functionCall":{"name":"get_time","args":{}}}]},
{"role":"user","parts":[{"functionResponse":{"name":"get_weather","response":{"t":1}}}]}]}
"#;

pub(crate) const BEDROCK: &str = r#"{"modelId":"m","messages":[{"role":"user","content":[{"text":"hi"}]},
{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"f","input":{}}}]},
{"role":"user","content":[{"text":"go on"}]}]}
"#;

/// A finding that only an unsafe fix repairs.
pub(crate) const UNSAFE: &str = r#"{"model":"claude-opus-4-6","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"assistant","content":[{"type":"text","text":"well"}]}]}
"#;

/// Every broken document with its file name.
pub(crate) const BROKEN: [(&str, &str); 5] = [
    ("chat.json", CHAT),
    ("anthropic.json", ANTHROPIC),
    ("responses.json", RESPONSES),
    ("gemini.json", GEMINI),
    ("bedrock.json", BEDROCK),
];
