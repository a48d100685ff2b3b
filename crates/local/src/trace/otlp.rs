//! Finds the spans in an OTLP document. One pass, without values: a span is passed on as soon as it
//! was read, so a torn document loses only the span that it ends in.

use std::borrow::Cow;

use foxwedge_formats::outline::{read_non_empty, read_string};
use foxwedge_json::{JsonScanner, JsonShape, ScanError, ScanResult, Span, field_text};

/// What a check needs of a span.
#[derive(Default)]
pub(super) struct OtlpSpan<'a> {
    pub(super) trace_id: Option<Cow<'a, str>>,
    pub(super) span_id: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    /// In nanoseconds since 1970.
    pub(super) start: Option<u64>,
    pub(super) attributes: RequestAttributes<'a>,
}

/// The attributes of a model request.
#[derive(Default)]
pub(super) struct RequestAttributes<'a> {
    pub(super) provider: Option<Cow<'a, str>>,
    /// The name of the provider in earlier versions of the conventions.
    pub(super) system: Option<Cow<'a, str>>,
    pub(super) request_model: Option<Cow<'a, str>>,
    pub(super) response_model: Option<Cow<'a, str>>,
    pub(super) operation: Option<Cow<'a, str>>,
    /// Which of OpenAI's APIs.
    pub(super) api: Option<Cow<'a, str>>,
    /// The value of `gen_ai.input.messages`, with the object around it.
    pub(super) input_messages: Option<Span>,
}

/// Passes every span of a document to `each`.
///
/// # Errors
/// If the document is not JSON, or not an object. The spans before the error were passed on.
pub(super) fn read_spans<'a>(
    source: &'a str,
    each: &mut dyn FnMut(OtlpSpan<'a>),
) -> ScanResult<()> {
    let mut scan = JsonScanner::new(source);
    if scan.shape()? != JsonShape::Object {
        return scan.fail("not an object with `resourceSpans`");
    }
    scan.object(|scan, key, _| match key {
        b"resourceSpans" | b"resource_spans" => read_objects(scan, &mut |scan, key| match key {
            b"scopeSpans" | b"scope_spans" | b"instrumentationLibrarySpans" => {
                read_objects(scan, &mut |scan, key| match key {
                    b"spans" => read_span_list(scan, each),
                    _ => scan.skip().map(drop),
                })
            }
            _ => scan.skip().map(drop),
        }),
        _ => scan.skip().map(drop),
    })?;
    scan.end()
}

/// Whether a document is an object with spans. A torn document may be one.
pub(super) fn has_spans(source: &str) -> bool {
    let mut found = false;
    let mut scan = JsonScanner::new(source);
    // The error only ends the scan.
    let _ = scan.object(|scan, key, _| {
        if matches!(key, b"resourceSpans" | b"resource_spans") {
            found = true;
            return Err(ScanError::new(scan.position(), "found"));
        }
        scan.skip().map(drop)
    });
    found
}

/// Reads a list of objects; `field` reads the value of each of their fields.
fn read_objects<'a>(
    scan: &mut JsonScanner<'a>,
    field: &mut dyn FnMut(&mut JsonScanner<'a>, &[u8]) -> ScanResult<()>,
) -> ScanResult<()> {
    if scan.shape()? != JsonShape::Array {
        return scan.skip().map(drop);
    }
    scan.array(|scan, _| match scan.shape()? {
        JsonShape::Object => scan.object(|scan, key, _| field(scan, key)).map(drop),
        _ => scan.skip().map(drop),
    })
    .map(drop)
}

fn read_span_list<'a>(
    scan: &mut JsonScanner<'a>,
    each: &mut dyn FnMut(OtlpSpan<'a>),
) -> ScanResult<()> {
    if scan.shape()? != JsonShape::Array {
        return scan.skip().map(drop);
    }
    scan.array(|scan, _| match scan.shape()? {
        JsonShape::Object => {
            each(read_span(scan)?);
            Ok(())
        }
        _ => scan.skip().map(drop),
    })
    .map(drop)
}

fn read_span<'a>(scan: &mut JsonScanner<'a>) -> ScanResult<OtlpSpan<'a>> {
    let source = scan.source();
    let mut span = OtlpSpan::default();
    scan.object(|scan, key, _| {
        match key {
            b"traceId" | b"trace_id" => span.trace_id = read_non_empty(scan, source)?,
            b"spanId" | b"span_id" => span.span_id = read_non_empty(scan, source)?,
            b"name" => span.name = read_non_empty(scan, source)?,
            b"startTimeUnixNano" | b"start_time_unix_nano" => span.start = read_number(scan)?,
            b"attributes" => read_attributes(scan, &mut span.attributes)?,
            // Some instrumentations record the messages in an event of the span.
            b"events" => read_objects(scan, &mut |scan, key| match key {
                b"attributes" => read_attributes(scan, &mut span.attributes),
                _ => scan.skip().map(drop),
            })?,
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    Ok(span)
}

/// A number, which OTLP writes as a string.
fn read_number(scan: &mut JsonScanner<'_>) -> ScanResult<Option<u64>> {
    let value = scan.skip()?;
    Ok(value.of(scan.source()).trim_matches('"').parse().ok())
}

fn read_attributes<'a>(
    scan: &mut JsonScanner<'a>,
    attributes: &mut RequestAttributes<'a>,
) -> ScanResult<()> {
    let source = scan.source();
    if scan.shape()? != JsonShape::Array {
        return scan.skip().map(drop);
    }
    scan.array(|scan, _| {
        if scan.shape()? != JsonShape::Object {
            return scan.skip().map(drop);
        }
        let (mut name, mut value) = (None, None);
        scan.object(|scan, key, _| {
            match key {
                b"key" => name = read_string(scan)?,
                b"value" => value = Some(scan.skip()?),
                _ => drop(scan.skip()?),
            }
            Ok(())
        })?;
        if let (Some(name), Some(value)) = (name, value) {
            attributes.add(source, &name.text(source), value);
        }
        Ok(())
    })
    .map(drop)
}

impl<'a> RequestAttributes<'a> {
    /// Notes an attribute. The first of a name counts.
    fn add(&mut self, source: &'a str, name: &str, value: Span) {
        let slot = match name {
            "gen_ai.input.messages" => {
                self.input_messages.get_or_insert(value);
                return;
            }
            "gen_ai.provider.name" => &mut self.provider,
            "gen_ai.system" => &mut self.system,
            "gen_ai.request.model" => &mut self.request_model,
            "gen_ai.response.model" => &mut self.response_model,
            "gen_ai.operation.name" => &mut self.operation,
            "openai.api.type" => &mut self.api,
            _ => return,
        };
        if slot.is_none() {
            let text = field_text(source, value, "stringValue");
            *slot = text.or_else(|| field_text(source, value, "string_value"));
        }
    }

    /// The name of the provider.
    pub(super) fn provider_name(&self) -> Option<&str> {
        self.provider.as_deref().or(self.system.as_deref())
    }

    /// The model.
    pub(super) fn model(&self) -> Option<&str> {
        self.request_model.as_deref().or(self.response_model.as_deref())
    }
}
