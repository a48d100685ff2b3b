//! The rules that the steps of Gemini Interactions can break.

use super::{RuleTestRow, row};

const FORMAT: &str = "gemini-interactions";

pub(super) fn rows() -> Vec<RuleTestRow> {
    let call = |fields: &str| format!(r#"{{"type":"function_call",{fields}}}"#);
    let result = |fields: &str| format!(r#"{{"type":"function_result",{fields}}}"#);
    let pair = |call: &str, result: &str| format!("[$u,{call},{result},$a]");
    let x = call(r#""id":"x","name":"look","arguments":{}"#);
    let of_x = result(r#""call_id":"x","name":"look","result":"seen""#);
    let sound = pair(&x, &of_x);
    let own = |code, broken: &str| row(code, FORMAT, FORMAT, &sound, broken);
    let search = r#"{"type":"google_search_call","id":"s"}"#;
    let found = r#"{"type":"google_search_result","call_id":"s","result":[]}"#;
    let searched = format!("[$u,{search},{found},$a,$u]");
    let dotted = pair(
        &call(r#""id":"a.b","name":"look","arguments":{}"#),
        &result(r#""call_id":"a.b","name":"look","result":"seen""#),
    );
    vec![
        row(101, FORMAT, FORMAT, "u a[x] r[x] u", "u a[x] u"),
        row(101, FORMAT, FORMAT, "u a[x y] r[y x] u", "u a[x y] r[x] a"),
        row(102, FORMAT, FORMAT, "u a[x] r[x]", "u r[x]"),
        row(
            102,
            FORMAT,
            FORMAT,
            r#"{"input":[$r],"previous_interaction_id":"v1"}"#,
            r#"{"input":[$r],"previous_interaction_id":null}"#,
        ),
        row(103, FORMAT, FORMAT, "u a[x] r[x] u", "u a[x] u r[x]"),
        row(103, FORMAT, "openai-responses", "u a[x] u r[x]", "u r[x] a[x]"),
        row(104, FORMAT, FORMAT, "u a[x] r[x]", "u a[x] r[x] r[x]"),
        row(106, FORMAT, "strict", "[$u,$a,$c,$r]", "[$u,$c,$a,$r]"),
        own(107, &pair(&x, &result(r#""call_id":"x","name":"find","result":"seen""#))),
        row(201, FORMAT, FORMAT, "u a[x y] r[x y]", "u a[x x] r[x x]"),
        row(
            202,
            FORMAT,
            "strict",
            "u a[callid001] r[callid001] u a[callid002] r[callid002]",
            "u a[callid001] r[callid001] u a[callid001] r[callid001]",
        ),
        row(203, FORMAT, "anthropic", &sound, &dotted),
        own(204, &pair(&call(r#""name":"look","arguments":{}"#), &of_x)),
        own(204, &pair(&x, &result(r#""name":"look","result":"seen""#))),
        own(207, &pair(&call(r#""id":"x","name":"look around","arguments":{}"#), &of_x)),
        row(301, FORMAT, "strict", "u", r#"[{"type":"user_input"}]"#),
        own(302, &pair(&call(r#""id":"x","name":"look","arguments":"{}""#), &of_x)),
        own(303, &pair(&x, &result(r#""call_id":"x","name":"look""#))),
        row(314, FORMAT, FORMAT, r#"{"input":[$u],"model":"m"}"#, r#"{"input":[],"model":"m"}"#),
        own(315, &pair(&x, &result(r#""call_id":"x","name":"look","result":7"#))),
        row(
            501,
            FORMAT,
            "strict",
            r#"[$u,{"type":"thought","signature":"s"},$a]"#,
            r#"[$u,{"type":"thought","signature":"s"},$u]"#,
        ),
        row(601, FORMAT, FORMAT, &searched, &format!("[$u,{search},$u]")),
        row(602, FORMAT, FORMAT, &searched, &format!("[$u,{found},$a]")),
        row(
            603,
            FORMAT,
            FORMAT,
            r#"[$u,$c,{"type":"hologram"},$r,$a]"#,
            r#"[$u,$c,{"type":"hologram"},$u]"#,
        ),
    ]
}
