//! Who reads what: the clients, and the versions of the protocols that each of them speaks.

use foxwedge_run::{
    Id,
    encode::{Acp, AgUi, Encoder, Format, Frame, Options},
};
use serde_json::{Value, json};

use super::{
    fault::{self, Fault},
    run::{Kind, Run},
};
use crate::judges::Question;

/// A client and what it is given.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Reader {
    pub(super) format: Format,
    /// The protocol's version.
    pub(super) version: u32,
    /// Its package, as `package.json` calls it.
    pub(super) package: &'static str,
}

impl Reader {
    pub(super) const ALL: [Reader; 6] = [
        Reader { format: Format::AgUi, version: 0, package: "@ag-ui/client-0" },
        Reader { format: Format::AgUi, version: 0, package: "@ag-ui/client" },
        Reader { format: Format::AgUi, version: 1, package: "@ag-ui/client" },
        Reader { format: Format::AiSdk, version: 1, package: "ai" },
        Reader { format: Format::Acp, version: 1, package: "@agentclientprotocol/sdk" },
        Reader { format: Format::Acp, version: 2, package: "@agentclientprotocol/sdk" },
    ];

    fn frames(self, run: &Run) -> Vec<Frame> {
        let options = Options {
            run: Some(run.id.clone()),
            agui: if self.version == 0 { AgUi::V0 } else { AgUi::V1 },
            acp: if self.version == 2 { Acp::V2 } else { Acp::V1 },
            ..Options::new(&Id::from("s"))
        };
        let mut encoder = Encoder::new(self.format, options);
        let mut frames = Vec::new();
        run.effects.iter().for_each(|effect| encoder.push(effect, &mut frames));
        encoder.finish(&mut frames);
        frames
    }
}

/// How many bytes of a stream arrive at a time; 0 is all at once. Seven bytes part every line.
const PIECES: [usize; 2] = [0, 7];

/// One reading of one stream.
pub(super) struct Job<'a> {
    pub(super) run: &'a Run,
    pub(super) reader: Reader,
    pub(super) piece: usize,
    /// What is wrong with the stream.
    pub(super) fault: Option<Fault>,
    stream: String,
}

impl Question for Job<'_> {
    fn line(&self) -> Value {
        json!({
            "format": self.reader.format.name(),
            "reader": self.reader.package,
            "version": self.reader.version,
            "stream": self.stream,
            "piece": self.piece,
        })
    }

    fn told(&self) -> String {
        let Reader { format, version, package } = self.reader;
        let fault = self.fault.as_ref().map(|fault| format!(", {fault}")).unwrap_or_default();
        let (name, kind) = (&self.run.name, self.run.kind);
        format!("{name} ({kind:?}{fault}) as {} {version} by {package}", format.name())
    }
}

impl Job<'_> {
    /// The stream itself.
    pub(super) fn stream(&self) -> &str {
        &self.stream
    }
}

/// All readings of a run.
pub(super) fn jobs(run: &Run) -> Vec<Job<'_>> {
    let mut jobs = Vec::new();
    for reader in Reader::ALL {
        let frames = reader.frames(run);
        let mut job = |frames: &[Frame], piece, fault| {
            let mut stream = String::new();
            frames.iter().for_each(|frame| frame.write_sse(&mut stream));
            jobs.push(Job { run, reader, piece, fault, stream });
        };
        match run.kind {
            Kind::Random | Kind::Story => job(&frames, 0, None),
            Kind::Changes | Kind::Log => PIECES.iter().for_each(|it| job(&frames, *it, None)),
        }
        if run.kind == Kind::Changes {
            for fault in fault::of(reader) {
                if let Some(frames) = fault.plant(&frames) {
                    job(&frames, 0, Some(fault));
                }
            }
        }
    }
    jobs
}
