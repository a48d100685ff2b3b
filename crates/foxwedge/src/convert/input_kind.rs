//! Determines what an input is: from the flags, else from its content.

use anyhow::bail;
use foxwedge_core::Format;

use super::{
    ConversionInput,
    detect::{DetectedInput, detect_input},
};
use crate::cli::{ConversionKind, ConvertArgs};
use foxwedge_local::{
    input_format::InputFormat,
    output::{HelpfulError, clean},
    source::{decode_text, decompress},
};

/// Kind of an input, with its format where it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConversionInputKind {
    /// Read completely. The format is detected as in other commands.
    Request,
    /// Read completely.
    Response(Format),
    /// Only the beginning was read.
    Stream(Format),
}

impl ConversionInputKind {
    pub(crate) fn kind(self) -> ConversionKind {
        match self {
            ConversionInputKind::Request => ConversionKind::Request,
            ConversionInputKind::Response(_) => ConversionKind::Response,
            ConversionInputKind::Stream(_) => ConversionKind::Stream,
        }
    }
}

/// Reads as much of an input as is needed to determine its kind.
pub(crate) fn recognize_input(
    args: &ConvertArgs,
    input: &mut ConversionInput,
) -> anyhow::Result<ConversionInputKind> {
    let format = match args.from {
        Some(InputFormat::Wire(format)) => Some(format),
        Some(InputFormat::Agent(agent)) => {
            check_session(agent.name(), args.kind)?;
            input.read_all()?;
            return Ok(ConversionInputKind::Request);
        }
        None => None,
    };
    match (args.kind, format) {
        (Some(ConversionKind::Stream), Some(format)) => {
            return Ok(ConversionInputKind::Stream(format));
        }
        (Some(ConversionKind::Request), _) => {
            input.read_all()?;
            return Ok(ConversionInputKind::Request);
        }
        (Some(ConversionKind::Response), Some(format)) => {
            input.read_all()?;
            return Ok(ConversionInputKind::Response(format));
        }
        (Some(ConversionKind::Response | ConversionKind::Stream) | None, _) => {}
    }
    let detected = detect_from_head(input)?;
    Ok(match (args.kind, detected) {
        (None, DetectedInput::Request | DetectedInput::NeedMoreBytes) => {
            ConversionInputKind::Request
        }
        (None | Some(ConversionKind::Stream), DetectedInput::Stream(formats)) => {
            ConversionInputKind::Stream(single_format(
                input,
                ConversionKind::Stream,
                formats,
                format,
            )?)
        }
        (None | Some(ConversionKind::Response), DetectedInput::Response(formats)) => {
            ConversionInputKind::Response(single_format(
                input,
                ConversionKind::Response,
                formats,
                format,
            )?)
        }
        // A single event looks like a response; `--kind stream` decides.
        (Some(ConversionKind::Stream), DetectedInput::Response([only])) => {
            ConversionInputKind::Stream(*only)
        }
        (Some(kind), detected) => bail!(kind_mismatch_error(input, kind, detected)),
    })
}

/// Reads an input until its kind is clear.
fn detect_from_head(input: &mut ConversionInput) -> anyhow::Result<DetectedInput> {
    loop {
        match detect_input(&input.buffer, input.is_at_end) {
            DetectedInput::NeedMoreBytes if !input.is_at_end => input.read_more()?,
            detected @ DetectedInput::Stream(_) => return Ok(detected),
            DetectedInput::NeedMoreBytes | DetectedInput::Request | DetectedInput::Response(_) => {
                break;
            }
        }
    }
    input.read_all()?;
    Ok(if is_session(input) { DetectedInput::Request } else { detect_input(&input.buffer, true) })
}

/// Whether it is a session file of an agent. Some of them look like responses.
pub(super) fn is_session(input: &ConversionInput) -> bool {
    let is_session_file = |bytes: &[u8]| {
        let text = decode_text(bytes).ok()?;
        Some(
            foxwedge_sessions::detect_agent(text.as_str())
                != foxwedge_sessions::AgentDetection::Unknown,
        )
    };
    input.agent.is_some()
        || decompress(&input.buffer).ok().and_then(|plain| is_session_file(&plain)).unwrap_or(false)
}

/// The given format, else the only detected one.
fn single_format(
    input: &ConversionInput,
    kind: ConversionKind,
    formats: &'static [Format],
    given: Option<Format>,
) -> Result<Format, HelpfulError> {
    match (given, formats) {
        (Some(format), _) => Ok(format),
        (None, [only]) => Ok(*only),
        (None, []) => Err(unknown_format_error(input, kind)),
        (None, [first, ..]) => {
            let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
            let path = clean(&input.display_name);
            Err(HelpfulError::new(format!(
                "{path}: this {} may be {}",
                kind.name(),
                names.join(" or ")
            ))
            .help(format!("choose one: --from {}", first.name())))
        }
    }
}

fn unknown_format_error(input: &ConversionInput, kind: ConversionKind) -> HelpfulError {
    let path = clean(&input.display_name);
    HelpfulError::new(format!("{path}: the format of this {} is not known", kind.name()))
        .help("name the format: --from openai-chat")
}

/// The error for an input that does not match `--kind`.
fn kind_mismatch_error(
    input: &ConversionInput,
    kind: ConversionKind,
    detected: DetectedInput,
) -> HelpfulError {
    let actual = match detected {
        DetectedInput::Stream(_) => "a stream",
        DetectedInput::Response(_) => "a response",
        DetectedInput::Request | DetectedInput::NeedMoreBytes => "something else",
    };
    let (path, kind) = (clean(&input.display_name), kind.name());
    HelpfulError::new(format!("{path}: this is not a known {kind}, but {actual}"))
        .help(format!("remove --kind; or, if it is a {kind}, name its format: --from openai-chat"))
}

/// Refuses `--kind` for a session: sessions are always converted as requests.
fn check_session(agent: &str, kind: Option<ConversionKind>) -> Result<(), HelpfulError> {
    match kind {
        None | Some(ConversionKind::Request) => Ok(()),
        Some(kind @ (ConversionKind::Response | ConversionKind::Stream)) => {
            let message = format!("a session of {agent} is not a {}", kind.name());
            Err(HelpfulError::new(message)
                .help("remove --kind, or name a provider's format with --from"))
        }
    }
}
