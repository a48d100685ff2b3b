//! What a conversion loses.

/// Content that a format cannot represent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loss {
    /// What was lost.
    pub kind: LossKind,
    /// Where it was.
    pub location: LossLocation,
    /// One sentence that describes this loss.
    pub note: String,
}

/// Where a loss occurred.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum LossLocation {
    /// In the request settings.
    Request,
    /// In the message at this index of the history.
    Message(usize),
    /// In a provider response.
    Reply,
}

/// What was lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum LossKind {
    /// Instructions: a bare list of messages cannot hold them.
    Instructions,
    /// Reasoning of another provider.
    Reasoning,
    /// The signature of reasoning or of a call, or the encrypted form.
    Signature,
    /// An image, a file, audio or video.
    Media,
    /// The error flag of a tool result.
    ErrorMark,
    /// The position of a text after a call.
    Order,
    /// Arguments that are not a JSON object.
    Arguments,
    /// A prompt cache marker.
    CacheMark,
    /// The source of a text.
    Citation,
    /// The mark of a text as a refusal.
    Refusal,
    /// A call that the provider ran itself, and its result.
    ServerCall,
    /// A tool that the format cannot declare.
    Tool,
    /// The tool choice.
    ToolChoice,
    /// A setting of the request.
    Setting,
    /// The exact stop reason.
    StopReason,
    /// A token count of the usage.
    Usage,
    /// All candidates but the first.
    Candidates,
    /// Content of an unknown type.
    Unknown,
}

impl LossKind {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            LossKind::Instructions => "instructions",
            LossKind::Reasoning => "reasoning",
            LossKind::Signature => "signature",
            LossKind::Media => "media",
            LossKind::ErrorMark => "error-mark",
            LossKind::Order => "order",
            LossKind::Arguments => "arguments",
            LossKind::CacheMark => "cache-mark",
            LossKind::Citation => "citation",
            LossKind::Refusal => "refusal",
            LossKind::ServerCall => "server-call",
            LossKind::Tool => "tool",
            LossKind::ToolChoice => "tool-choice",
            LossKind::Setting => "setting",
            LossKind::StopReason => "stop-reason",
            LossKind::Usage => "usage",
            LossKind::Candidates => "candidates",
            LossKind::Unknown => "unknown",
        }
    }
}
