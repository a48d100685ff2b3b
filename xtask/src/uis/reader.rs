//! Who reads what: the clients, and the versions of the protocols that each of them speaks.

use foxwedge_run::{
    SharedId,
    encode::{AcpRevision, AgUiRevision, EncoderOptions, RunEncoder, UiFormat, UiFrame},
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
    pub(super) format: UiFormat,
    /// The protocol's version.
    pub(super) version: u32,
    /// Its package, as `package.json` calls it.
    pub(super) package: &'static str,
}

impl Reader {
    pub(super) const ALL: [Reader; 6] = [
        Reader { format: UiFormat::AgUi, version: 0, package: "@ag-ui/client-0" },
        Reader { format: UiFormat::AgUi, version: 0, package: "@ag-ui/client" },
        Reader { format: UiFormat::AgUi, version: 1, package: "@ag-ui/client" },
        Reader { format: UiFormat::AiSdk, version: 1, package: "ai" },
        Reader { format: UiFormat::Acp, version: 1, package: "@agentclientprotocol/sdk" },
        Reader { format: UiFormat::Acp, version: 2, package: "@agentclientprotocol/sdk" },
    ];

    fn frames(self, run: &Run) -> Vec<UiFrame> {
        let options = EncoderOptions {
            run: Some(run.id.clone()),
            agui: if self.version == 0 { AgUiRevision::V0 } else { AgUiRevision::V1 },
            acp: if self.version == 2 { AcpRevision::V2 } else { AcpRevision::V1 },
            ..EncoderOptions::new(&SharedId::from("s"))
        };
        let mut encoder = RunEncoder::new(self.format, options);
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
        let mut job = |frames: &[UiFrame], piece, fault| {
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
