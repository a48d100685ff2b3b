//! `/v1/runs/{id}/answers`: open questions and permission requests of an agent, and decisions.

use crate::{AgentQuestion, ApiError, ApiErrorKind, PermissionDecision, PermissionKind};
use foxwedge_store::RunState;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::owner::forward_to_owner;
use super::{json_reply as reply, lookup};
use crate::{
    HttpReply, api_request::ApiRequest, decisions::DecisionClaim, error,
    gateway_state::GatewayState,
};

/// The body of a decision.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct DecisionBody {
    question: Option<String>,
    decision: Option<DecisionVerdict>,
    message: Option<String>,
    input: Option<Map<String, Value>>,
    answers: Option<Map<String, Value>>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum DecisionVerdict {
    Allow,
    Deny,
}

/// `GET`: the open questions.
pub(super) async fn list(
    app: &GatewayState,
    request: &ApiRequest<'_>,
    id: &str,
) -> Result<HttpReply, ApiError> {
    app.engine.recorder().flush().await;
    let row = lookup::visible_run(app, request, id).await?;
    if let Some(reply) = forward_to_owner(app, request, &row).await {
        return Ok(reply);
    }
    let questions = app.engine.questions(&row.id).unwrap_or_default();
    let list: Vec<Value> = questions.iter().map(question_json).collect();
    Ok(reply(&json!({ "run": row.id, "questions": list })))
}

/// `POST`: decides one of them.
pub(super) async fn decide(
    app: &GatewayState,
    request: &ApiRequest<'_>,
    id: &str,
) -> Result<HttpReply, ApiError> {
    app.engine.recorder().flush().await;
    let row = lookup::visible_run(app, request, id).await?;
    if let Some(reply) = forward_to_owner(app, request, &row).await {
        return Ok(reply);
    }
    let body: DecisionBody = serde_json::from_slice(&request.body).map_err(|_| {
        error::bad_request(
            "the body must be {\"question\"?, \"decision\": \"allow\" or \"deny\", \"message\"?, \
             \"input\"?, \"answers\"?}",
        )
    })?;
    let questions = app.engine.questions(&row.id).unwrap_or_default();
    let decision_value = body.decision_value();
    let chosen = match row.state == RunState::Open {
        true => choose_question(&questions, body.question.as_deref()),
        false => Err(conflict("run_ended", "the run has ended")),
    };
    let question = match chosen {
        Ok(question) => question,
        // This very decision may have closed the question.
        Err(error) => {
            let ticket = body.question.as_deref();
            let nothing_open = ticket.is_some() || questions.is_empty();
            let earlier = app
                .answered_questions
                .earlier_claim(&row.id, ticket, &decision_value)
                .filter(|_| nothing_open);
            return match earlier {
                Some(DecisionClaim::Repeated(ticket)) => {
                    Ok(decision_reply(&row.id, &ticket, body.verdict_name(), true))
                }
                Some(DecisionClaim::Different) if row.state == RunState::Open => {
                    Err(question_closed())
                }
                Some(DecisionClaim::Different | DecisionClaim::First) | None => Err(error),
            };
        }
    };
    let ticket = question.ticket.clone();
    let (decision, verdict) = parse_decision(question, body)?;
    match app.answered_questions.claim(&row.id, &ticket, &decision_value) {
        DecisionClaim::First => {}
        DecisionClaim::Repeated(ticket) => {
            return Ok(decision_reply(&row.id, &ticket, verdict, true));
        }
        DecisionClaim::Different => return Err(question_closed()),
    }
    if !app.engine.decide(&row.id, ticket.clone(), decision).await {
        app.answered_questions.forget(&row.id, &ticket);
        return Err(question_closed());
    }
    Ok(decision_reply(&row.id, &ticket, verdict, false))
}

impl DecisionBody {
    /// The decision as a value, to recognize a repeated request.
    fn decision_value(&self) -> Value {
        let DecisionBody { message, input, answers, .. } = self;
        json!({ "decision": self.verdict_name(), "message": message, "input": input, "answers": answers })
    }

    fn verdict_name(&self) -> &'static str {
        match (self.decision, &self.answers) {
            (Some(DecisionVerdict::Deny), _) => "deny",
            (Some(DecisionVerdict::Allow), _) | (None, Some(_)) => "allow",
            (None, None) => "",
        }
    }
}

fn decision_reply(run: &str, ticket: &str, decision: &str, repeated: bool) -> HttpReply {
    let mut value = json!({ "run": run, "question": ticket, "decision": decision });
    if repeated {
        value["repeated"] = true.into();
    }
    reply(&value)
}

fn question_closed() -> ApiError {
    conflict("question_closed", "the question was answered differently or has been withdrawn")
}

/// The question with this ticket, or the only open one.
fn choose_question<'q>(
    questions: &'q [AgentQuestion],
    ticket: Option<&str>,
) -> Result<&'q AgentQuestion, ApiError> {
    match (ticket, questions) {
        (Some(ticket), _) => {
            questions.iter().find(|question| question.ticket == ticket).ok_or_else(|| {
                ApiError::new(ApiErrorKind::NotFound, "question_not_found", "no such question")
            })
        }
        (None, [only]) => Ok(only),
        (None, []) => Err(conflict("nothing_asked", "no question is open")),
        (None, _) => {
            let tickets: Vec<&str> = questions.iter().map(|one| &*one.ticket).collect();
            let message = "several questions are open: set `question` to one of them";
            Err(error::bad_request(message).with("questions", json!(tickets)))
        }
    }
}

fn parse_decision(
    question: &AgentQuestion,
    body: DecisionBody,
) -> Result<(PermissionDecision, &'static str), ApiError> {
    let DecisionBody { decision, message, input, answers, .. } = body;
    let verdict = match (decision, &answers) {
        (Some(verdict), _) => verdict,
        (None, Some(_)) => DecisionVerdict::Allow,
        (None, None) => return Err(error::bad_request("`decision` must be `allow` or `deny`")),
    };
    match (verdict, question.kind) {
        (DecisionVerdict::Deny, _) if input.is_some() || answers.is_some() => {
            Err(error::bad_request("a denial takes no `input` and no `answers`"))
        }
        (DecisionVerdict::Deny, _) => {
            let message = message.unwrap_or_else(|| "The user denied this request.".to_owned());
            Ok((PermissionDecision::Deny { message }, "deny"))
        }
        (DecisionVerdict::Allow, _) if message.is_some() => {
            Err(error::bad_request("only a denial takes a `message`"))
        }
        (DecisionVerdict::Allow, PermissionKind::Permission) if answers.is_some() => {
            Err(error::bad_request("this is a permission request: it takes no `answers`"))
        }
        (DecisionVerdict::Allow, PermissionKind::Permission) => {
            Ok((PermissionDecision::Allow { input: input.map(Value::Object) }, "allow"))
        }
        (DecisionVerdict::Allow, PermissionKind::Questions) => match (answers, input) {
            (Some(answers), None) => Ok((PermissionDecision::Answers(answers), "allow")),
            (None, Some(input)) => {
                Ok((PermissionDecision::Allow { input: Some(Value::Object(input)) }, "allow"))
            }
            (None, None) => Err(error::bad_request(
                "`answers` is missing: an object that maps each question text to its answer",
            )),
            (Some(_), Some(_)) => Err(error::bad_request("give `answers` or `input`, not both")),
        },
    }
}

fn question_json(question: &AgentQuestion) -> Value {
    let kind = match question.kind {
        PermissionKind::Permission => "permission",
        PermissionKind::Questions => "questions",
    };
    json!({
        "question": question.ticket,
        "kind": kind,
        "tool": question.tool,
        "call": question.call,
        "input": question.input,
    })
}

fn conflict(code: &'static str, message: &'static str) -> ApiError {
    ApiError::new(ApiErrorKind::Conflict, code, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(ticket: &str, kind: PermissionKind) -> AgentQuestion {
        let (ticket, tool, input) = (ticket.to_owned(), "Bash".to_owned(), json!({ "a": 1 }));
        AgentQuestion { ticket, kind, tool, call: None, input }
    }

    /// A short description of the parsed body.
    fn describe(kind: PermissionKind, body: &str) -> String {
        let Ok(body) = serde_json::from_str::<DecisionBody>(body) else { return "-".to_owned() };
        match parse_decision(&question("t", kind), body) {
            Ok((PermissionDecision::Allow { input }, _)) => {
                format!("allow {}", input.map_or("-".to_owned(), |input| input.to_string()))
            }
            Ok((PermissionDecision::Deny { message }, _)) => format!("deny {message}"),
            Ok((PermissionDecision::Answers(answers), _)) => {
                format!("answers {}", Value::Object(answers))
            }
            Err(error) => error.status().as_u16().to_string(),
        }
    }

    #[test]
    fn a_decision_is_read_or_refused() {
        use PermissionKind::{Permission, Questions};
        let table = [
            (Permission, r#"{"decision":"allow"}"#, "allow -"),
            (Permission, r#"{"decision":"allow","input":{"b":2}}"#, r#"allow {"b":2}"#),
            (Permission, r#"{"decision":"deny"}"#, "deny The user denied this request."),
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
            (Questions, r#"{"decision":"deny"}"#, "deny The user denied this request."),
        ];
        for (kind, body, expected) in table {
            assert_eq!(describe(kind, body), expected, "{body}");
        }
    }

    #[test]
    fn a_question_is_chosen_by_ticket_or_if_it_is_the_only_one() {
        let one = [question("a", PermissionKind::Permission)];
        let two =
            [question("a", PermissionKind::Permission), question("b", PermissionKind::Questions)];
        let chosen_ticket =
            |questions: &[AgentQuestion], ticket| match choose_question(questions, ticket) {
                Ok(question) => question.ticket.clone(),
                Err(error) => error.status().as_u16().to_string(),
            };
        assert_eq!(chosen_ticket(&one, None), "a");
        assert_eq!(chosen_ticket(&two, Some("b")), "b");
        assert_eq!(chosen_ticket(&two, Some("c")), "404");
        assert_eq!(chosen_ticket(&two, None), "400");
        assert_eq!(chosen_ticket(&[], None), "409");
    }
}
