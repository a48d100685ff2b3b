//! What an input is: what was said about it, and where nothing was said, what its bytes tell.

use anyhow::bail;
use foxwedge_core::Format;

use super::{
    ConversionInput,
    detect::{DetectedInput, detect_input},
};
use crate::{
    cli::{ConversionKind, ConvertArgs, InputFormat},
    cli_output::{CliError, clean},
    source::{decode_text, decompress},
};

/// What is to be done with an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConversionInputKind {
    /// All of it was read; its format is looked for as everywhere.
    Request,
    /// All of it was read.
    Response(Format),
    /// Its beginning was read.
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

/// Reads as much of an input as is needed to say what it is.
pub(crate) fn recognize_input(
    args: &ConvertArgs,
    input: &mut ConversionInput,
) -> anyhow::Result<ConversionInputKind> {
    let wire = match args.from {
        Some(InputFormat::Wire(wire)) => Some(wire),
        Some(InputFormat::Agent(agent)) => {
            check_session(agent.name(), args.kind)?;
            input.read_all()?;
            return Ok(ConversionInputKind::Request);
        }
        None => None,
    };
    match (args.kind, wire) {
        (Some(ConversionKind::Stream), Some(wire)) => return Ok(ConversionInputKind::Stream(wire)),
        (Some(ConversionKind::Request), _) => {
            input.read_all()?;
            return Ok(ConversionInputKind::Request);
        }
        (Some(ConversionKind::Response), Some(wire)) => {
            input.read_all()?;
            return Ok(ConversionInputKind::Response(wire));
        }
        (Some(ConversionKind::Response | ConversionKind::Stream) | None, _) => {}
    }
    let seen = detect_from_head(input)?;
    Ok(match (args.kind, seen) {
        (None, DetectedInput::Request | DetectedInput::NeedMoreBytes) => {
            ConversionInputKind::Request
        }
        (None | Some(ConversionKind::Stream), DetectedInput::Stream(wires)) => {
            ConversionInputKind::Stream(single_format(input, ConversionKind::Stream, wires, wire)?)
        }
        (None | Some(ConversionKind::Response), DetectedInput::Response(wires)) => {
            ConversionInputKind::Response(single_format(
                input,
                ConversionKind::Response,
                wires,
                wire,
            )?)
        }
        // One piece alone, but somebody knows that it is one.
        (Some(ConversionKind::Stream), DetectedInput::Response([only])) => {
            ConversionInputKind::Stream(*only)
        }
        (Some(kind), seen) => bail!(kind_mismatch_error(input, kind, seen)),
    })
}

/// Looks at an input until it is clear what it is.
fn detect_from_head(input: &mut ConversionInput) -> anyhow::Result<DetectedInput> {
    loop {
        match detect_input(&input.buffer, input.is_at_end) {
            DetectedInput::NeedMoreBytes if !input.is_at_end => input.read_more()?,
            seen @ DetectedInput::Stream(_) => return Ok(seen),
            DetectedInput::NeedMoreBytes | DetectedInput::Request | DetectedInput::Response(_) => {
                break;
            }
        }
    }
    input.read_all()?;
    Ok(if is_session(input) { DetectedInput::Request } else { detect_input(&input.buffer, true) })
}

/// Whether it is the file of an agent. Some of them look like answers.
pub(super) fn is_session(input: &ConversionInput) -> bool {
    let recognised = |bytes: &[u8]| {
        let text = decode_text(bytes).ok()?;
        Some(
            foxwedge_sessions::detect_agent(text.as_str())
                != foxwedge_sessions::AgentDetection::Unknown,
        )
    };
    input.agent.is_some()
        || decompress(&input.buffer).ok().and_then(|plain| recognised(&plain)).unwrap_or(false)
}

/// The one format it can be.
fn single_format(
    input: &ConversionInput,
    kind: ConversionKind,
    wires: &'static [Format],
    named: Option<Format>,
) -> Result<Format, CliError> {
    match (named, wires) {
        (Some(wire), _) => Ok(wire),
        (None, [only]) => Ok(*only),
        (None, []) => Err(unknown_format_error(input, kind)),
        (None, [first, ..]) => {
            let names: Vec<&str> = wires.iter().map(|wire| wire.name()).collect();
            let path = clean(&input.display_name);
            Err(CliError::new(format!(
                "{path}: this {} may be {}",
                kind.name(),
                names.join(" or ")
            ))
            .help(format!("say it with --from {}", first.name())))
        }
    }
}

fn unknown_format_error(input: &ConversionInput, kind: ConversionKind) -> CliError {
    let path = clean(&input.display_name);
    CliError::new(format!("{path}: nothing says in whose format this {} is", kind.name()))
        .help("say it with --from openai-chat, or the name of another format")
}

/// It does not look like what it was said to be.
fn kind_mismatch_error(
    input: &ConversionInput,
    kind: ConversionKind,
    seen: DetectedInput,
) -> CliError {
    let what = match seen {
        DetectedInput::Stream(_) => "a stream",
        DetectedInput::Response(_) => "a response",
        DetectedInput::Request | DetectedInput::NeedMoreBytes => "something else",
    };
    let (path, kind) = (clean(&input.display_name), kind.name());
    CliError::new(format!("{path}: this is no {kind} that we know, but {what}")).help(format!(
        "leave --kind out; or, if it is a {kind}, say its format: --from openai-chat"
    ))
}

/// A session is what a provider is sent, and nothing else.
fn check_session(agent: &str, kind: Option<ConversionKind>) -> Result<(), CliError> {
    match kind {
        None | Some(ConversionKind::Request) => Ok(()),
        Some(kind @ (ConversionKind::Response | ConversionKind::Stream)) => {
            let what = format!("a session of {agent} is no {}", kind.name());
            Err(CliError::new(what)
                .help("leave --kind out, or name a provider's format with --from"))
        }
    }
}
