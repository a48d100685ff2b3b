//! `/v1/runs/{id}/answers`: what an agent asks people, and what they decide.

use foxwedge_engine::{AskKind, Decision, Fault, Kind, Question};
use foxwedge_store::RunState;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{answered::DecisionClaim, ask, json as reply};
use crate::{Reply, error, routes::Call, serve::App};

/// What somebody decides.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Decided {
    question: Option<String>,
    decision: Option<Word>,
    message: Option<String>,
    input: Option<Map<String, Value>>,
    answers: Option<Map<String, Value>>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Word {
    Allow,
    Deny,
}

/// `GET`: the questions that wait.
pub(super) async fn list(app: &App, call: &Call<'_>, id: &str) -> Result<Reply, Fault> {
    app.engine.recorder().flush().await;
    let row = ask::run(app, call, id).await?;
    let questions = app.engine.questions(&row.id).unwrap_or_default();
    let list: Vec<Value> = questions.iter().map(told).collect();
    Ok(reply(&json!({ "run": row.id, "questions": list })))
}

/// `POST`: a decision about one of them.
pub(super) async fn decide(app: &App, call: &Call<'_>, id: &str) -> Result<Reply, Fault> {
    app.engine.recorder().flush().await;
    let row = ask::run(app, call, id).await?;
    let decided: Decided = serde_json::from_slice(&call.body).map_err(|_| {
        error::bad_request(
            "an answer is {\"question\"?, \"decision\": \"allow\" or \"deny\", \"message\"?, \
             \"input\"?, \"answers\"?}",
        )
    })?;
    let questions = app.engine.questions(&row.id).unwrap_or_default();
    let said = decided.said();
    let chosen = match row.state == RunState::Open {
        true => chosen(&questions, decided.question.as_deref()),
        false => Err(conflict("run_ended", "the run has ended")),
    };
    let question = match chosen {
        Ok(question) => question,
        // What is closed by now may be closed by this very decision.
        Err(fault) => {
            let named = decided.question.as_deref();
            let nothing_open = named.is_some() || questions.is_empty();
            let before = app.answered.before(&row.id, named, &said).filter(|_| nothing_open);
            return match before {
                Some(DecisionClaim::Repeated(ticket)) => {
                    Ok(taken(&row.id, &ticket, decided.word(), true))
                }
                Some(DecisionClaim::Different) if row.state == RunState::Open => Err(closed()),
                Some(DecisionClaim::Different | DecisionClaim::First) | None => Err(fault),
            };
        }
    };
    let ticket = question.ticket.clone();
    let (decision, word) = decision(question, decided)?;
    match app.answered.claim(&row.id, &ticket, &said) {
        DecisionClaim::First => {}
        DecisionClaim::Repeated(ticket) => return Ok(taken(&row.id, &ticket, word, true)),
        DecisionClaim::Different => return Err(closed()),
    }
    if !app.engine.decide(&row.id, ticket.clone(), decision).await {
        app.answered.forget(&row.id, &ticket);
        return Err(closed());
    }
    Ok(taken(&row.id, &ticket, word, false))
}

impl Decided {
    /// The decision itself, so that it is known when it comes again.
    fn said(&self) -> Value {
        let Decided { message, input, answers, .. } = self;
        json!({ "decision": self.word(), "message": message, "input": input, "answers": answers })
    }

    fn word(&self) -> &'static str {
        match (self.decision, &self.answers) {
            (Some(Word::Deny), _) => "deny",
            (Some(Word::Allow), _) | (None, Some(_)) => "allow",
            (None, None) => "",
        }
    }
}

fn taken(run: &str, ticket: &str, decision: &str, repeated: bool) -> Reply {
    let mut told = json!({ "run": run, "question": ticket, "decision": decision });
    if repeated {
        told["repeated"] = true.into();
    }
    reply(&told)
}

fn closed() -> Fault {
    conflict("question_closed", "the question was answered otherwise, or withdrawn meanwhile")
}

/// The question that is meant.
fn chosen<'q>(questions: &'q [Question], ticket: Option<&str>) -> Result<&'q Question, Fault> {
    match (ticket, questions) {
        (Some(ticket), _) => questions
            .iter()
            .find(|question| question.ticket == ticket)
            .ok_or_else(|| Fault::new(Kind::NotFound, "question_not_found", "no such question")),
        (None, [only]) => Ok(only),
        (None, []) => Err(conflict("nothing_asked", "nothing is asked")),
        (None, _) => {
            let tickets: Vec<&str> = questions.iter().map(|one| &*one.ticket).collect();
            let words = "several questions are open: name one as `question`";
            Err(error::bad_request(words).with("questions", json!(tickets)))
        }
    }
}

fn decision(question: &Question, decided: Decided) -> Result<(Decision, &'static str), Fault> {
    let Decided { decision, message, input, answers, .. } = decided;
    let word = match (decision, &answers) {
        (Some(word), _) => word,
        (None, Some(_)) => Word::Allow,
        (None, None) => return Err(error::bad_request("`decision` is `allow` or `deny`")),
    };
    match (word, question.kind) {
        (Word::Deny, _) if input.is_some() || answers.is_some() => {
            Err(error::bad_request("a denial has no `input` and no `answers`"))
        }
        (Word::Deny, _) => {
            let message = message.unwrap_or_else(|| "The user said no.".to_owned());
            Ok((Decision::Deny { message }, "deny"))
        }
        (Word::Allow, _) if message.is_some() => {
            Err(error::bad_request("only a denial has a `message`"))
        }
        (Word::Allow, AskKind::Permission) if answers.is_some() => {
            Err(error::bad_request("this asks for a permission: it takes no `answers`"))
        }
        (Word::Allow, AskKind::Permission) => {
            Ok((Decision::Allow { input: input.map(Value::Object) }, "allow"))
        }
        (Word::Allow, AskKind::Questions) => match (answers, input) {
            (Some(answers), None) => Ok((Decision::Answers(answers), "allow")),
            (None, Some(input)) => {
                Ok((Decision::Allow { input: Some(Value::Object(input)) }, "allow"))
            }
            (None, None) => Err(error::bad_request(
                "`answers` is missing: an object from the text of each question to its answer",
            )),
            (Some(_), Some(_)) => Err(error::bad_request("give `answers` or `input`, not both")),
        },
    }
}

fn told(question: &Question) -> Value {
    let kind = match question.kind {
        AskKind::Permission => "permission",
        AskKind::Questions => "questions",
    };
    json!({
        "question": question.ticket,
        "kind": kind,
        "tool": question.tool,
        "call": question.call,
        "input": question.input,
    })
}

fn conflict(code: &'static str, words: &'static str) -> Fault {
    Fault::new(Kind::Conflict, code, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(ticket: &str, kind: AskKind) -> Question {
        let (ticket, tool, input) = (ticket.to_owned(), "Bash".to_owned(), json!({ "a": 1 }));
        Question { ticket, kind, tool, call: None, input }
    }

    /// What comes of a body, in short.
    fn said(kind: AskKind, body: &str) -> String {
        let Ok(decided) = serde_json::from_str::<Decided>(body) else { return "-".to_owned() };
        match decision(&question("t", kind), decided) {
            Ok((Decision::Allow { input }, _)) => {
                format!("allow {}", input.map_or("-".to_owned(), |input| input.to_string()))
            }
            Ok((Decision::Deny { message }, _)) => format!("deny {message}"),
            Ok((Decision::Answers(answers), _)) => {
                format!("answers {}", Value::Object(answers))
            }
            Err(fault) => fault.status().as_u16().to_string(),
        }
    }

    #[test]
    fn a_decision_is_read_or_refused() {
        use AskKind::{Permission, Questions};
        let table = [
            (Permission, r#"{"decision":"allow"}"#, "allow -"),
            (Permission, r#"{"decision":"allow","input":{"b":2}}"#, r#"allow {"b":2}"#),
            (Permission, r#"{"decision":"deny"}"#, "deny The user said no."),
            (Permission, r#"{"decision":"deny","message":"later"}"#, "deny later"),
            (Permission, r#"{"decision":"deny","input":{}}"#, "400"),
            (Permission, r#"{"decision":"allow","message":"x"}"#, "400"),
            (Permission, r#"{"decision":"allow","answers":{}}"#, "400"),
            (Permission, r"{}", "400"),
            (Permission, r#"{"decision":"maybe"}"#, "-"),
            (Permission, r#"{"decision":"allow","inptu":{}}"#, "-"),
            (Permission, r#"[]"#, "-"),
            (Questions, r#"{"answers":{"Which?":"this"}}"#, r#"answers {"Which?":"this"}"#),
            (Questions, r#"{"decision":"allow","answers":{}}"#, "answers {}"),
            (Questions, r#"{"decision":"allow"}"#, "400"),
            (Questions, r#"{"decision":"deny"}"#, "deny The user said no."),
        ];
        for (kind, body, expected) in table {
            assert_eq!(said(kind, body), expected, "{body}");
        }
    }

    #[test]
    fn the_question_that_is_meant_is_the_only_one_or_named() {
        let one = [question("a", AskKind::Permission)];
        let two = [question("a", AskKind::Permission), question("b", AskKind::Questions)];
        let told = |questions: &[Question], ticket| match chosen(questions, ticket) {
            Ok(question) => question.ticket.clone(),
            Err(fault) => fault.status().as_u16().to_string(),
        };
        assert_eq!(told(&one, None), "a");
        assert_eq!(told(&two, Some("b")), "b");
        assert_eq!(told(&two, Some("c")), "404");
        assert_eq!(told(&two, None), "400");
        assert_eq!(told(&[], None), "409");
    }
}
