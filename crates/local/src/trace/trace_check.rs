//! Checks the requests of a trace.

use std::{collections::HashMap, sync::Arc};

use foxwedge_core::{
    CheckOptions, Draft, DraftFeatures, Finding, Fix, Report, Span, TailPolicy, check, pair_calls,
};
use foxwedge_formats::{
    OutlineOptions, ReadError, TextPosition, detect,
    otel_messages::{OtelHistory, outline_otel_messages},
    read_within,
};

use super::{
    TraceCounts, TraceRequest,
    attribute_text::{AttributeText, attribute_text},
    otlp::{self, OtlpSpan, RequestAttributes},
    provider::TraceProfile,
};
use crate::{
    check_settings::CheckSettings,
    excerpt::{self, ExcerptLineKind},
    findings::{MAX_LISTED, ReportDetail},
    outcome::{FileReport, LocatedFinding, TargetFailure},
    output::{clean, cut, pluralize},
    positions::positions,
    source::{InputHint, InputRejection, is_lines, split},
};

/// The number of lines that are inspected to detect a trace.
const MAX_INSPECTED_LINES: usize = 40;
/// Messages and parts of one history.
const MAX_PARTS: usize = 4_000_000;
/// Characters of an id or a name in a report.
const MAX_NAME: usize = 200;

/// Whether a text is an exported trace.
pub fn is_trace(text: &str, hint: InputHint) -> bool {
    let names = ["\"resourceSpans\"", "\"resource_spans\""];
    if !names.iter().any(|name| text.contains(name)) {
        return false;
    }
    documents(text, hint).iter().take(MAX_INSPECTED_LINES).any(|(_, line)| otlp::has_spans(line))
}

/// Checks every model request of a trace. A line that cannot be read is a failure of the report,
/// with its position.
///
/// # Errors
/// If no span holds a history, or none that can be checked.
pub fn check_trace(
    text: &str,
    hint: InputHint,
    settings: &CheckSettings,
    detail: ReportDetail,
) -> Result<FileReport, InputRejection> {
    let mut trace = TraceCheck {
        settings,
        detail,
        report: FileReport::default(),
        counts: TraceCounts::default(),
        offsets: Vec::new(),
        unreadable: None,
    };
    let mut failed: Vec<(usize, String)> = Vec::new();
    for (base, document) in documents(text, hint) {
        let read = otlp::read_spans(document, &mut |span| trace.check_span(document, base, &span));
        if let Err(error) = read {
            failed.push((base + error.at(), cut(&clean(error.message()), MAX_NAME)));
        }
    }
    let counts = trace.counts;
    if failed.is_empty() && counts.requests + counts.cut_off + counts.unreadable == 0 {
        return Err(match hint.from_folder {
            true => InputRejection::Skipped,
            false => InputRejection::Failed(no_history_failure(counts)),
        });
    }
    let nothing_checked = failed.is_empty() && counts.requests == 0;
    let report = trace.finish(text, failed);
    match nothing_checked && !hint.from_folder {
        // The note says what was not checked.
        true => Err(InputRejection::Failed(TargetFailure::new(report.notes.concat()))),
        false => Ok(report),
    }
}

/// The documents of a file with their offsets.
fn documents(text: &str, hint: InputHint) -> Vec<(usize, &str)> {
    if is_lines(text, hint.is_json_lines) { split(text) } else { vec![(0, text)] }
}

fn no_history_failure(counts: TraceCounts) -> TargetFailure {
    let spans = pluralize(counts.spans, "span");
    TargetFailure::new(format!("a trace with {spans}, but no `gen_ai.input.messages`")).help(
        "instrumentations record the messages of requests only if the recording of content is \
         switched on",
    )
}

/// The check of one trace.
struct TraceCheck<'s> {
    settings: &'s CheckSettings,
    detail: ReportDetail,
    report: FileReport,
    counts: TraceCounts,
    /// Two for each finding: its own position and that of its partner.
    offsets: Vec<usize>,
    /// The first history in an unknown form: its position, and what is wrong with it.
    unreadable: Option<(usize, String)>,
}

impl TraceCheck<'_> {
    fn check_span(&mut self, source: &str, base: usize, span: &OtlpSpan<'_>) {
        self.counts.spans += 1;
        let Some(value) = span.attributes.input_messages else { return };
        let profile = TraceProfile::of(&span.attributes, self.settings.profile());
        let mut options = self.settings.options_for_trace(profile.profile, profile.rules());
        if !is_model_request(&span.attributes) {
            // The input of an agent or a workflow: a call may wait for something outside.
            options.policy.tail = TailPolicy::Pending;
        }
        let attribute = attribute_text(source, value);
        let history = match &attribute {
            Some(attribute) => read_history(&attribute.text, profile),
            None => Err(ReadError::Malformed {
                at: 0,
                place: None,
                what: "neither a text nor a list".to_owned(),
            }),
        };
        match (&attribute, history) {
            (_, Ok(history)) if history.message_count() == 0 => {
                self.counts.unreadable += 1;
                let reason = || (base + value.start as usize, "an empty list".to_owned());
                self.unreadable.get_or_insert_with(reason);
            }
            (Some(attribute), Ok(mut history)) => {
                self.counts.requests += 1;
                let body = &mut history.draft_mut().body;
                body.model = span.attributes.model().map(|model| model.to_owned().into());
                body.stateful |= profile.may_be_stateful();
                self.check_history(&history, &options, span, (source, base, attribute));
            }
            (Some(attribute), Err(error)) if is_cut_off(&attribute.text, error.at()) => {
                self.counts.cut_off += 1;
            }
            (_, Err(error)) => {
                self.counts.unreadable += 1;
                let reason = cut(&clean(&error.to_string()), MAX_NAME);
                self.unreadable.get_or_insert((base + value.start as usize, reason));
            }
            (None, Ok(_)) => {}
        }
    }

    fn check_history(
        &mut self,
        history: &SpanHistory<'_>,
        options: &CheckOptions,
        span: &OtlpSpan<'_>,
        origin: (&str, usize, &AttributeText<'_>),
    ) {
        let draft = history.draft();
        let report = &mut self.report;
        report.messages += history.message_count();
        if !report.profiles.contains(&options.profile) {
            report.profiles.push(options.profile);
        }
        if draft.features.intersects(DraftFeatures::UNKNOWN) {
            self.counts.partly_judged += 1;
        }
        let found = check(draft, options);
        if found.is_clean() {
            return;
        }
        self.counts.broken += 1;
        self.add_findings(history, found, span, origin);
    }

    fn add_findings(
        &mut self,
        history: &SpanHistory<'_>,
        found: Report,
        span: &OtlpSpan<'_>,
        (source, base, attribute): (&str, usize, &AttributeText<'_>),
    ) {
        let draft = history.draft();
        let report = &mut self.report;
        let request = Arc::new(describe_request(span));
        let mut listed: Vec<Finding> = found.findings;
        let mut earlier: HashMap<u16, usize> = HashMap::new();
        listed.retain(|finding| {
            let code = finding.rule.code;
            let earlier = earlier.entry(code).or_insert_with(|| report.counts.of(code));
            *earlier += 1;
            *earlier <= MAX_LISTED
        });
        // A trace is not changed, so nothing has a fix.
        for kind in found.counts.iter() {
            report.counts.add(kind.rule, kind.severity, Fix::NONE, kind.count);
        }
        let in_text: Vec<usize> = listed
            .iter()
            .flat_map(|finding| {
                let own = finding.location.span.start as usize;
                [own, finding.partner.map_or(own, |partner| partner.span.start as usize)]
            })
            .collect();
        let in_document = attribute.document_offsets(source, &in_text);
        self.offsets.extend(in_document.into_iter().map(|offset| base + offset));
        let is_drawn = report.findings.len() < self.detail.excerpts;
        let pairing = is_drawn.then(|| pair_calls(draft));
        for mut finding in listed {
            let drawn = pairing.as_ref().filter(|_| report.findings.len() < self.detail.excerpts);
            let excerpt = drawn.map(|pairing| {
                let mut excerpt = excerpt::of(draft, pairing, &finding);
                for line in &mut excerpt.lines {
                    if let ExcerptLineKind::Message(index, _) = &mut line.kind {
                        *index = history.first_index(*index);
                    }
                }
                Box::new(excerpt)
            });
            finding.fix = Fix::NONE;
            finding.location.message = history.message_index(finding.location.span);
            if let Some(partner) = &mut finding.partner {
                partner.message = history.message_index(partner.span);
            }
            report.findings.push(LocatedFinding {
                finding,
                position: TextPosition { line: 1, column: 1 },
                partner: None,
                wire: draft.format,
                edits: 0..0,
                excerpt,
                request: Some(request.clone()),
            });
        }
    }

    /// Completes the report: positions, failures, notes.
    fn finish(mut self, text: &str, failed: Vec<(usize, String)>) -> FileReport {
        let more = failed.iter().map(|(at, _)| *at);
        let unreadable = self.unreadable.as_ref().map(|(at, _)| *at);
        let findings = self.offsets.len();
        self.offsets.extend(more.chain(unreadable));
        let found = positions(text, &self.offsets);
        let (of_findings, others) = found.split_at(findings.min(found.len()));
        let mut report = self.report;
        for (located, pair) in report.findings.iter_mut().zip(of_findings.chunks_exact(2)) {
            located.position = pair[0];
            located.partner = located.finding.partner.map(|_| pair[1]);
        }
        let mut others = others.iter().copied();
        for ((_, message), position) in failed.into_iter().zip(others.by_ref()) {
            let message = format!("the trace is torn here, or not JSON: {message}");
            report.failures.push(TargetFailure::new(message).at(position));
        }
        let first = self.unreadable.map(|(_, reason)| reason).zip(others.next());
        report.notes = vec![summary_note(self.counts, first)];
        report.trace = Some(self.counts);
        report
    }
}

/// The history of a span.
enum SpanHistory<'a> {
    /// In the form of the conventions.
    Otel(OtelHistory<'a>),
    /// As it was sent to the provider. Some instrumentations record that.
    Wire(Draft<'a>),
}

impl<'a> SpanHistory<'a> {
    fn draft(&self) -> &Draft<'a> {
        match self {
            SpanHistory::Otel(history) => &history.draft,
            SpanHistory::Wire(draft) => draft,
        }
    }

    fn draft_mut(&mut self) -> &mut Draft<'a> {
        match self {
            SpanHistory::Otel(history) => &mut history.draft,
            SpanHistory::Wire(draft) => draft,
        }
    }

    fn message_count(&self) -> usize {
        match self {
            SpanHistory::Otel(history) => history.message_count(),
            SpanHistory::Wire(draft) => draft.messages.len(),
        }
    }

    /// The index of the message in the list that holds a position.
    fn message_index(&self, span: Span) -> usize {
        match self {
            SpanHistory::Otel(history) => history.message_index(span),
            SpanHistory::Wire(draft) => draft.message_at(span).unwrap_or(0),
        }
    }

    /// The index in the list that a message of the draft begins with.
    fn first_index(&self, message: usize) -> usize {
        match self {
            SpanHistory::Otel(history) => history.first_index(message),
            SpanHistory::Wire(_) => message,
        }
    }
}

fn read_history(text: &str, profile: TraceProfile) -> Result<SpanHistory<'_>, ReadError> {
    let error = match outline_otel_messages(text, profile.format(), MAX_PARTS) {
        Ok(history) => return Ok(SpanHistory::Otel(history)),
        Err(error) => error,
    };
    let Some(detection) = detect(text) else { return Err(error) };
    match read_within(text, detection.wire, OutlineOptions::default(), MAX_PARTS) {
        Ok(document) => Ok(SpanHistory::Wire(document.draft)),
        Err(_) => Err(error),
    }
}

/// Whether a span is a request to a model, and not one to an agent or a tool.
fn is_model_request(attributes: &RequestAttributes<'_>) -> bool {
    attributes.operation.as_deref().is_none_or(|operation| {
        matches!(operation, "chat" | "generate_content" | "text_completion" | "responses")
    })
}

/// Whether a text is the beginning of a longer one: reading failed at its end, at half an escape or
/// half a word there, or at a mark that an exporter put there.
fn is_cut_off(text: &str, at: usize) -> bool {
    /// Longest mark, in bytes.
    const MARK: usize = 64;
    /// Longest escape, in bytes.
    const ESCAPE: usize = 12;
    let rest = text.get(at.min(text.len())..).unwrap_or("").trim();
    let is_half = rest.starts_with('\\') && rest.len() < ESCAPE
        || ["true", "false", "null"].iter().any(|word| word.starts_with(rest));
    let is_mark = rest.len() <= MARK
        && (rest.starts_with("...") || rest.starts_with('…') || rest.contains("truncated"));
    is_half || is_mark
}

fn describe_request(span: &OtlpSpan<'_>) -> TraceRequest {
    let short = |text: Option<&str>| cut(text.unwrap_or_default(), MAX_NAME);
    let optional = |text: Option<&str>| text.map(|text| cut(text, MAX_NAME));
    let time = span.start.and_then(|start| {
        let time = jiff::Timestamp::from_nanosecond(i128::from(start)).ok()?;
        Some(time.to_string())
    });
    TraceRequest {
        trace_id: short(span.trace_id.as_deref()),
        span_id: short(span.span_id.as_deref()),
        name: short(span.name.as_deref()),
        model: optional(span.attributes.model()),
        provider: optional(span.attributes.provider_name()),
        time,
    }
}

/// What was checked and what was not.
fn summary_note(counts: TraceCounts, unreadable: Option<(String, TextPosition)>) -> String {
    let mut note = format!(
        "a trace with {}: {} checked, {} with findings",
        pluralize(counts.spans, "span"),
        pluralize(counts.requests, "model request"),
        counts.broken,
    );
    if counts.cut_off > 0 {
        note.push_str(&format!("; {} cut off by the exporter, not checked", counts.cut_off));
    }
    if let Some((reason, position)) = unreadable {
        note.push_str(&format!(
            "; {} in an unknown form, not checked (the first at line {}: {reason})",
            counts.unreadable, position.line
        ));
    }
    if counts.partly_judged > 0 {
        note.push_str(&format!(
            "; {} with parts of an unknown type, whose turns are not judged",
            counts.partly_judged
        ));
    }
    note
}
