//! What an input is: what was said about it, and where nothing was said, what its bytes tell.

use anyhow::bail;
use foxwedge_core::Wire;
use foxwedge_dialect::session;

use super::{
    Input,
    detect::{Look, look},
};
use crate::{
    cli::{ConvertArgs, Format, Kind},
    say::{Trouble, clean},
    source::{text, unpacked},
};

/// What is to be done with an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Recognised {
    /// All of it was read; its format is looked for as everywhere.
    Request,
    /// All of it was read.
    Response(Wire),
    /// Its beginning was read.
    Stream(Wire),
}

impl Recognised {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Recognised::Request => Kind::Request,
            Recognised::Response(_) => Kind::Response,
            Recognised::Stream(_) => Kind::Stream,
        }
    }
}

/// Reads as much of an input as is needed to say what it is.
pub(crate) fn recognise(args: &ConvertArgs, input: &mut Input) -> anyhow::Result<Recognised> {
    let wire = match args.from {
        Some(Format::Wire(wire)) => Some(wire),
        Some(Format::Agent(agent)) => {
            check_session(agent.name(), args.kind)?;
            input.whole()?;
            return Ok(Recognised::Request);
        }
        None => None,
    };
    match (args.kind, wire) {
        (Some(Kind::Stream), Some(wire)) => return Ok(Recognised::Stream(wire)),
        (Some(Kind::Request), _) => {
            input.whole()?;
            return Ok(Recognised::Request);
        }
        (Some(Kind::Response), Some(wire)) => {
            input.whole()?;
            return Ok(Recognised::Response(wire));
        }
        (Some(Kind::Response | Kind::Stream) | None, _) => {}
    }
    let seen = seen(input)?;
    Ok(match (args.kind, seen) {
        (None, Look::Request | Look::More) => Recognised::Request,
        (None | Some(Kind::Stream), Look::Stream(wires)) => {
            Recognised::Stream(one(input, Kind::Stream, wires, wire)?)
        }
        (None | Some(Kind::Response), Look::Response(wires)) => {
            Recognised::Response(one(input, Kind::Response, wires, wire)?)
        }
        // One piece alone, but somebody knows that it is one.
        (Some(Kind::Stream), Look::Response([only])) => Recognised::Stream(*only),
        (Some(kind), seen) => bail!(another(input, kind, seen)),
    })
}

/// Looks at an input until it is clear what it is.
fn seen(input: &mut Input) -> anyhow::Result<Look> {
    loop {
        match look(&input.head, input.ended) {
            Look::More if !input.ended => input.more()?,
            seen @ Look::Stream(_) => return Ok(seen),
            Look::More | Look::Request | Look::Response(_) => break,
        }
    }
    input.whole()?;
    Ok(if is_session(input) { Look::Request } else { look(&input.head, true) })
}

/// Whether it is the file of an agent. Some of them look like answers.
pub(super) fn is_session(input: &Input) -> bool {
    let recognised = |bytes: &[u8]| {
        let text = text(bytes).ok()?;
        Some(session::recognise(text.as_str()) != session::Recognised::No)
    };
    input.agent.is_some()
        || unpacked(&input.head).ok().and_then(|plain| recognised(&plain)).unwrap_or(false)
}

/// The one format it can be.
fn one(
    input: &Input,
    kind: Kind,
    wires: &'static [Wire],
    named: Option<Wire>,
) -> Result<Wire, Trouble> {
    match (named, wires) {
        (Some(wire), _) => Ok(wire),
        (None, [only]) => Ok(*only),
        (None, []) => Err(unknown(input, kind)),
        (None, [first, ..]) => {
            let names: Vec<&str> = wires.iter().map(|wire| wire.name()).collect();
            let path = clean(&input.shown);
            Err(Trouble::new(format!("{path}: this {} may be {}", kind.name(), names.join(" or ")))
                .help(format!("say it with --from {}", first.name())))
        }
    }
}

fn unknown(input: &Input, kind: Kind) -> Trouble {
    let path = clean(&input.shown);
    Trouble::new(format!("{path}: nothing says in whose format this {} is", kind.name()))
        .help("say it with --from openai-chat, or the name of another format")
}

/// It does not look like what it was said to be.
fn another(input: &Input, kind: Kind, seen: Look) -> Trouble {
    let what = match seen {
        Look::Stream(_) => "a stream",
        Look::Response(_) => "a response",
        Look::Request | Look::More => "something else",
    };
    let (path, kind) = (clean(&input.shown), kind.name());
    Trouble::new(format!("{path}: this is no {kind} that we know, but {what}")).help(format!(
        "leave --kind out; or, if it is a {kind}, say its format: --from openai-chat"
    ))
}

/// A session is what a provider is sent, and nothing else.
fn check_session(agent: &str, kind: Option<Kind>) -> Result<(), Trouble> {
    match kind {
        None | Some(Kind::Request) => Ok(()),
        Some(kind @ (Kind::Response | Kind::Stream)) => {
            let what = format!("a session of {agent} is no {}", kind.name());
            Err(Trouble::new(what)
                .help("leave --kind out, or name a provider's format with --from"))
        }
    }
}
