//! What goes wrong between us and an upstream, so that a caller can decide whether to try again.

use std::{error::Error, fmt, io};

/// An upstream could not be asked, or its reply is not whole.
#[derive(Debug)]
pub struct HttpError {
    /// Where it went wrong.
    pub stage: Stage,
    /// What went wrong.
    pub kind: Kind,
    /// Whether the upstream may have begun to work: decides whether the request may be sent again.
    pub reached: Reached,
    detail: &'static str,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// Where it went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stage {
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
pub enum Kind {
    /// It took too long.
    Late,
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
pub enum Reached {
    /// It has not seen a byte of the request.
    No,
    /// It has seen some of it, or all.
    Maybe,
}

impl Stage {
    /// The word in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Resolve => "resolve",
            Stage::Address => "address",
            Stage::Connect => "connect",
            Stage::Tls => "tls",
            Stage::Send => "send",
            Stage::Head => "head",
            Stage::Body => "body",
        }
    }
}

impl Kind {
    /// The word in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Late => "late",
            Kind::Closed => "closed",
            Kind::Malformed => "malformed",
            Kind::TooLarge => "too_large",
            Kind::Forbidden => "forbidden",
            Kind::Failed => "failed",
            Kind::Redirect => "redirect",
        }
    }
}

impl HttpError {
    /// Before a byte of the request was sent.
    pub(super) fn before(stage: Stage, kind: Kind, detail: &'static str) -> HttpError {
        HttpError { stage, kind, reached: Reached::No, detail, source: None }
    }

    /// After a byte of the request was sent.
    pub(super) fn after(stage: Stage, kind: Kind, detail: &'static str) -> HttpError {
        HttpError { stage, kind, reached: Reached::Maybe, detail, source: None }
    }

    /// An error of the system. A connection that the other side cut is [`Kind::Closed`].
    pub(super) fn system(stage: Stage, reached: Reached, error: io::Error) -> HttpError {
        let (kind, detail) = match error.kind() {
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::NotConnected => (Kind::Closed, "the connection was cut"),
            io::ErrorKind::TimedOut => (Kind::Late, "the connection timed out"),
            _ => (Kind::Failed, "it failed"),
        };
        HttpError { stage, kind, reached, detail, source: Some(Box::new(error)) }
    }

    /// It is none of those that are asked over a network.
    pub(crate) fn no_network() -> HttpError {
        HttpError::before(Stage::Address, Kind::Forbidden, "it is not asked over a network")
    }

    /// It sends us, and whoever we tell of it, somewhere else.
    pub(crate) fn redirect() -> HttpError {
        let words = "it is a redirect, which is neither followed nor passed on";
        HttpError::after(Stage::Head, Kind::Redirect, words)
    }

    /// It is neither a success nor an error.
    pub(crate) fn odd_status() -> HttpError {
        HttpError::after(Stage::Head, Kind::Malformed, "its status is none that a reply has")
    }

    /// With what lies beneath.
    pub(super) fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> HttpError {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.stage {
            Stage::Resolve => "looking up the upstream's name",
            Stage::Address => "checking the upstream's address",
            Stage::Connect => "connecting to the upstream",
            Stage::Tls => "encrypting the connection to the upstream",
            Stage::Send => "sending the request to the upstream",
            Stage::Head => "reading the head of the upstream's reply",
            Stage::Body => "reading the upstream's reply",
        };
        write!(formatter, "{what}: {}", self.detail)
    }
}

impl Error for HttpError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
