//! Live verdicts: what a provider itself says to a vector, and how that becomes evidence.

use std::collections::BTreeMap;

use foxwedge_core::{Format, Severity, check, explain, explain_other};
use foxwedge_formats::model::{ModelResponse, decode_reply};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    HistoryFormat, HistoryReading, ItemContent, ProfileRules, QuestionFilter, REVISION, SuiteTrack,
    SuiteVector, SuiteVerdict,
};

/// Longest error text in a verdict file, in characters.
const MAX_ERROR: usize = 300;
/// Words of this length that hold letters and digits may be secrets.
const MIN_SECRET: usize = 12;
/// The fewest output tokens that OpenAI's Responses API accepts.
const MIN_RESPONSES_TOKENS: u64 = 16;

/// A request that asks a provider about one vector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProbeRequest {
    /// The vector.
    pub id: String,
    /// Its format.
    pub format: Format,
    /// The body.
    pub body: String,
    /// Tokens of the body, counted as one for three bytes, which is more than there are.
    pub input_tokens: u64,
    /// Tokens that the reply may have.
    pub output_tokens: u64,
}

/// The verdicts of one provider: what `foxwedge probe` writes and `foxwedge probe merge` reads. It
/// holds no key, no header and no reply.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeFile {
    /// The revision of the suite.
    pub suite: String,
    /// The profile.
    pub provider: String,
    /// The model that was asked.
    pub model: String,
    /// The day, as `2026-11-18`.
    pub date: String,
    /// Whether a gateway was in between that may repair requests. Then it is no evidence.
    #[serde(default)]
    pub gateway: bool,
    /// The verdicts.
    pub verdicts: Vec<ProbeVerdict>,
}

/// What a provider said to one vector.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeVerdict {
    /// The vector.
    pub id: String,
    /// The HTTP status.
    pub status: u16,
    /// What it means.
    pub outcome: ProbeOutcome,
    /// The clause that the error text names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The error text, shortened, without words that may be secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What a response means for a history.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeOutcome {
    /// The provider replied.
    Accepted,
    /// The provider refused the history.
    Refused,
    /// Neither: a quota, a key, an outage, a setting.
    Undecided,
}

/// A line of `evidence.tsv` about one vector.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ProbeEvidence {
    /// The vector.
    pub id: String,
    /// The profile.
    pub profile: String,
    /// The month.
    pub seen: String,
    /// Outcome, model and error text.
    pub text: String,
}

impl ProbeRequest {
    /// The request for a vector.
    ///
    /// # Errors
    /// Why the vector cannot be asked: its format has no request, or the request would have other
    /// defects than the vector.
    pub fn new(vector: &SuiteVector, profile: &str, model: &str) -> Result<ProbeRequest, String> {
        let HistoryFormat::Provider(format) = vector.format else {
            return Err("the format is that of a library".to_owned());
        };
        let rules = ProfileRules::new(vector.format, profile).ok_or("the profile is not known")?;
        if rules.with_draft(&vector.input, |draft| draft.body.stateful)? {
            return Err("it continues what is stored at the provider".to_owned());
        }
        let (body, output_tokens) = request_body(vector, format, profile, model, &rules)?;
        if defects(&rules, &body)? != defects(&rules, &vector.input)? {
            return Err("as a request to this model it has other defects".to_owned());
        }
        let input_tokens = (body.len() as u64).div_ceil(3);
        Ok(ProbeRequest { id: vector.id.clone(), format, body, input_tokens, output_tokens })
    }
}

/// The vectors that a probe asks about: those of the filter, or without one the shortest valid and
/// the shortest invalid vector of each clause.
pub fn probe_vectors<'v>(
    vectors: &'v [SuiteVector],
    profile: &str,
    filter: &QuestionFilter,
    all: bool,
) -> Vec<&'v SuiteVector> {
    let asked = vectors.iter().filter(|vector| {
        vector.verdicts.contains_key(profile) && filter.takes(vector, SuiteTrack::Validate, profile)
    });
    let asked = asked.filter(|vector| vector.tracks.contains(&SuiteTrack::Validate));
    if all || !filter.ids.is_empty() {
        return asked.collect();
    }
    let mut shortest: BTreeMap<(&str, bool), &SuiteVector> = BTreeMap::new();
    for vector in asked {
        let valid = match vector.verdicts.get(profile).map(|known| known.verdict) {
            Some(SuiteVerdict::Valid) => true,
            Some(SuiteVerdict::Invalid) => false,
            Some(SuiteVerdict::Acceptable | SuiteVerdict::Unknown) | None => continue,
        };
        let entry = shortest.entry((&vector.clause, valid)).or_insert(vector);
        if vector.input.len() < entry.input.len() {
            *entry = vector;
        }
    }
    let mut chosen: Vec<&SuiteVector> = shortest.into_values().collect();
    chosen.sort_by(|one, two| one.id.cmp(&two.id));
    chosen
}

impl ProbeVerdict {
    /// Reads a response. Words of the error text that may be secrets are left out unless the
    /// request holds them.
    pub fn of(request: &ProbeRequest, status: u16, body: &str) -> ProbeVerdict {
        let error = error_text(body);
        let cause = explain(&error).map(|explanation| format!("FW{}", explanation.code));
        let outcome = match status {
            200..300 if is_reply(body, request.format) => ProbeOutcome::Accepted,
            400 | 422 if explain_other(&error).is_none() => ProbeOutcome::Refused,
            _ => ProbeOutcome::Undecided,
        };
        let refused = outcome == ProbeOutcome::Refused;
        ProbeVerdict {
            id: request.id.clone(),
            status,
            outcome,
            cause: cause.filter(|_| refused),
            error: refused.then(|| redacted(&error, &request.body)),
        }
    }

    /// How the verdict of a provider contradicts that of the vector, if it does.
    pub fn contradiction(&self, vector: &SuiteVector, profile: &str) -> Option<String> {
        let known = vector.verdicts.get(profile)?;
        contradicts(known.verdict, self.outcome)
            .then(|| format!("{} is {:?}, but {profile} {}", self.id, known.verdict, self.words()))
    }

    fn words(&self) -> &'static str {
        match self.outcome {
            ProbeOutcome::Accepted => "accepted it",
            ProbeOutcome::Refused => "refused it",
            ProbeOutcome::Undecided => "did not decide",
        }
    }
}

/// Whether a verdict of the suite and what a provider said cannot both be right. A vector without
/// evidence is one that a rule of ours objects to.
pub fn contradicts(verdict: SuiteVerdict, outcome: ProbeOutcome) -> bool {
    match (verdict, outcome) {
        (SuiteVerdict::Invalid | SuiteVerdict::Unknown, ProbeOutcome::Accepted)
        | (SuiteVerdict::Valid, ProbeOutcome::Refused) => true,
        (SuiteVerdict::Valid, ProbeOutcome::Accepted)
        | (SuiteVerdict::Invalid | SuiteVerdict::Unknown, ProbeOutcome::Refused)
        | (SuiteVerdict::Acceptable, _)
        | (_, ProbeOutcome::Undecided) => false,
    }
}

impl ProbeFile {
    /// The lines of evidence in a file.
    ///
    /// # Errors
    /// If it belongs to another revision, came through a gateway, or a field cannot be right.
    pub fn evidence(&self, vectors: &[SuiteVector]) -> Result<Vec<ProbeEvidence>, String> {
        if self.suite != REVISION {
            return Err(format!("it belongs to the revision {} of the suite", self.suite));
        }
        if self.gateway {
            return Err("a gateway answered, which may have repaired the requests".to_owned());
        }
        let seen = month(&self.date).ok_or("its date is not of the form 2026-11-18")?;
        let model: String = self.model.chars().filter(|c| !c.is_control()).take(80).collect();
        let mut lines = Vec::new();
        for verdict in &self.verdicts {
            let vector = vectors.iter().find(|vector| vector.id == verdict.id);
            let known = vector.is_some_and(|it| it.verdicts.contains_key(&self.provider));
            if !known {
                return Err(format!("{} is no vector for {}", verdict.id, self.provider));
            }
            let text = match verdict.outcome {
                ProbeOutcome::Accepted => format!("accepted by {model}"),
                ProbeOutcome::Refused => {
                    let error = redacted(verdict.error.as_deref().unwrap_or_default(), "");
                    format!("refused by {model} with {}: {error}", verdict.status)
                }
                ProbeOutcome::Undecided => continue,
            };
            lines.push(ProbeEvidence {
                id: verdict.id.clone(),
                profile: self.provider.clone(),
                seen: seen.to_owned(),
                text,
            });
        }
        Ok(lines)
    }
}

impl ProbeEvidence {
    /// Reads a line of `evidence.tsv`; `None` if it is about a clause.
    pub fn read(line: &str) -> Option<ProbeEvidence> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [id, profile, _, seen, text] = fields.as_slice() else { return None };
        let is_vector = id.strip_prefix('V').is_some_and(|rest| rest.parse::<u32>().is_ok());
        is_vector.then(|| ProbeEvidence {
            id: (*id).to_owned(),
            profile: (*profile).to_owned(),
            seen: (*seen).to_owned(),
            text: (*text).to_owned(),
        })
    }

    /// What the provider said.
    pub fn outcome(&self) -> ProbeOutcome {
        match self.text.split(' ').next() {
            Some("accepted") => ProbeOutcome::Accepted,
            Some("refused") => ProbeOutcome::Refused,
            _ => ProbeOutcome::Undecided,
        }
    }

    fn line(&self) -> String {
        let ProbeEvidence { id, profile, seen, text } = self;
        format!("{id}\t{profile}\trecorded exchange\t{seen}\t{text}\n")
    }
}

/// The table of evidence with new lines. A newer line about the same vector and profile replaces
/// an older one.
pub fn merge_evidence(table: &str, new: &[ProbeEvidence]) -> String {
    let mut lines: BTreeMap<(String, String), ProbeEvidence> = BTreeMap::new();
    let mut merged = String::new();
    for line in table.lines() {
        match ProbeEvidence::read(line) {
            Some(old) => drop(lines.insert((old.id.clone(), old.profile.clone()), old)),
            None => merged.extend([line, "\n"]),
        }
    }
    for evidence in new {
        let key = (evidence.id.clone(), evidence.profile.clone());
        if lines.get(&key).is_none_or(|old| old.seen <= evidence.seen) {
            lines.insert(key, evidence.clone());
        }
    }
    merged.extend(lines.values().map(ProbeEvidence::line));
    merged
}

/// Vectors about which lines of evidence disagree, each with what they say. Only the newest of them
/// stays in the table.
pub fn evidence_conflicts(table: &str, new: &[ProbeEvidence]) -> Vec<String> {
    let mut said: BTreeMap<(&str, &str), Vec<&ProbeEvidence>> = BTreeMap::new();
    let old: Vec<ProbeEvidence> = table.lines().filter_map(ProbeEvidence::read).collect();
    for evidence in old.iter().chain(new) {
        said.entry((&evidence.id, &evidence.profile)).or_default().push(evidence);
    }
    let mut conflicts = Vec::new();
    for ((id, profile), mut lines) in said {
        lines.dedup_by_key(|line| line.outcome());
        if lines.len() > 1 {
            let texts: Vec<String> =
                lines.iter().map(|line| format!("{} ({})", line.text, line.seen)).collect();
            conflicts.push(format!("{id} {profile}: {}", texts.join("; ")));
        }
    }
    conflicts
}

/// The clauses that a text breaks under its rules.
fn defects(rules: &ProfileRules, text: &str) -> Result<Vec<String>, String> {
    rules.with_draft(text, |draft| {
        let report = check(draft, rules.options());
        let errors = report.findings.iter().filter(|it| it.severity == Severity::Error);
        let mut labels: Vec<String> = errors.map(|finding| finding.rule.label()).collect();
        labels.sort();
        labels.dedup();
        labels
    })
}

/// A whole request for the smallest reply, and the tokens that the reply may have.
fn request_body(
    vector: &SuiteVector,
    format: Format,
    profile: &str,
    model: &str,
    rules: &ProfileRules,
) -> Result<(String, u64), String> {
    let (list, limit) = match (format, profile) {
        (Format::OpenaiChat, "openai-chat") => ("messages", "max_completion_tokens"),
        (Format::OpenaiChat | Format::Anthropic, _) => ("messages", "max_tokens"),
        (Format::OpenaiResponses, _) => ("input", "max_output_tokens"),
        (Format::Gemini, _) => ("contents", "maxOutputTokens"),
        (Format::GeminiInteractions, _) => ("input", "max_output_tokens"),
        (Format::Bedrock, _) => return Err("requests to Bedrock are not supported".to_owned()),
    };
    let input = vector.input.trim();
    let is_list = input.starts_with('[');
    let mut fields: Map<String, Value> = match is_list {
        true => tools(format, rules, input),
        false => serde_json::from_str(input).map_err(|_| "it is no JSON object".to_owned())?,
    };
    for key in ["stream", "stream_options", "max_tokens", "max_completion_tokens"] {
        fields.remove(key);
    }
    let mut tokens = 1;
    if format != Format::Gemini {
        fields.insert("model".to_owned(), Value::from(model));
    }
    if format == Format::OpenaiResponses {
        tokens = MIN_RESPONSES_TOKENS;
    }
    // A budget for thinking has to be smaller than the limit.
    if let Some(budget) = fields.get("thinking").and_then(|it| it["budget_tokens"].as_u64()) {
        tokens = budget + 1;
    }
    let config = match format {
        Format::Gemini => Some("generationConfig"),
        Format::GeminiInteractions => Some("generation_config"),
        _ => None,
    };
    match config {
        Some(key) => {
            let config = fields.entry(key).or_insert_with(|| json!({}));
            let config = config.as_object_mut().ok_or("its settings are no object")?;
            config.insert(limit.to_owned(), tokens.into());
        }
        None => drop(fields.insert(limit.to_owned(), tokens.into())),
    }
    let mut body = Value::Object(fields).to_string();
    if is_list {
        // The list goes in as it is, byte for byte.
        body.pop();
        body.push_str(&format!(",\"{list}\":{input}}}"));
    }
    Ok((body, tokens))
}

/// Declares the tools that a list calls, so that a provider does not miss them.
fn tools(format: Format, rules: &ProfileRules, list: &str) -> Map<String, Value> {
    let mut names = Vec::new();
    for item in HistoryReading::of(rules, list).unwrap_or_default().items {
        if let ItemContent::Call { name: Some(name), .. } = item.content {
            let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            if (1..=64).contains(&name.len()) && name.chars().all(legal) && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let schema = json!({"type": "object", "properties": {}});
    let declared = names.iter().map(|name| match format {
        Format::OpenaiChat => {
            json!({"type": "function", "function": {"name": name, "parameters": schema}})
        }
        Format::Anthropic => json!({"name": name, "input_schema": schema}),
        Format::Gemini => json!({"functionDeclarations": [{"name": name}]}),
        Format::OpenaiResponses | Format::GeminiInteractions | Format::Bedrock => {
            json!({"type": "function", "name": name, "parameters": schema})
        }
    });
    let declared: Vec<Value> = declared.collect();
    let mut fields = Map::new();
    if !declared.is_empty() {
        fields.insert("tools".to_owned(), Value::from(declared));
    }
    fields
}

/// Whether a body is a reply of an API. A proxy may answer in its place.
fn is_reply(body: &str, format: Format) -> bool {
    let decoded = decode_reply(body, format);
    decoded.is_ok_and(|decoded| matches!(decoded.outcome, ModelResponse::Reply(_)))
}

/// The message in the error body of any provider; the whole body if it has none.
fn error_text(body: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(body) else { return body.to_owned() };
    let value = value.get(0).unwrap_or(&value);
    let error = value.get("error").unwrap_or(value);
    let message = error.as_str().or_else(|| error.get("message")?.as_str());
    message.map_or_else(|| error.to_string(), str::to_owned)
}

/// A text without control characters, shortened. A long word with letters and digits may be a key,
/// an account or a request; it stays only if the request holds it.
fn redacted(text: &str, request: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let (piece, behind) = rest.split_at(end);
        let mixed = piece.contains(|c: char| c.is_ascii_digit())
            && piece.contains(|c: char| c.is_ascii_alphabetic());
        let secret = mixed && piece.len() >= MIN_SECRET && !request.contains(piece);
        out.push_str(if secret { "…" } else { piece });
        rest = behind;
    }
    let clean = out.split(|c: char| c.is_control() || c.is_whitespace());
    let clean: Vec<&str> = clean.filter(|word| !word.is_empty()).collect();
    clean.join(" ").chars().take(MAX_ERROR).collect()
}

/// The month of a day.
fn month(date: &str) -> Option<&str> {
    let shape: String = date.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let number = |digits: &str| digits.parse::<u32>().unwrap_or(0);
    let exists = |date: &str| {
        let [_, month, day] = date.split('-').collect::<Vec<_>>()[..] else { return false };
        (1..=12).contains(&number(month)) && (1..=31).contains(&number(day))
    };
    (shape == "0000-00-00" && exists(date)).then(|| date.get(..7)).flatten()
}
