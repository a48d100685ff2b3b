//! Long conversations that consist mostly of tool results: large results, images, files that are
//! read repeatedly, errors, parallel calls, reasoning. They are valid under every profile of the
//! format.

mod write;

use serde_json::{Value, json};

use crate::dialect::TestFormat;
use crate::random::Random;

/// A bare list with at least `messages` messages of the format. It ends with a question.
///
/// # Panics
///
/// On an unknown format, which is a mistake in the test.
pub fn long(format: &str, messages: usize, seed: u64) -> Value {
    let format = TestFormat::named(format).expect("the test names a known dialect");
    let mut work = LongConversation { random: Random::new(seed), count: 0 };
    let mut list = Vec::new();
    if matches!(format, TestFormat::Chat | TestFormat::Responses) {
        list.push(json!({"role": "system", "content": "You are a careful engineer."}));
    }
    while list.len() + 1 < messages {
        list.extend(write::ask(format, &work.question()));
        let steps = 3 + work.random.below(6);
        for _ in 0..steps {
            if list.len() + 3 < messages {
                list.extend(write::step(format, &work.step()));
            }
        }
        let number = work.number();
        list.extend(write::say(format, &format!("Done with part {number}: it works now.")));
    }
    list.extend(write::ask(format, "And what is left to do?"));
    Value::Array(list)
}

/// One step of the model.
struct LongStep {
    thought: String,
    text: Option<String>,
    calls: Vec<LongCall>,
}

/// A call with its result.
struct LongCall {
    id: String,
    name: &'static str,
    arguments: Value,
    answer: String,
    failed: bool,
    image: bool,
    number: usize,
}

struct LongConversation {
    random: Random,
    count: usize,
}

impl LongConversation {
    fn number(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    fn question(&mut self) -> String {
        let number = self.number();
        match self.random.below(4) {
            0 => format!("Never touch the tests of part {number}. Now look at it."),
            1 => format!("Part {number} is slow; find out why."),
            _ => format!("Please go on with part {number}."),
        }
    }

    fn step(&mut self) -> LongStep {
        let number = self.number();
        let text = self.random.chance(40).then(|| format!("Let me look ({number})."));
        let count = if self.random.chance(30) { 2 + self.random.below(3) } else { 1 };
        let calls = (0..count).map(|_| self.call()).collect();
        LongStep { thought: format!("Thought {number}: one thing at a time."), text, calls }
    }

    fn call(&mut self) -> LongCall {
        const TOOLS: [&str; 5] = ["read_file", "grep", "edit_file", "run_tests", "screenshot"];
        let number = self.number();
        let name = *self.random.pick(&TOOLS);
        // A dozen files, so that most are read more than once.
        let file = format!("src/part_{}.rs", self.random.below(12));
        let arguments = match name {
            "run_tests" => json!({"filter": format!("case {number}")}),
            "grep" => json!({"pattern": "fn main", "path": file}),
            "edit_file" => json!({"file_path": file, "old": "a", "new": format!("b{number}")}),
            _ => json!({"file_path": file}),
        };
        let failed = self.random.chance(12);
        let head = if failed { "Error: exit code 1" } else { "ok" };
        let lines = 8 + self.random.below(60);
        let mut answer = format!("{head} (answer {number})\n");
        for line in 0..lines {
            let value = self.random.bits() % 100_000;
            answer.push_str(&format!("{line:>4}  let value_{value} = \"naïve 日本 {value}\";\n"));
        }
        answer.push_str(&format!("end of answer {number}"));
        let image = name == "screenshot" && self.random.chance(70);
        // Nine letters and digits: legal everywhere.
        LongCall { id: format!("c{number:08}"), name, arguments, answer, failed, image, number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DIALECTS, PROFILES, violations};

    #[test]
    fn long_histories_are_valid_and_have_the_requested_length() {
        for format in DIALECTS {
            for seed in 0..4 {
                let list = long(format, 120, seed);
                let count = list.as_array().map_or(0, Vec::len);
                assert!((120..=126).contains(&count), "{format}: {count}");
                for profile in PROFILES {
                    let mut found = violations(format, profile, false, &list);
                    found.truncate(3);
                    assert_eq!(found, [], "{format} under {profile}");
                }
            }
        }
    }
}
