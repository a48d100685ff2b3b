use foxwedge_core::Format;
use foxwedge_formats::model::decode;

use super::*;

const DOCUMENT: &str = r##"{"system":"Be kind.","messages":[
    {"role":"user","content":"Hello\n# Forged\n</main><script>alert(1)</script>"},
    {"role":"assistant","content":[
        {"type":"thinking","thinking":"Hm.\n</details>","signature":"s"},
        {"type":"text","text":"Look:\n```rust\nlet x: Vec<u8>;\n```"},
        {"type":"tool_use","id":"a","name":"bash","input":{"command":"ls\n-l","n":1.50}},
        {"type":"tool_use","id":"b","name":"shot","input":{}},
        {"type":"tool_use","id":"c","name":"open","input":{}}]},
    {"role":"user","content":[
        {"type":"tool_result","tool_use_id":"a","content":"```\n# no way out\n````\n","is_error":true},
        {"type":"tool_result","tool_use_id":"b","content":[
            {"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGVsbG8="}},
            {"type":"image","source":{"type":"base64","media_type":"image/svg+xml","data":"aGVsbG8="}}]}]},
    {"role":"assistant","content":"Done \u202e\u001b."}]}"##;

fn header() -> ExportHeader {
    ExportHeader {
        agent: "agent <x>".into(),
        session: "s-1".into(),
        project: Some("~/`code`".into()),
        messages: 4,
        calls: 3,
        notes: vec!["call `c` was never answered".into()],
        ..ExportHeader::default()
    }
}

fn export_document(
    write: fn(&ExportHeader, &foxwedge_formats::model::ModelHistory<'_>) -> String,
) -> String {
    write(&header(), &decode(DOCUMENT, Format::Anthropic).expect("readable"))
}

#[test]
fn markdown_contains_everything_in_order() {
    let expected = r#"# Conversation with agent &lt;x>

- Agent: `agent <x>`
- Session: `s-1`
- Project: `` ~/`code` ``
- Messages: `4`
- Calls: `3`

Repairs:

- call `c` was never answered

## 1. System

Be kind.

## 2. User

Hello
\# Forged
&lt;/main>&lt;script>alert(1)&lt;/script>

## 3. Assistant

<details>
<summary>Reasoning (sealed by the provider)</summary>

```text
Hm.
</details>
```

</details>

Look:

```rust
let x: Vec<u8>;
```

**Call** `bash` · id `a`

```json
{
  "command": "ls\n-l",
  "n": 1.50
}
```

**Result** of `bash` · failed

`````text
```
# no way out
````
`````

**Call** `shot` · id `b`

```json
{}
```

**Result** of `shot`

*[image, image/png, 5 bytes]*

*[image, image/svg+xml, 5 bytes]*

**Call** `open` · id `c`

```json
{}
```

**Result** of `open` · no result

Done ⟨U+202E⟩⟨ESC⟩.
"#;
    assert_eq!(export_document(markdown), expected);
}

#[test]
fn html_contains_only_its_own_tags() {
    let page = export_document(html);
    let expected = [
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\"",
        "<h1>Conversation with agent &lt;x&gt;</h1>",
        "&lt;/main&gt;&lt;script&gt;alert(1)&lt;/script&gt;",
        "<p class=\"heading\">Forged</p>",
        "let x: Vec&lt;u8&gt;;",
        "<span aria-hidden=\"true\">✕</span> failed</span>",
        "<span aria-hidden=\"true\">○</span> no result</span>",
        "<img src=\"data:image/png;base64,aGVsbG8=\" alt=\"image, image/png, 5 bytes\">",
        "Done ⟨U+202E⟩⟨ESC⟩.",
        "<li>call <code>c</code> was never answered</li>",
    ];
    for text in expected {
        assert!(page.contains(text), "{text}\n{page}");
    }
    for text in ["<script", "svg+xml;base64", "http://", "https://", "javascript:", " on"] {
        let body = page.split("</style>").nth(1).expect("a body");
        let tags: String = body.split('<').filter_map(|tag| tag.split('>').next()).collect();
        assert!(!tags.contains(text), "{text}");
    }
    assert_eq!(page.matches("<article").count(), 3);
}

/// Every tag that is opened is closed, in order.
#[test]
fn html_is_well_formed() {
    let page = export_document(html);
    let body = page.split("</head>").nth(1).expect("a body");
    let mut open = vec!["html"];
    for tag in body.split('<').skip(1) {
        let name = tag.split(|c: char| c == '>' || c.is_whitespace()).next().unwrap_or_default();
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{tag}"),
            None if name == "img" => {}
            None => open.push(name),
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

#[test]
fn json_keeps_numbers_and_order() {
    let text = export_document(json);
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["version"], 1);
    assert_eq!(value["session"]["id"], "s-1");
    assert_eq!(value["session"]["project"], "~/`code`");
    let call = &value["messages"][2]["parts"][2];
    assert_eq!(call["type"], "call");
    assert_eq!(call["arguments"]["command"], "ls\n-l");
    assert!(text.contains("1.50"), "{text}");
    let answer = &value["messages"][3]["parts"][0];
    assert_eq!((&answer["type"], &answer["error"]), (&"answer".into(), &true.into()));
    assert_eq!(value["messages"][3]["parts"][1]["parts"][0]["base64"], "aGVsbG8=");
}

#[test]
fn middle_of_long_results_is_folded() {
    let lines: Vec<String> = (1..=100).map(|line| format!("line {line}")).collect();
    let text = serde_json::to_string(&lines.join("\n")).expect("JSON");
    let document = format!(
        r#"[{{"role":"user","content":"go"}},
        {{"role":"assistant","content":null,"tool_calls":[{{"id":"a","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}},
        {{"role":"tool","tool_call_id":"a","content":{text}}}]"#
    );
    let history = decode(&document, Format::OpenaiChat).expect("readable");
    let page = html(&header(), &history);
    assert!(page.contains("<summary>84 more lines</summary>"), "{page}");
    for line in ["line 10</code>", "<code>line 11\n", "line 94</code>", "<code>line 95\n"] {
        assert!(page.contains(line), "{line}");
    }
}

#[test]
fn no_history_panics() {
    let documents =
        ["[]", "[{}]", r#"[{"role":"tool"}]"#, r#"[{"role":"user","content":[{"type":"x"}]}]"#];
    for document in documents {
        let history = decode(document, Format::OpenaiChat).expect("readable");
        for write in [markdown, html, json] {
            assert!(!write(&ExportHeader::default(), &history).is_empty());
        }
    }
}
