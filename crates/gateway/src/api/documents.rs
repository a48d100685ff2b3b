//! `/v1/check`, `/v1/fix`, `/v1/compact` and `/v1/convert`: the body is a document, the query
//! string holds the options, the reply is a report and the new document. No upstream is asked.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use foxwedge_embed::{CallError, CallReply, DocumentForm, document_json, options_from_texts};
use http::StatusCode;
use serde_json::json;
use tokio::{task::spawn_blocking, time::timeout};

use crate::{
    ApiError, ApiErrorKind, HttpReply,
    api_request::ApiRequest,
    error,
    gateway_state::GatewayState,
    response_body::{JSON, ResponseBody},
};

/// How long to wait for a permit.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(20);

/// An operation on a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DocumentOperation {
    Check,
    Fix,
    Compact,
    Convert,
}

impl DocumentOperation {
    /// The operation behind `/v1/`.
    pub(super) fn find(name: &str) -> Option<DocumentOperation> {
        use DocumentOperation::{Check, Compact, Convert, Fix};
        [Check, Fix, Compact, Convert].into_iter().find(|operation| operation.name() == name)
    }

    /// The name in the path and in `foxwedge_embed`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            DocumentOperation::Check => "check",
            DocumentOperation::Fix => "fix",
            DocumentOperation::Compact => "compact",
            DocumentOperation::Convert => "convert",
        }
    }
}

/// Runs an operation on the body. Large documents take a while, so it runs on a blocking thread,
/// and only a few run at the same time.
pub(super) async fn call(
    app: &GatewayState,
    request: &ApiRequest<'_>,
    operation: DocumentOperation,
) -> Result<HttpReply, ApiError> {
    if request.body.is_empty() {
        return Err(error::bad_request("the body is empty: it is the document"));
    }
    let parameters = request.parameters()?;
    let texts = parameters.iter().map(|(name, value)| (&**name, &**value));
    let options = options_from_texts(texts);
    let acquired = timeout(PERMIT_TIMEOUT, app.document_permits.clone().acquire_owned()).await;
    let Ok(Ok(permit)) = acquired else {
        return Err(busy());
    };
    let body = request.body.clone();
    let result = spawn_blocking(move || {
        let _permit = permit;
        foxwedge_embed::call(operation.name(), &body, &options).map(|reply| reply_json(&reply))
    });
    match result.await {
        Ok(Ok(json)) => Ok(ResponseBody::reply(StatusCode::OK, JSON, json)),
        Ok(Err(error)) => Err(call_error(error)),
        Err(_) => Err(error::internal_error()),
    }
}

fn reply_json(reply: &CallReply) -> String {
    let (name, value) = match reply.document.as_deref() {
        None => ("document", "null".into()),
        Some(document) => match document_json(document, DocumentForm::Value) {
            Some(json) => ("document", json),
            None => {
                let packed = BASE64_STANDARD.encode(document);
                ("documentBase64", format!("\"{packed}\"").into())
            }
        },
    };
    format!("{{\"report\":{},\"{name}\":{value}}}", reply.report)
}

fn call_error(error: CallError) -> ApiError {
    let (code, status) = match error.kind {
        "invalid-options" => ("invalid_options", StatusCode::BAD_REQUEST),
        "unknown-format" => ("unknown_format", StatusCode::UNPROCESSABLE_ENTITY),
        "cannot-compact" => ("cannot_compact", StatusCode::UNPROCESSABLE_ENTITY),
        _ => ("unreadable_document", StatusCode::UNPROCESSABLE_ENTITY),
    };
    let mut api_error = ApiError::new(ApiErrorKind::InvalidRequest, code, error.message);
    api_error.status = Some(status);
    match error.at {
        Some(at) => api_error.with("at", json!(at)),
        None => api_error,
    }
}

fn busy() -> ApiError {
    let message = "too many documents are processed already";
    let mut error = ApiError::new(ApiErrorKind::Unavailable, "documents_busy", message);
    error.retry_after = Some(5);
    error
}
