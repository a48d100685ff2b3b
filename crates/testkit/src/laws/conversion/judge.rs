//! Judges one case.

use foxwedge_core::{
    Finding, FixApplicability, Format, OrphanPolicy, TailPolicy, UnansweredPolicy, check,
};
use foxwedge_formats::{
    OutlineOptions, ReadError,
    convert::{self, ConvertedRequest, ToolNotation, request},
    model::LossKind,
    outline_options, read, text,
};
use serde_json::Value;

use super::{
    super::{
        LONE, LawCase, LawTally,
        judge::{LawVerdict, breach},
    },
    faithful, options, target, tokens,
};
use crate::oracle::is_reference;
use crate::{DocumentGist, GistMedia, PLACEHOLDERS, all_text, declared, gist, unsaid, violations};

/// Checks all laws on a document.
///
/// # Errors
/// The name of the first broken law, and what was observed.
pub fn judge(case: &LawCase, document: &str, tally: &mut LawTally) -> LawVerdict {
    let Ok(source) = text(document.as_bytes()) else { return Ok(()) };
    let (to, options) = (target(case.profile), options(case));
    let converted = match request(source, case.wire, to, &options) {
        Ok(converted) => converted,
        Err(error) => {
            tally.unreadable += 1;
            return unreadable(case.wire, source, &error);
        }
    };
    if let Err(error) = read(source, case.wire, OutlineOptions::default()) {
        return breach("total", format!("it cannot be read, but is converted: {error}"));
    }
    for loss in &converted.losses {
        *tally.repairs.entry(loss.kind.name()).or_default() += 1;
    }
    for edit in converted.source_edits.iter().chain(&converted.target_edits) {
        *tally.findings.entry(edit.code).or_default() += 1;
    }
    // The oracle reads with serde_json, which rejects lone surrogates.
    let Ok(before) = serde_json::from_str::<Value>(&source.replace(LONE, "\\ufffd")) else {
        return breach("total", "the scanner takes what serde_json refuses");
    };
    let trial = ConversionTrial { case, source, to, options, before, converted: &converted };
    let after = trial.sound(&converted)?;
    trial.deterministic()?;
    trial.total()?;
    trial.conserving(&after)?;
    trial.idempotent(&after)?;
    trial.told_as_text()?;
    if trial.is_sound() {
        tally.sound += 1;
        faithful::judge(&trial, &after)?;
    }
    Ok(())
}

/// A document that cannot be converted cannot be read either, and the error has a valid position.
fn unreadable(format: Format, source: &str, error: &ReadError) -> LawVerdict {
    match read(source, format, OutlineOptions::default()) {
        Ok(_) => breach("total", format!("it can be read, but not converted: {error}")),
        Err(_) if error.at() > source.len() => breach("total", format!("no place: {error:?}")),
        Err(_) => Ok(()),
    }
}

/// One conversion under test.
pub(super) struct ConversionTrial<'t> {
    pub(super) case: &'t LawCase,
    pub(super) source: &'t str,
    pub(super) to: Format,
    pub(super) options: convert::ConversionOptions,
    pub(super) before: Value,
    pub(super) converted: &'t ConvertedRequest,
}

impl ConversionTrial<'_> {
    fn pending(&self) -> bool {
        self.case.policy.tail == TailPolicy::Pending
    }

    /// Whether its own provider accepts the document and the document holds the whole history.
    pub(super) fn is_sound(&self) -> bool {
        let format = self.case.wire.name();
        let elsewhere =
            ["previous_response_id", "conversation", "thread", "previous_interaction_id"]
                .iter()
                .any(|key| self.before.get(*key).is_some_and(|value| !value.is_null()));
        let refers = self.before["input"].as_array().is_some_and(|it| it.iter().any(is_reference));
        // The oracle does not know results that name their tool instead of a call.
        let older = self.before.to_string().contains("\"role\":\"function\"");
        let judged = || violations(format, format, self.pending(), &self.before);
        !elsewhere && !refers && !older && judged().is_empty()
    }

    /// The content of the source document.
    pub(super) fn said(&self) -> DocumentGist {
        gist(self.case.wire.name(), &self.before)
    }

    /// The target accepts the request: neither the engine nor the oracle finds anything.
    pub(super) fn sound(
        &self,
        converted: &ConvertedRequest,
    ) -> Result<Value, (&'static str, String)> {
        let broken = |what: String| {
            Err((
                "sound",
                format!("{what}\nbehind {:?}\n{}", converted.target_edits, converted.body),
            ))
        };
        let after: Value = match serde_json::from_str(&converted.body) {
            Ok(after) => after,
            Err(error) => return broken(format!("not JSON: {error}")),
        };
        let reading = match read(&converted.body, self.to, outline_options(self.case.profile)) {
            Ok(reading) => reading,
            Err(error) => return broken(format!("unreadable: {error}")),
        };
        // Findings that the conversion reported, and findings of a new check.
        let found = check(&reading.draft, &self.case.question()).findings;
        for findings in [&converted.remaining, &found] {
            let may = |finding: &&Finding| finding.fix.applicability != FixApplicability::None;
            let open: Vec<&str> = findings.iter().filter(may).map(|it| &*it.message).collect();
            if !open.is_empty() {
                return broken(format!("the engine finds {open:?}"));
            }
        }
        let mut judged =
            violations(self.to.name(), self.case.profile.name(), self.pending(), &after);
        // An empty history and an open call of the provider have no repair, and a refusal is content.
        let declines = converted.body.contains("\"refusal\":");
        judged.retain(|violation| !(violation.may_stay || violation.code == 301 && declines));
        if !judged.is_empty() {
            return broken(format!("the oracle finds {judged:?}"));
        }
        Ok(after)
    }

    fn deterministic(&self) -> LawVerdict {
        let again = self.again(self.source, self.case.wire, self.to, &self.options)?;
        let old = (&self.converted.body, &self.converted.losses, &self.converted.renamed);
        match (&again.body, &again.losses, &again.renamed) == old {
            true => Ok(()),
            false => breach("deterministic", again.body),
        }
    }

    /// A truncated document gives an error with a valid position.
    fn total(&self) -> LawVerdict {
        let mut cut = self.source.trim_end().len() / 2;
        while !self.source.is_char_boundary(cut) {
            cut += 1;
        }
        let head = &self.source[..cut];
        match request(head, self.case.wire, self.to, &self.options) {
            Err(error) if error.at() <= head.len() => Ok(()),
            other => breach("total", format!("cut at {cut}: {other:?}")),
        }
    }

    /// Every text and every real result is present; every setting is present or reported as lost.
    fn conserving(&self, after: &Value) -> LawVerdict {
        let losses = &self.converted.losses;
        if let Some(gone) = tokens::unset(&self.before, after, losses) {
            return breach("conserving", format!("{gone}\n{losses:?}\n{after}"));
        }
        self.says_all("conserving", self.converted, after)
    }

    /// When two messages are joined, the second keeps only its content. A refusal is not part of
    /// the content.
    pub(super) fn joins_refusals(&self, converted: &ConvertedRequest) -> bool {
        let joined = converted.target_edits.iter().any(|edit| edit.code == 402);
        joined && self.before.to_string().contains("refusal")
    }

    /// Nothing may follow a turn that is still running. If results of the target format cannot hold
    /// media, the media follows the results. That closes the turn, and the edits report what
    /// happened to its calls.
    pub(super) fn closes_turn(&self) -> bool {
        let body = &self.converted.body;
        let headed = ["[foxwedge] Media from the answer", "的结果中的媒体："];
        let settled = self.converted.target_edits.iter().any(|edit| edit.code == 101);
        self.pending() && settled && headed.iter().any(|phrase| body.contains(phrase))
    }

    fn says_all(
        &self,
        law: &'static str,
        converted: &ConvertedRequest,
        after: &Value,
    ) -> LawVerdict {
        let policy = self.case.policy;
        let drops =
            policy.unanswered != UnansweredPolicy::Answer || policy.orphans != OrphanPolicy::Quote;
        if drops || self.joins_refusals(converted) {
            return Ok(());
        }
        let losses = &converted.losses;
        let source = self.said();
        // Media may be quoted together with its result, in any form.
        let all = after.to_string();
        let unseen = source.shown().into_iter().filter(|media| {
            let holds = media.holds.split(" at ").next().unwrap_or("");
            !all.contains(holds)
        });
        let unseen: Vec<&GistMedia> = unseen.collect();
        let reported = losses.iter().filter(|loss| loss.kind == LossKind::Media).count();
        if unseen.len() > reported {
            return breach(law, format!("{unseen:?} not shown\n{losses:?}\n{after}"));
        }
        let mut missing = unsaid(&source, after);
        missing.retain(|line| !PLACEHOLDERS.iter().any(|phrase| line.contains(phrase)));
        // A reference that became text names its tool, but is no reference any more.
        let mut edits = converted.source_edits.iter().chain(converted.target_edits.iter());
        let resolves = edits.any(|edit| edit.code == 604);
        missing.retain(|line| !(resolves && line == "tool_reference"));
        match missing.is_empty() {
            true => Ok(()),
            false => {
                let edits = &converted.source_edits;
                breach(law, format!("{missing:?} not said\n{losses:?}\n{edits:?}\n{after}"))
            }
        }
    }

    /// A second conversion into the same format changes nothing.
    fn idempotent(&self, after: &Value) -> LawVerdict {
        let again = self.again(&self.converted.body, self.to, self.to, &self.options)?;
        let twice: Value = serde_json::from_str(&again.body).unwrap_or_default();
        match twice == *after && again.losses.is_empty() {
            true => Ok(()),
            false => breach(
                "idempotent",
                format!(
                    "{:?} {:?}\nonce  {after}\ntwice {twice}",
                    again.target_edits, again.losses
                ),
            ),
        }
    }

    /// With calls written as text, no call and no result remains, and none of their content is
    /// lost.
    fn told_as_text(&self) -> LawVerdict {
        let options =
            convert::ConversionOptions { tools: ToolNotation::Text, ..self.options.clone() };
        let converted = self.again(self.source, self.case.wire, self.to, &options)?;
        let after = self.sound(&converted).map_err(|(_, what)| ("told as text", what))?;
        let now = gist(self.to.name(), &without_unknown_roles(&after));
        let calls = now.calls().count() + now.orphans.len();
        let mut tools = declared(self.to.name(), &after);
        // A provider-run tool may have to be declared for its calls.
        if converted.target_edits.iter().any(|edit| edit.code == 405) {
            tools.clear();
        }
        if calls > 0 || !tools.is_empty() {
            let left = format!("{calls} calls and answers, tools {tools:?}");
            return breach("told as text", format!("{left}\n{after}"));
        }
        self.says_all("told as text", &converted, &after)?;
        if !self.is_sound() {
            return Ok(());
        }
        let all = all_text(&after);
        let source = self.said();
        let mute = source.calls().find(|call| !all.contains(&call.name));
        match mute {
            Some(call) => breach("told as text", format!("{call:?} is not told\n{after}")),
            None => Ok(()),
        }
    }

    /// A conversion that must succeed.
    pub(super) fn again(
        &self,
        source: &str,
        from: Format,
        to: Format,
        options: &convert::ConversionOptions,
    ) -> Result<ConvertedRequest, (&'static str, String)> {
        request(source, from, to, options).map_err(|error| ("total", format!("{error}\n{source}")))
    }
}

/// A document without the messages whose role no provider knows: what stands in them is left as it
/// is.
fn without_unknown_roles(document: &Value) -> Value {
    const ROLES: [&str; 7] =
        ["user", "assistant", "model", "system", "developer", "tool", "function"];
    let is_known = |message: &Value| match message.get("role") {
        Some(role) => role.as_str().is_some_and(|role| ROLES.contains(&role)),
        None => true,
    };
    let mut document = document.clone();
    match &mut document {
        Value::Array(list) => list.retain(is_known),
        document => {
            for key in ["messages", "contents", "input"] {
                let list = document.get_mut(key).and_then(Value::as_array_mut);
                list.into_iter().for_each(|list| list.retain(is_known));
            }
        }
    }
    document
}
