//! Random histories for the table of cases: valid, damaged, and damaged until they cannot be read. The
//! same seeds give the same table.

use foxwedge_testkit::{
    AiSdkList, DIALECTS, Random, accepted_history, damage_list, damaged_history, message_list,
    mutate, spelled,
};
use serde_json::{Value, json};

use super::cases::case_line;

/// Histories of each format, of each kind.
const HISTORIES: u64 = 40;
const MAX_MESSAGES: usize = 14;

/// Adds the lines of all random cases to a table.
pub(super) fn add_lines(table: &mut String) -> Result<(), String> {
    for (at, format) in DIALECTS.into_iter().enumerate() {
        for seed in 0..HISTORIES {
            let mut random = Random::new(seed ^ (at as u64) << 32);
            let size = 1 + random.below(MAX_MESSAGES);
            let valid = accepted_history(&mut random, format, size);
            let damaged = damaged_history(&mut random, format, size);
            for history in [&valid, &damaged] {
                add_document(table, &mut random, format, history)?;
            }
            add_unreadable(table, &mut random, format, &damaged)?;
        }
    }
    for kind in [AiSdkList::Ui, AiSdkList::Model] {
        for seed in 0..HISTORIES {
            add_message_lists(table, &mut Random::new(seed ^ 0xa1 << 32), kind)?;
        }
    }
    Ok(())
}

/// A request through every operation, in a random spelling.
fn add_document(
    table: &mut String,
    random: &mut Random,
    format: &str,
    history: &Value,
) -> Result<(), String> {
    let text = if random.chance(50) { spelled(random, history) } else { history.to_string() };
    let mut repairs = repair_options(random);
    for operation in ["check", "fix"] {
        // Without the format, the document is recognized.
        let mut options = repairs.clone();
        if operation == "fix" || random.chance(50) {
            options["format"] = json!(format);
        }
        add_line(table, operation, &options, &text)?;
    }
    repairs["from"] = json!(format);
    repairs["to"] = json!(random.pick(&DIALECTS));
    add_line(table, "convert", &repairs, &text)?;
    let limit = 20 + random.below(600);
    add_line(table, "compact", &json!({ "format": format, "maxTokens": limit }), &text)
}

/// A document with damage that knows no format: mostly an error, and in every language the same one.
fn add_unreadable(
    table: &mut String,
    random: &mut Random,
    format: &str,
    history: &Value,
) -> Result<(), String> {
    let bytes = mutate(history.to_string().as_bytes(), random.bits());
    // A line of the table cannot hold other bytes.
    let Ok(text) = String::from_utf8(bytes) else { return Ok(()) };
    add_line(table, "fix", &json!({ "format": format }), &text)?;
    add_line(table, "fix", &json!({}), &text)
}

fn add_message_lists(
    table: &mut String,
    random: &mut Random,
    kind: AiSdkList,
) -> Result<(), String> {
    let mut list = message_list(random, kind);
    let format = match kind {
        AiSdkList::Ui => "ai-sdk-ui",
        AiSdkList::Model => "ai-sdk-model",
    };
    let options = json!({ "format": format });
    add_line(table, "fix", &options, &Value::from(list.clone()).to_string())?;
    damage_list(random, &mut list);
    add_line(table, "fix", &options, &Value::from(list).to_string())
}

fn repair_options(random: &mut Random) -> Value {
    let mut options = json!({});
    let choices: [(&str, &[&str]); 4] = [
        ("unanswered", &["answer", "drop-turn", "drop-call"]),
        ("orphans", &["quote", "drop"]),
        ("tail", &["dead", "pending"]),
        ("language", &["en", "zh"]),
    ];
    for (name, values) in choices {
        if random.chance(30) {
            options[name] = json!(random.pick(values));
        }
    }
    if random.chance(30) {
        options["unsafeFixes"] = json!(true);
    }
    options
}

fn add_line(
    table: &mut String,
    operation: &str,
    options: &Value,
    document: &str,
) -> Result<(), String> {
    table.push_str(&case_line(operation, &options.to_string(), document)?.to_string());
    table.push('\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_cases_are_the_same_each_time_and_of_all_kinds() {
        let written = || {
            let mut table = String::new();
            add_lines(&mut table).map(|()| table)
        };
        let table = written().expect("a table");
        assert_eq!(written().as_deref(), Ok(table.as_str()));
        let lines: Vec<Value> =
            table.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let count = |is: &dyn Fn(&Value) -> bool| lines.iter().filter(|line| is(line)).count();
        assert!(lines.len() > 2000, "{}", lines.len());
        assert!(count(&|line| !line["error"].is_null()) > 100);
        for operation in ["fix", "convert", "compact"] {
            let has_result =
                |line: &Value| line["operation"] == operation && line["result"].is_string();
            assert!(count(&has_result) > 100, "{operation}");
        }
        assert!(count(&|line| line["operation"] == "fix" && line["result"].is_null()) > 100);
    }
}
