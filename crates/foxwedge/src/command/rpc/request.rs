//! Reads a request: one JSON object. The document is a slice of the line, so that no byte of it
//! changes.

use std::borrow::Cow;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use foxwedge_embed::DocumentForm;
use foxwedge_json::{JsonField, JsonScanner, JsonShape, Span, object_fields};

use super::reply::RpcFailure;

/// The fields of a request.
const FIELDS: &str = "id, operation, options, document, documentBase64, stream";

/// A request that can be carried out.
pub(super) struct RpcRequest<'l> {
    /// The id as it was sent: any JSON value.
    pub(super) id: &'l str,
    pub(super) operation: RpcOperation<'l>,
    /// A JSON object, or empty.
    pub(super) options: &'l str,
    pub(super) document: Cow<'l, [u8]>,
    /// How the document was sent.
    pub(super) form: DocumentForm,
    stream: Option<Cow<'l, str>>,
}

/// What a request asks for.
pub(super) enum RpcOperation<'l> {
    /// An operation of `foxwedge_embed::call`.
    Call(Cow<'l, str>),
    OpenStream,
    PushStream,
    FinishStream,
}

/// A line that is no request, with its id if it has one.
pub(super) struct InvalidRequest<'l> {
    pub(super) id: &'l str,
    pub(super) failure: RpcFailure,
}

impl<'l> RpcRequest<'l> {
    pub(super) fn read(line: &'l str) -> Result<RpcRequest<'l>, InvalidRequest<'l>> {
        let fields = fields(line).map_err(|failure| InvalidRequest { id: "null", failure })?;
        let id = value(&fields, "id").map_or("null", |span| span.of(line));
        RpcRequest::from_fields(line, id, &fields).map_err(|failure| InvalidRequest { id, failure })
    }

    fn from_fields(
        line: &'l str,
        id: &'l str,
        fields: &[JsonField<'l>],
    ) -> Result<RpcRequest<'l>, RpcFailure> {
        for (index, field) in fields.iter().enumerate() {
            if !FIELDS.split(", ").any(|known| known == field.key) {
                let message = format!("no field `{}` in a request", field.key);
                return Err(RpcFailure::invalid(message).help(format!("known are {FIELDS}")));
            }
            if fields.iter().take(index).any(|earlier| earlier.key == field.key) {
                let message = format!("the field `{}` appears twice", field.key);
                return Err(RpcFailure::invalid(message));
            }
        }
        let operation = match text(line, fields, "operation")? {
            None => {
                let help = "such as {\"id\":1,\"operation\":\"check\",\"document\":{…}}";
                return Err(RpcFailure::invalid("the field `operation` is missing").help(help));
            }
            Some(name) => RpcOperation::named(name),
        };
        let options = value(fields, "options").map_or("", |span| span.of(line));
        let (document, form) = document(line, fields)?;
        let stream = text(line, fields, "stream")?;
        let options = if options == "null" { "" } else { options };
        Ok(RpcRequest { id, operation, options, document, form, stream })
    }

    /// The name of the stream.
    pub(super) fn stream(&self) -> Result<String, RpcFailure> {
        let missing = || {
            RpcFailure::invalid("the field `stream` is missing")
                .help("it names the stream, in any words: \"stream\":\"a\"")
        };
        self.stream.as_deref().map(str::to_owned).ok_or_else(missing)
    }
}

impl<'l> RpcOperation<'l> {
    fn named(name: Cow<'l, str>) -> RpcOperation<'l> {
        match &*name {
            "stream-open" => RpcOperation::OpenStream,
            "stream-push" => RpcOperation::PushStream,
            "stream-finish" => RpcOperation::FinishStream,
            _ => RpcOperation::Call(name),
        }
    }
}

fn fields(line: &str) -> Result<Vec<JsonField<'_>>, RpcFailure> {
    let mut scanner = JsonScanner::new(line);
    let shape = scanner.shape();
    let scanned = scanner.skip().and_then(|object| scanner.end().map(|()| object));
    let object = scanned.map_err(|error| {
        let message = format!("the line is not JSON: {}", error.message());
        RpcFailure { at: Some(error.at()), ..RpcFailure::invalid(message) }
            .help("a request is one JSON object on one line")
    })?;
    match shape {
        Ok(JsonShape::Object) => Ok(object_fields(line, object)),
        _ => Err(RpcFailure::invalid("the line is not a JSON object")
            .help("a request is one JSON object on one line")),
    }
}

fn value(fields: &[JsonField<'_>], name: &str) -> Option<Span> {
    fields.iter().find(|field| field.key == name).map(|field| field.value)
}

/// A string; an error if the field is something else.
fn text<'l>(
    line: &'l str,
    fields: &[JsonField<'l>],
    name: &str,
) -> Result<Option<Cow<'l, str>>, RpcFailure> {
    let Some(span) = value(fields, name) else { return Ok(None) };
    match string(line, span) {
        Some(text) => Ok(Some(text)),
        None => Err(RpcFailure::invalid(format!("the field `{name}` is not a string"))),
    }
}

fn string(line: &str, span: Span) -> Option<Cow<'_, str>> {
    let mut scanner = JsonScanner::within(line, span);
    let is_string = scanner.shape() == Ok(JsonShape::String);
    is_string.then(|| scanner.string().ok())?.map(|string| string.text(line))
}

/// The bytes of the document, and how it was sent. Without a document there are none.
fn document<'l>(
    line: &'l str,
    fields: &[JsonField<'l>],
) -> Result<(Cow<'l, [u8]>, DocumentForm), RpcFailure> {
    match (value(fields, "document"), text(line, fields, "documentBase64")?) {
        (Some(_), Some(_)) => {
            Err(RpcFailure::invalid("`document` and `documentBase64` cannot be used together"))
        }
        (None, None) => Ok((Cow::Borrowed(b""), DocumentForm::Text)),
        (None, Some(packed)) => match BASE64_STANDARD.decode(&*packed) {
            Ok(bytes) => Ok((Cow::Owned(bytes), DocumentForm::Text)),
            Err(error) => {
                Err(RpcFailure::invalid(format!("`documentBase64` is not base64: {error}")))
            }
        },
        (Some(span), None) => Ok(match string(line, span) {
            Some(Cow::Borrowed(text)) => (Cow::Borrowed(text.as_bytes()), DocumentForm::Text),
            Some(Cow::Owned(text)) => (Cow::Owned(text.into_bytes()), DocumentForm::Text),
            None => (Cow::Borrowed(span.of(line).as_bytes()), DocumentForm::Value),
        }),
    }
}
