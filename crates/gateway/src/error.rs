//! Every error of the server, in the one place that decides its status and its body. A [`Fault`]
//! says what is wrong; the client gets it in the form of its own provider.

use foxwedge_core::Wire;
use foxwedge_engine::{Fault, Kind};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::outgoing::{JSON, Outgoing, Reply};

/// A fault, as a client understands it.
pub(crate) fn reply(fault: &Fault, wire: Wire, id: &str) -> Reply {
    let mut reply = Outgoing::reply(fault.status(), JSON, fault.body(wire, id));
    let headers = reply.headers_mut();
    if let Some(seconds) = fault.retry_after {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    // What is left of a body that cannot be read must not be taken for the next request.
    if fault.status() == StatusCode::NOT_IMPLEMENTED {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    match fault.kind {
        Kind::Credentials => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        Kind::Request
        | Kind::Permission
        | Kind::NotFound
        | Kind::Method
        | Kind::Slow
        | Kind::Conflict
        | Kind::TooLarge
        | Kind::Unsupported
        | Kind::RateLimit
        | Kind::Server
        | Kind::Upstream
        | Kind::Unavailable
        | Kind::Timeout => {}
    }
    reply
}

/// In whose form a client at that path expects its errors.
pub(crate) fn wire(path: &str, headers: &HeaderMap) -> Wire {
    if path.starts_with("/v1/messages") {
        Wire::Anthropic
    } else if path.starts_with("/v1/responses") {
        Wire::OpenaiResponses
    } else if path.starts_with("/v1/models") && headers.contains_key("anthropic-version") {
        Wire::Anthropic
    } else {
        Wire::OpenaiChat
    }
}

pub(crate) fn bad_host() -> Fault {
    Fault::new(
        Kind::Permission,
        "host_not_allowed",
        "this name is not one of this server's; add it to `access.hosts` if it is",
    )
}

pub(crate) fn bad_origin() -> Fault {
    Fault::new(
        Kind::Permission,
        "origin_not_allowed",
        "web pages of this origin may not ask here; add it to `access.origins` if it may",
    )
}

pub(crate) fn bad_token() -> Fault {
    Fault::new(
        Kind::Credentials,
        "invalid_api_key",
        "no valid token: send it as `Authorization: Bearer`, `x-api-key` or `x-foxwedge-token`",
    )
}

pub(crate) fn foreign(header: &str) -> Fault {
    Fault::new(
        Kind::Request,
        "upstream_not_yours",
        format!("the header `{header}` would choose an upstream: only the configuration does"),
    )
}

pub(crate) fn bad_request(message: &'static str) -> Fault {
    Fault::new(Kind::Request, "bad_request", message)
}

pub(crate) fn too_large(most: usize) -> Fault {
    Fault::new(Kind::TooLarge, "body_too_large", format!("the body has more than {most} bytes"))
}

pub(crate) fn unsupported(message: &'static str) -> Fault {
    Fault::new(Kind::Unsupported, "unsupported_body", message)
}

pub(crate) fn transfer_encoding() -> Fault {
    let words = "the body has a transfer encoding other than `chunked`, which is not read here";
    let mut fault = Fault::new(Kind::Unsupported, "unsupported_transfer_encoding", words);
    fault.status = Some(StatusCode::NOT_IMPLEMENTED);
    fault
}

pub(crate) fn slow() -> Fault {
    Fault::new(Kind::Slow, "body_too_slow", "the body stopped coming")
}

pub(crate) fn broken_body() -> Fault {
    bad_request("the body broke off")
}

pub(crate) fn not_found() -> Fault {
    Fault::new(
        Kind::NotFound,
        "not_found",
        "no such path; base URLs of OpenAI clients end with `/v1`, those of Anthropic clients do not",
    )
}

pub(crate) fn method(allowed: &'static str) -> Fault {
    Fault::new(Kind::Method, "method_not_allowed", format!("only {allowed} here"))
}

pub(crate) fn no_model() -> Fault {
    Fault::new(Kind::NotFound, "model_not_found", "no route leads to this model")
}

pub(crate) fn busy() -> Fault {
    let mut fault = Fault::new(
        Kind::RateLimit,
        "too_many_requests",
        "this token has as many requests at work as it may have",
    );
    fault.retry_after = Some(1);
    fault
}

pub(crate) fn panicked() -> Fault {
    Fault::new(Kind::Server, "internal_error", "something went wrong on our side")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_form_that_its_path_promises() {
        let anthropic = HeaderMap::from_iter([(
            http::HeaderName::from_static("anthropic-version"),
            HeaderValue::from_static("2023-06-01"),
        )]);
        let none = HeaderMap::new();
        for (path, headers, expected) in [
            ("/v1/messages", &none, Wire::Anthropic),
            ("/v1/messages/count_tokens", &none, Wire::Anthropic),
            ("/v1/responses", &none, Wire::OpenaiResponses),
            ("/v1/chat/completions", &anthropic, Wire::OpenaiChat),
            ("/v1/models", &anthropic, Wire::Anthropic),
            ("/v1/models", &none, Wire::OpenaiChat),
            ("/nowhere", &none, Wire::OpenaiChat),
        ] {
            assert_eq!(wire(path, headers), expected, "{path}");
        }
        let reply = reply(&busy(), Wire::Anthropic, "r1");
        assert_eq!(reply.status(), 429);
        assert_eq!(reply.headers()[header::RETRY_AFTER], "1");
    }
}
