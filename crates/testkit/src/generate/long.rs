//! Long conversations in which tools do most of the talking: large answers, images, files that are
//! read again and again, failures, parallel calls, reasoning. Nothing is wrong with them, under
//! any profile that takes the format.

mod write;

use serde_json::{Value, json};

use crate::dialect::Dialect;
use crate::random::Random;

/// A bare list of `messages` messages or a few more, of the dialect. It ends with a question.
///
/// # Panics
///
/// On a dialect it does not know, which is a mistake of the test that asks.
pub fn long(dialect: &str, messages: usize, seed: u64) -> Value {
    let dialect = Dialect::named(dialect).expect("the test names a known dialect");
    let mut work = Work { random: Random::new(seed), count: 0 };
    let mut list = Vec::new();
    if matches!(dialect, Dialect::Chat | Dialect::Responses) {
        list.push(json!({"role": "system", "content": "You are a careful engineer."}));
    }
    while list.len() + 1 < messages {
        list.extend(write::ask(dialect, &work.question()));
        let steps = 3 + work.random.below(6);
        for _ in 0..steps {
            if list.len() + 3 < messages {
                list.extend(write::step(dialect, &work.step()));
            }
        }
        let number = work.number();
        list.extend(write::say(dialect, &format!("Done with part {number}: it works now.")));
    }
    list.extend(write::ask(dialect, "And what is left to do?"));
    Value::Array(list)
}

/// What the model does at once.
struct Step {
    thought: String,
    text: Option<String>,
    calls: Vec<Call>,
}

/// A call and what came back.
struct Call {
    id: String,
    name: &'static str,
    arguments: Value,
    answer: String,
    failed: bool,
    image: bool,
    number: usize,
}

struct Work {
    random: Random,
    count: usize,
}

impl Work {
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

    fn step(&mut self) -> Step {
        let number = self.number();
        let text = self.random.chance(40).then(|| format!("Let me look ({number})."));
        let count = if self.random.chance(30) { 2 + self.random.below(3) } else { 1 };
        let calls = (0..count).map(|_| self.call()).collect();
        Step { thought: format!("Thought {number}: one thing at a time."), text, calls }
    }

    fn call(&mut self) -> Call {
        const TOOLS: [&str; 5] = ["read_file", "grep", "edit_file", "run_tests", "screenshot"];
        let number = self.number();
        let name = *self.random.pick(&TOOLS);
        // A dozen files: most of them are read more than once.
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
            let word = self.random.bits() % 100_000;
            answer.push_str(&format!("{line:>4}  let value_{word} = \"naïve 日本 {word}\";\n"));
        }
        answer.push_str(&format!("end of answer {number}"));
        let image = name == "screenshot" && self.random.chance(70);
        // Nine letters and digits: legal everywhere.
        Call { id: format!("c{number:08}"), name, arguments, answer, failed, image, number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DIALECTS, PROFILES, violations};

    #[test]
    fn long_histories_are_sound_for_their_provider_and_of_the_length_asked_for() {
        for dialect in DIALECTS {
            for seed in 0..4 {
                let list = long(dialect, 120, seed);
                let count = list.as_array().map_or(0, Vec::len);
                assert!((120..=126).contains(&count), "{dialect}: {count}");
                for profile in PROFILES {
                    let mut found = violations(dialect, profile, false, &list);
                    found.truncate(3);
                    assert_eq!(found, [], "{dialect} under {profile}");
                }
            }
        }
    }
}
