//! What an engine is asked, and what it answers: one JSON line each.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{HistoryFormat, SuiteTrack, SuiteVector};

/// One question.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SuiteQuestion<'v> {
    /// The vector.
    pub id: &'v str,
    /// What to do.
    pub track: SuiteTrack,
    /// The format of the input.
    pub format: HistoryFormat,
    /// The provider that the history is for.
    pub profile: &'v str,
    /// The text.
    pub input: &'v str,
    /// Track `convert`: the format to write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<HistoryFormat>,
    /// Track `cut`: the number of messages that may stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<usize>,
}

impl<'v> SuiteQuestion<'v> {
    /// The question of a vector for one track and profile.
    pub fn new(vector: &'v SuiteVector, track: SuiteTrack, profile: &'v str) -> SuiteQuestion<'v> {
        let target = HistoryFormat::of_profile(profile).filter(|_| track == SuiteTrack::Convert);
        SuiteQuestion {
            id: &vector.id,
            track,
            format: vector.format,
            profile,
            input: &vector.input,
            target,
            keep: vector.keep.filter(|_| track == SuiteTrack::Cut),
        }
    }

    /// The line that an engine reads, without its line feed.
    pub fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What an engine answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EngineAnswer {
    /// Track `validate`: whether the history is valid, and the message that makes it invalid.
    Verdict {
        /// Whether it is valid.
        valid: bool,
        /// The message, if the engine names one.
        message: Option<usize>,
    },
    /// The new history, as text.
    Output(String),
    /// The engine does not do this.
    Skip(String),
    /// No answer, an error, or something that is no answer.
    Failed(String),
}

/// An answer, and the engine's name if it states one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EngineReply {
    /// The answer.
    pub answer: EngineAnswer,
    /// Name and version.
    pub engine: Option<String>,
}

/// An answer as an engine writes it.
#[derive(Deserialize)]
struct AnswerLine {
    id: String,
    engine: Option<String>,
    valid: Option<bool>,
    message: Option<usize>,
    output: Option<Value>,
    skip: Option<String>,
    error: Option<String>,
}

impl EngineReply {
    /// An answer of an engine without a name.
    pub fn new(answer: EngineAnswer) -> EngineReply {
        EngineReply { answer, engine: None }
    }

    /// Reads the line of an engine. What is no answer to the question is a failed answer.
    pub fn read(line: &str, question: &SuiteQuestion<'_>) -> EngineReply {
        let failed = |what: String| EngineReply::new(EngineAnswer::Failed(what));
        let line: AnswerLine = match serde_json::from_str(line) {
            Ok(line) => line,
            Err(error) => return failed(format!("the answer is no JSON object: {error}")),
        };
        if line.id != question.id {
            return failed(format!("the answer is for `{}`", line.id));
        }
        let answer = match (line.skip, line.error, line.output, line.valid) {
            (Some(why), ..) => EngineAnswer::Skip(why),
            (_, Some(error), ..) => EngineAnswer::Failed(format!("the engine refused: {error}")),
            (_, _, Some(Value::String(text)), _) => EngineAnswer::Output(text),
            (_, _, Some(value), _) => EngineAnswer::Output(value.to_string()),
            (_, _, None, Some(valid)) => EngineAnswer::Verdict { valid, message: line.message },
            (_, _, None, None) => {
                EngineAnswer::Failed("the answer has no valid, output, skip or error".to_owned())
            }
        };
        EngineReply { answer, engine: line.engine }
    }

    /// The line for an answer, without its line feed.
    pub fn line(&self, id: &str) -> String {
        let mut line = serde_json::json!({ "id": id });
        let mut set = |key: &str, value: Value| line[key] = value;
        match &self.answer {
            EngineAnswer::Verdict { valid, message } => {
                set("valid", Value::from(*valid));
                if let Some(message) = message {
                    set("message", Value::from(*message));
                }
            }
            EngineAnswer::Output(text) => set("output", Value::from(text.as_str())),
            EngineAnswer::Skip(why) => set("skip", Value::from(why.as_str())),
            EngineAnswer::Failed(error) => set("error", Value::from(error.as_str())),
        }
        if let Some(engine) = &self.engine {
            set("engine", Value::from(engine.as_str()));
        }
        line.to_string()
    }
}

/// An engine that can be asked: a process, or one in this program.
pub trait SuiteEngine {
    /// Answers one question.
    fn ask(&mut self, question: &SuiteQuestion<'_>) -> EngineReply;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> SuiteQuestion<'static> {
        SuiteQuestion {
            id: "V0001",
            track: SuiteTrack::Repair,
            format: HistoryFormat::AiSdkUi,
            profile: "ai-sdk",
            input: "[]",
            target: None,
            keep: None,
        }
    }

    #[test]
    fn answers_are_read_in_every_form_and_garbage_is_a_failed_answer() {
        let table = [
            (
                r#"{"id":"V0001","valid":false,"message":2}"#,
                "Verdict { valid: false, message: Some(2) }",
            ),
            (r#"{"id":"V0001","output":[1]}"#, r#"Output("[1]")"#),
            (r#"{"id":"V0001","output":"[1]"}"#, r#"Output("[1]")"#),
            (r#"{"id":"V0001","skip":"no"}"#, r#"Skip("no")"#),
            (r#"{"id":"V0001"}"#, "Failed("),
            (r#"{"id":"V0002","valid":true}"#, "Failed("),
            (r#"{"id":"V0001","valid":1}"#, "Failed("),
            ("garbage", "Failed("),
            ("", "Failed("),
        ];
        for (line, expected) in table {
            let answer = format!("{:?}", EngineReply::read(line, &question()).answer);
            assert!(answer.starts_with(expected), "{line}: {answer}");
        }
    }

    #[test]
    fn an_answer_that_is_written_is_read_as_the_same() {
        let answers = [
            EngineAnswer::Verdict { valid: true, message: None },
            EngineAnswer::Output("[]".to_owned()),
            EngineAnswer::Skip("not here".to_owned()),
        ];
        for answer in answers {
            let reply = EngineReply { answer, engine: Some("x 1".to_owned()) };
            assert_eq!(EngineReply::read(&reply.line("V0001"), &question()), reply);
        }
    }
}
