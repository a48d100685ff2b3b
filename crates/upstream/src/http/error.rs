//! Errors of the connection to an upstream. The caller uses them to decide about a retry.

use std::{borrow::Cow, error::Error, fmt, io};

/// A request could not be sent, or its response is incomplete.
#[derive(Debug)]
pub struct HttpError {
    /// The stage that failed.
    pub stage: HttpStage,
    /// The kind of error.
    pub kind: HttpErrorKind,
    /// Whether the upstream may have received the request: decides whether it may be retried.
    pub delivery: RequestDelivery,
    detail: Cow<'static, str>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The stage of a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HttpStage {
    /// Name lookup.
    Resolve,
    /// Checking whether the address is allowed.
    Address,
    /// Connecting.
    Connect,
    /// Connecting to a proxy, and opening a tunnel through it.
    Proxy,
    /// TLS handshake.
    Tls,
    /// Getting an access token.
    Token,
    /// Sending the request.
    Send,
    /// Reading the response head.
    Head,
    /// Reading the response body.
    Body,
}

/// The kind of an error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HttpErrorKind {
    /// Timeout.
    Timeout,
    /// The upstream closed the connection.
    Closed,
    /// The response is not HTTP, or ambiguous.
    Malformed,
    /// A size limit is exceeded.
    TooLarge,
    /// The address or the request path is not allowed.
    Forbidden,
    /// The system or TLS failed; see the source.
    Failed,
    /// The response is a redirect.
    Redirect,
}

/// Whether the upstream may have received the request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RequestDelivery {
    /// No byte of the request was sent.
    NotSent,
    /// Some or all of the request was sent.
    MaybeSent,
}

impl HttpStage {
    /// Name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            HttpStage::Resolve => "resolve",
            HttpStage::Address => "address",
            HttpStage::Connect => "connect",
            HttpStage::Proxy => "proxy",
            HttpStage::Tls => "tls",
            HttpStage::Token => "token",
            HttpStage::Send => "send",
            HttpStage::Head => "head",
            HttpStage::Body => "body",
        }
    }
}

impl HttpErrorKind {
    /// Name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            HttpErrorKind::Timeout => "late",
            HttpErrorKind::Closed => "closed",
            HttpErrorKind::Malformed => "malformed",
            HttpErrorKind::TooLarge => "too_large",
            HttpErrorKind::Forbidden => "forbidden",
            HttpErrorKind::Failed => "failed",
            HttpErrorKind::Redirect => "redirect",
        }
    }
}

impl HttpError {
    fn new(
        stage: HttpStage,
        kind: HttpErrorKind,
        delivery: RequestDelivery,
        detail: Cow<'static, str>,
    ) -> HttpError {
        HttpError { stage, kind, delivery, detail, source: None }
    }

    /// An error before a byte of the request was sent.
    pub(super) fn before_send(
        stage: HttpStage,
        kind: HttpErrorKind,
        detail: &'static str,
    ) -> HttpError {
        HttpError::new(stage, kind, RequestDelivery::NotSent, detail.into())
    }

    /// The proxy cannot be used. The request was not sent.
    pub(super) fn proxy(kind: HttpErrorKind, detail: String) -> HttpError {
        HttpError::new(HttpStage::Proxy, kind, RequestDelivery::NotSent, detail.into())
    }

    /// An error after a byte of the request was sent.
    pub fn after_send(stage: HttpStage, kind: HttpErrorKind, detail: &'static str) -> HttpError {
        HttpError::new(stage, kind, RequestDelivery::MaybeSent, detail.into())
    }

    /// An error of the system, or of TLS. A reset connection is [`HttpErrorKind::Closed`].
    pub(super) fn from_io(
        stage: HttpStage,
        reached: RequestDelivery,
        error: io::Error,
    ) -> HttpError {
        if asks_for_certificate(&error) {
            let detail = "the upstream asks for a client certificate; set `client_cert` and \
                          `client_key`";
            let (stage, kind) = (HttpStage::Tls, HttpErrorKind::Failed);
            return HttpError::new(stage, kind, reached, detail.into()).with_source(error);
        }
        let (kind, detail) = match error.kind() {
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::NotConnected => (HttpErrorKind::Closed, "the connection was cut"),
            io::ErrorKind::TimedOut => (HttpErrorKind::Timeout, "the connection timed out"),
            io::ErrorKind::ConnectionRefused => {
                (HttpErrorKind::Failed, "the connection was refused")
            }
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                (HttpErrorKind::Failed, "there is no route to it")
            }
            _ if stage == HttpStage::Resolve => {
                (HttpErrorKind::Failed, "it was not found, or no name server answered")
            }
            _ => (HttpErrorKind::Failed, ""),
        };
        HttpError::new(stage, kind, reached, detail.into()).with_source(error)
    }

    /// There is no access token for the upstream.
    pub(crate) fn no_token(kind: HttpErrorKind, detail: String) -> HttpError {
        HttpError::new(HttpStage::Token, kind, RequestDelivery::NotSent, detail.into())
    }

    /// An error of the connection to a token service.
    pub(crate) fn token_service(error: HttpError) -> HttpError {
        HttpError::no_token(error.kind, error.to_string().replace("upstream", "token service"))
    }

    /// The upstream has no network address.
    pub(crate) fn no_network() -> HttpError {
        HttpError::before_send(
            HttpStage::Address,
            HttpErrorKind::Forbidden,
            "the upstream has no network address",
        )
    }

    /// The response is a redirect.
    pub(crate) fn redirect() -> HttpError {
        let detail = "it is a redirect, which is neither followed nor passed on";
        HttpError::after_send(HttpStage::Head, HttpErrorKind::Redirect, detail)
    }

    /// The status is neither a success nor an error.
    pub(crate) fn unexpected_status() -> HttpError {
        HttpError::after_send(
            HttpStage::Head,
            HttpErrorKind::Malformed,
            "its status is none that a reply has",
        )
    }

    /// The handshake failed.
    pub(super) fn handshake(error: io::Error) -> HttpError {
        let is_untrusted = matches!(
            tls_error(&error),
            Some(rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer))
        );
        let mut failure = HttpError::from_io(HttpStage::Tls, RequestDelivery::NotSent, error);
        if is_untrusted {
            failure.detail = "its certificate is from an authority that is not trusted; name the \
                              file of the authority with `ca_file` in `[network]`"
                .into();
        }
        failure
    }

    /// The underlying error.
    pub(super) fn into_source(self) -> Option<Box<dyn Error + Send + Sync>> {
        self.source
    }

    /// Adds the underlying error.
    pub(super) fn with_source(
        mut self,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> HttpError {
        self.source = Some(source.into());
        self
    }
}

/// Whether the other end refuses a connection without a certificate. In TLS 1.3 it says so after
/// the handshake.
pub(super) fn asks_for_certificate(error: &io::Error) -> bool {
    let alert = rustls::Error::AlertReceived(rustls::AlertDescription::CertificateRequired);
    tls_error(error) == Some(&alert)
}

fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

impl fmt::Display for HttpError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.stage {
            HttpStage::Resolve => "looking up the upstream's host name",
            HttpStage::Address => "checking the upstream's address",
            HttpStage::Connect => "connecting to the upstream",
            HttpStage::Proxy => "connecting to the upstream through a proxy",
            HttpStage::Tls => "encrypting the connection to the upstream",
            HttpStage::Token => "getting an access token for the upstream",
            HttpStage::Send => "sending the request to the upstream",
            HttpStage::Head => "reading the head of the upstream's reply",
            HttpStage::Body => "reading the upstream's reply",
        };
        match &*self.detail {
            "" => write!(formatter, "{what} failed"),
            detail => write!(formatter, "{what}: {detail}"),
        }
    }
}

impl Error for HttpError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_system_is_named_without_an_address() {
        let lookup = || io::Error::other("failed to lookup address information: canary");
        let alert =
            |alert| io::Error::new(io::ErrorKind::InvalidData, rustls::Error::AlertReceived(alert));
        let certificate = "encrypting the connection to the upstream: the upstream asks for a \
                           client certificate; set `client_cert` and `client_key`";
        let table = [
            (
                HttpStage::Connect,
                io::ErrorKind::ConnectionRefused.into(),
                "connecting to the upstream: the connection was refused",
            ),
            (
                HttpStage::Connect,
                io::ErrorKind::HostUnreachable.into(),
                "connecting to the upstream: there is no route to it",
            ),
            (
                HttpStage::Connect,
                io::ErrorKind::TimedOut.into(),
                "connecting to the upstream: the connection timed out",
            ),
            (HttpStage::Connect, io::Error::other("canary"), "connecting to the upstream failed"),
            (
                HttpStage::Resolve,
                lookup(),
                "looking up the upstream's host name: it was not found, or no name server answered",
            ),
            (HttpStage::Tls, alert(rustls::AlertDescription::CertificateRequired), certificate),
            (HttpStage::Head, alert(rustls::AlertDescription::CertificateRequired), certificate),
            (
                HttpStage::Tls,
                alert(rustls::AlertDescription::HandshakeFailure),
                "encrypting the connection to the upstream failed",
            ),
        ];
        for (stage, error, expected) in table {
            let error = HttpError::from_io(stage, RequestDelivery::NotSent, error);
            assert_eq!(error.to_string(), expected);
        }
    }
}
