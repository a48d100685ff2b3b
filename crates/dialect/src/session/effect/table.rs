//! What agents do by themselves about what is wrong with their files: by rule and version, as it was
//! seen with the agents themselves.

use crate::session::SessionAgent;

/// What a finding means to the agent that keeps the session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum FindingEffect {
    /// The agent opens the session with everything that was said, and its provider goes on.
    Tolerated,
    /// The agent opens the session, but leaves something out that the file holds.
    HidesHistory,
    /// The agent cannot open the session, or its provider refuses what it sends.
    Blocks,
}

/// A version of an agent; one that is not known counts as newer than all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct AgentVersion([u32; 3]);

impl AgentVersion {
    /// The version of these numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> AgentVersion {
        AgentVersion([major, minor, patch])
    }

    /// Its numbers.
    pub const fn numbers(self) -> [u32; 3] {
        self.0
    }

    /// Reads `2.1.39`; what follows the numbers is left out.
    pub fn parse(text: Option<&str>) -> AgentVersion {
        let mut numbers = [0; 3];
        let Some(text) = text else { return AgentVersion([u32::MAX; 3]) };
        for (number, word) in numbers.iter_mut().zip(text.split('.')) {
            let digits = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
            match word.get(..digits).and_then(|digits| digits.parse().ok()) {
                Some(known) => *number = known,
                None => return AgentVersion([u32::MAX; 3]),
            }
        }
        AgentVersion(numbers)
    }
}

/// Which findings of a rule a row is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FindingPart {
    /// All of them.
    All,
    /// Calls of the last turn, behind which nobody spoke.
    OpenEnd,
    /// Lines from which nothing could be read.
    NothingHidden,
    /// The same at the end of a file, without a line end: what is written next shares the line.
    OpenLine,
    /// Lines that hold something.
    HidesContent,
    /// The record without which the agent does not know a file.
    FirstRecord,
    /// A line before that record.
    FirstLine,
    /// A circle in which the last message stands: the file has no end to begin at.
    WholeCycle,
    /// A record that stands behind later turns, at the end of the file.
    LastMessage,
}

/// One row of the table: what an agent does about some findings, from a version on.
#[derive(Clone, Copy, Debug)]
pub struct RatedRow {
    /// The agent.
    pub agent: SessionAgent,
    /// The rules.
    pub codes: &'static [u16],
    /// Which of their findings.
    pub part: FindingPart,
    /// The first version that is known to do so.
    pub since: AgentVersion,
    /// What it means.
    pub effect: FindingEffect,
    /// What it was seen with.
    pub evidence: &'static str,
}

use FindingEffect::{Blocks, HidesHistory, Tolerated};
use FindingPart::{
    All, FirstLine, FirstRecord, HidesContent, LastMessage, NothingHidden, OpenEnd, OpenLine,
    WholeCycle,
};
use SessionAgent::{ClaudeCode, Codex, GeminiCli};

/// Versions of Claude Code that were tried and differ from the one before.
const CLAUDE_OLDEST: AgentVersion = AgentVersion::new(1, 0, 128);
const CLAUDE_2_0_77: AgentVersion = AgentVersion::new(2, 0, 77);
const CLAUDE_2_1_39: AgentVersion = AgentVersion::new(2, 1, 39);
const CLAUDE_2_1_112: AgentVersion = AgentVersion::new(2, 1, 112);
const CLAUDE_2_1_150: AgentVersion = AgentVersion::new(2, 1, 150);
const CLAUDE_2_1_325: AgentVersion = AgentVersion::new(2, 1, 325);
/// The same of Codex.
const CODEX_OLDEST: AgentVersion = AgentVersion::new(0, 50, 0);
const CODEX_0_110: AgentVersion = AgentVersion::new(0, 110, 0);
const CODEX_0_155: AgentVersion = AgentVersion::new(0, 155, 0);
/// The only version of Gemini CLI that was tried. Its files name none.
const GEMINI: AgentVersion = AgentVersion::new(0, 61, 0);

/// What agents do by themselves. The first row that fits counts; a finding without a row is as
/// severe as its rule. Only what was seen with the agent itself stands here; a version between two
/// that were tried counts as the older one, and one before all of them as not tried.
pub const RATED_ROWS: &[RatedRow] = &[
    row(
        ClaudeCode,
        &[101],
        OpenEnd,
        CLAUDE_OLDEST,
        Tolerated,
        "1.0.128, 2.0.14, 2.0.77 and 2.1.112 leave the open call out, 2.1.325 answers it",
    ),
    row(
        ClaudeCode,
        &[101],
        All,
        CLAUDE_OLDEST,
        HidesHistory,
        "all leave a call without an answer out",
    ),
    row(
        ClaudeCode,
        &[102],
        All,
        CLAUDE_2_1_39,
        HidesHistory,
        "2.1.39 to 2.1.325 leave out answers without a call; 2.1.4 and older send them",
    ),
    row(
        ClaudeCode,
        &[103],
        All,
        CLAUDE_2_1_39,
        HidesHistory,
        "2.1.39 to 2.1.325 answer the call themselves and leave the real answer out; 2.1.4 and older \
         send it where it stands",
    ),
    row(
        ClaudeCode,
        &[104],
        All,
        CLAUDE_2_1_112,
        HidesHistory,
        "2.1.112 and 2.1.325 leave out second answers; 2.1.70 and older send them",
    ),
    row(
        ClaudeCode,
        &[201],
        All,
        CLAUDE_2_1_112,
        HidesHistory,
        "2.1.112 to 2.1.325 leave out the second call; 2.1.70 and older send it",
    ),
    row(
        ClaudeCode,
        &[305],
        All,
        CLAUDE_2_0_77,
        Tolerated,
        "2.0.77 to 2.1.325 put answers before text; 2.0.14 and older do not",
    ),
    row(ClaudeCode, &[801, 802], NothingHidden, CLAUDE_OLDEST, Tolerated, "all leave the line out"),
    row(
        ClaudeCode,
        &[801, 802],
        OpenLine,
        CLAUDE_2_1_150,
        Tolerated,
        "2.1.150 and 2.1.325 end the line before they write",
    ),
    row(
        ClaudeCode,
        &[801, 802],
        OpenLine,
        CLAUDE_OLDEST,
        HidesHistory,
        "1.0.128, 2.0.77 and 2.1.112 write the next record behind it",
    ),
    row(
        ClaudeCode,
        &[801, 802],
        HidesContent,
        CLAUDE_OLDEST,
        HidesHistory,
        "all leave out a record that shares its line with a torn one; up to 2.1.70 what stands before \
         it as well",
    ),
    row(
        ClaudeCode,
        &[803],
        All,
        CLAUDE_OLDEST,
        Tolerated,
        "all read bytes that are no text as U+FFFD",
    ),
    row(
        ClaudeCode,
        &[702, 703],
        LastMessage,
        CLAUDE_2_1_112,
        HidesHistory,
        "2.1.112 and 2.1.325 begin at the last message that no other follows, and lose the turns \
         after the one it belongs to",
    ),
    row(
        ClaudeCode,
        &[703],
        NothingHidden,
        CLAUDE_OLDEST,
        Tolerated,
        "all read a record that stands there twice once",
    ),
    row(
        ClaudeCode,
        &[701, 702, 704],
        All,
        CLAUDE_2_1_325,
        Tolerated,
        "2.1.325 finds its way over a missing parent, out of a circle, and to answers beside the way",
    ),
    row(
        ClaudeCode,
        &[701, 702],
        All,
        CLAUDE_OLDEST,
        HidesHistory,
        "1.0.128 to 2.1.112 lose what stands before a missing parent",
    ),
    row(
        ClaudeCode,
        &[704],
        WholeCycle,
        CLAUDE_OLDEST,
        Blocks,
        "2.1.112 finds no conversation in the file, older ones do not come to an end",
    ),
    row(
        ClaudeCode,
        &[704],
        All,
        CLAUDE_2_1_39,
        HidesHistory,
        "2.1.39 to 2.1.112 come out of a circle, without what stands before it",
    ),
    row(ClaudeCode, &[704], All, CLAUDE_OLDEST, Blocks, "1.0.128 to 2.1.4 do not come to an end"),
    row(
        Codex,
        &[101],
        All,
        CODEX_OLDEST,
        Tolerated,
        "0.50.0 to 0.166.0 answer every open call with `aborted` whenever they send the history",
    ),
    row(
        Codex,
        &[102],
        All,
        CODEX_OLDEST,
        HidesHistory,
        "0.50.0 to 0.166.0 leave out outputs without a call",
    ),
    row(
        Codex,
        &[801, 802, 803],
        FirstRecord,
        CODEX_OLDEST,
        Blocks,
        "0.50.0 to 0.166.0 refuse a file that does not start with its session_meta",
    ),
    row(
        Codex,
        &[801, 802],
        FirstLine,
        CODEX_0_155,
        Blocks,
        "0.155.0 and 0.166.0 refuse a file whose first line is torn; 0.140.0 leaves the line out",
    ),
    row(
        Codex,
        &[801, 802],
        NothingHidden,
        CODEX_OLDEST,
        Tolerated,
        "0.50.0 to 0.166.0 leave out a line that is not JSON",
    ),
    row(
        Codex,
        &[801, 802],
        OpenLine,
        CODEX_0_110,
        Tolerated,
        "0.110.0 to 0.166.0 end the line before they write",
    ),
    row(
        Codex,
        &[801, 802],
        OpenLine,
        CODEX_OLDEST,
        HidesHistory,
        "0.50.0 and 0.80.0 write the next record behind it",
    ),
    row(
        Codex,
        &[801, 802],
        HidesContent,
        CODEX_OLDEST,
        HidesHistory,
        "0.80.0 and 0.166.0 leave out a record that shares its line",
    ),
    row(Codex, &[803], All, CODEX_0_155, HidesHistory, "0.155.0 and 0.166.0 leave the line out"),
    row(
        Codex,
        &[803],
        All,
        CODEX_OLDEST,
        Blocks,
        "0.50.0 to 0.140.0 stop: `stream did not contain valid UTF-8`",
    ),
    row(
        GeminiCli,
        &[801, 802],
        FirstRecord,
        GEMINI,
        Blocks,
        "0.61.0 does not find a session whose first record is torn",
    ),
    row(GeminiCli, &[801, 802], NothingHidden, GEMINI, Tolerated, "0.61.0 leaves the line out"),
    row(
        GeminiCli,
        &[801, 802],
        OpenLine,
        GEMINI,
        Tolerated,
        "0.61.0 writes the history anew when it goes on",
    ),
    row(
        GeminiCli,
        &[801, 802],
        HidesContent,
        GEMINI,
        HidesHistory,
        "0.61.0 leaves out a message that shares its line, and a history that was torn while it was \
         written anew",
    ),
    row(GeminiCli, &[803], All, GEMINI, Tolerated, "0.61.0 reads bytes that are no text as U+FFFD"),
];

const fn row(
    agent: SessionAgent,
    codes: &'static [u16],
    part: FindingPart,
    since: AgentVersion,
    effect: FindingEffect,
    seen: &'static str,
) -> RatedRow {
    RatedRow { agent, codes, part, since, effect, evidence: seen }
}
