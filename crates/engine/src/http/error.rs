//! What goes wrong between us and an upstream, so that a caller can decide whether to try again.

use std::{error::Error, fmt, io};

/// An upstream could not be asked, or its reply is not whole.
#[derive(Debug)]
pub struct HttpError {
    /// Where it went wrong.
    pub stage: HttpStage,
    /// What went wrong.
    pub kind: HttpErrorKind,
    /// Whether the upstream may have begun to work: decides whether the request may be sent again.
    pub delivery: RequestDelivery,
    detail: &'static str,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// Where it went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HttpStage {
    /// Looking up the name.
    Resolve,
    /// Looking whether the address is allowed.
    Address,
    /// Connecting.
    Connect,
    /// Beginning the encryption.
    Tls,
    /// Sending the request.
    Send,
    /// Reading the head of the reply.
    Head,
    /// Reading the body of the reply.
    Body,
}

/// What went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HttpErrorKind {
    /// It took too long.
    Timeout,
    /// The other side closed the connection.
    Closed,
    /// What came is not HTTP, or can be read in two ways.
    Malformed,
    /// It is more than was allowed.
    TooLarge,
    /// It may not be done: the address, or the path of the request.
    Forbidden,
    /// The system or the encryption says no; the source tells why.
    Failed,
    /// It names another address instead of a reply.
    Redirect,
}

/// Whether the upstream may have begun to work.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RequestDelivery {
    /// It has not seen a byte of the request.
    NotSent,
    /// It has seen some of it, or all.
    MaybeSent,
}

impl HttpStage {
    /// The word in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            HttpStage::Resolve => "resolve",
            HttpStage::Address => "address",
            HttpStage::Connect => "connect",
            HttpStage::Tls => "tls",
            HttpStage::Send => "send",
            HttpStage::Head => "head",
            HttpStage::Body => "body",
        }
    }
}

impl HttpErrorKind {
    /// The word in logs and metrics.
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
    /// Before a byte of the request was sent.
    pub(super) fn before_send(
        stage: HttpStage,
        kind: HttpErrorKind,
        detail: &'static str,
    ) -> HttpError {
        HttpError { stage, kind, delivery: RequestDelivery::NotSent, detail, source: None }
    }

    /// After a byte of the request was sent.
    pub(super) fn after_send(
        stage: HttpStage,
        kind: HttpErrorKind,
        detail: &'static str,
    ) -> HttpError {
        HttpError { stage, kind, delivery: RequestDelivery::MaybeSent, detail, source: None }
    }

    /// An error of the system. A connection that the other side cut is [`Kind::Closed`].
    pub(super) fn from_io(
        stage: HttpStage,
        reached: RequestDelivery,
        error: io::Error,
    ) -> HttpError {
        let (kind, detail) = match error.kind() {
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::NotConnected => (HttpErrorKind::Closed, "the connection was cut"),
            io::ErrorKind::TimedOut => (HttpErrorKind::Timeout, "the connection timed out"),
            _ => (HttpErrorKind::Failed, "it failed"),
        };
        HttpError { stage, kind, delivery: reached, detail, source: Some(Box::new(error)) }
    }

    /// It is none of those that are asked over a network.
    pub(crate) fn no_network() -> HttpError {
        HttpError::before_send(
            HttpStage::Address,
            HttpErrorKind::Forbidden,
            "it is not asked over a network",
        )
    }

    /// It sends us, and whoever we tell of it, somewhere else.
    pub(crate) fn redirect() -> HttpError {
        let words = "it is a redirect, which is neither followed nor passed on";
        HttpError::after_send(HttpStage::Head, HttpErrorKind::Redirect, words)
    }

    /// It is neither a success nor an error.
    pub(crate) fn unexpected_status() -> HttpError {
        HttpError::after_send(
            HttpStage::Head,
            HttpErrorKind::Malformed,
            "its status is none that a reply has",
        )
    }

    /// With what lies beneath.
    pub(super) fn with_source(
        mut self,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> HttpError {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.stage {
            HttpStage::Resolve => "looking up the upstream's name",
            HttpStage::Address => "checking the upstream's address",
            HttpStage::Connect => "connecting to the upstream",
            HttpStage::Tls => "encrypting the connection to the upstream",
            HttpStage::Send => "sending the request to the upstream",
            HttpStage::Head => "reading the head of the upstream's reply",
            HttpStage::Body => "reading the upstream's reply",
        };
        write!(formatter, "{what}: {}", self.detail)
    }
}

impl Error for HttpError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
