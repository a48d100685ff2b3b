//! What agents do about defects in their files, by rule and version, and how that is known: nearly
//! all of it was observed with the agents themselves.

use super::{
    rated_row::{EffectEvidence, FindingEffect, FindingPart, RatedRow},
    version::AgentVersion,
};
use crate::{ReadOnlyAgent, SessionAgent};

use FindingEffect::{Blocks, HidesHistory, Tolerated};
use FindingPart::{
    All, FirstLine, FirstRecord, HidesContent, LastMessage, NothingHidden, OpenEnd, OpenLine,
    SameTurn, WholeCycle,
};
use SessionAgent::{
    ClaudeCode, Codex, CopilotCli, GeminiCli, Goose, KimiCode, Opencode, Pi, QwenCode,
};

/// The tested versions of Claude Code that differ from the one before.
const CLAUDE_OLDEST: AgentVersion = AgentVersion::new(1, 0, 128);
const CLAUDE_2_0_77: AgentVersion = AgentVersion::new(2, 0, 77);
const CLAUDE_2_1_39: AgentVersion = AgentVersion::new(2, 1, 39);
const CLAUDE_2_1_112: AgentVersion = AgentVersion::new(2, 1, 112);
const CLAUDE_2_1_150: AgentVersion = AgentVersion::new(2, 1, 150);
const CLAUDE_2_1_325: AgentVersion = AgentVersion::new(2, 1, 325);
/// The tested versions of Codex that differ from the one before.
const CODEX_OLDEST: AgentVersion = AgentVersion::new(0, 50, 0);
const CODEX_0_110: AgentVersion = AgentVersion::new(0, 110, 0);
const CODEX_0_155: AgentVersion = AgentVersion::new(0, 155, 0);
/// The only tested version of Gemini CLI. Its files name no version.
const GEMINI: AgentVersion = AgentVersion::new(0, 61, 0);
/// The only tested version of Copilot CLI.
const COPILOT: AgentVersion = AgentVersion::new(1, 0, 102);
/// The only tested version of Kimi Code. Its files name no version.
const KIMI: AgentVersion = AgentVersion::new(2, 1, 0);
/// The only tested version of pi. Its files name no version.
const PI: AgentVersion = AgentVersion::new(1, 5, 0);
/// The only tested version of Qwen Code.
const QWEN: AgentVersion = AgentVersion::new(0, 24, 4);
/// The version in a row of opencode is the one that began the session; the one that opens it may be
/// newer. Tested with 1.18.33 and 1.18.34.
const OPENCODE: AgentVersion = AgentVersion::new(1, 0, 0);
/// The only tested version of goose. Its rows name no version.
const GOOSE: AgentVersion = AgentVersion::new(1, 52, 0);
/// Threads name the version of their format. Read in the source of Zed 1.18.0, which was not run.
const ZED: AgentVersion = AgentVersion::new(0, 0, 0);

/// The effects of findings on agents. The first matching row counts; a finding without a row is as
/// severe as its rule. A version between two tested ones counts as the older one, and a version before
/// all of them as untested.
pub const RATED_ROWS: &[RatedRow] = &[
    row(
        ClaudeCode,
        &[101],
        OpenEnd,
        CLAUDE_OLDEST,
        Tolerated,
        "1.0.128, 2.0.14, 2.0.77 and 2.1.112 leave out the open call, 2.1.325 adds a result",
    ),
    row(
        ClaudeCode,
        &[101],
        All,
        CLAUDE_OLDEST,
        HidesHistory,
        "all leave out a call without a result",
    ),
    row(
        ClaudeCode,
        &[102],
        All,
        CLAUDE_2_1_39,
        HidesHistory,
        "2.1.39 to 2.1.325 leave out results without a call; 2.1.4 and older send them",
    ),
    row(
        ClaudeCode,
        &[103],
        All,
        CLAUDE_2_1_39,
        HidesHistory,
        "2.1.39 to 2.1.325 add their own result and leave out the real one; 2.1.4 and older send it \
        where it is",
    ),
    row(
        ClaudeCode,
        &[104],
        All,
        CLAUDE_2_1_112,
        HidesHistory,
        "2.1.112 and 2.1.325 leave out second results; 2.1.70 and older send them",
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
        "2.0.77 to 2.1.325 put results before text; 2.0.14 and older do not",
    ),
    row(ClaudeCode, &[801, 802], NothingHidden, CLAUDE_OLDEST, Tolerated, "all leave out the line"),
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
        "1.0.128, 2.0.77 and 2.1.112 append the next record to the line",
    ),
    row(
        ClaudeCode,
        &[801, 802],
        HidesContent,
        CLAUDE_OLDEST,
        HidesHistory,
        "all leave out a record that shares its line with a torn one; up to 2.1.70 also everything \
        before it",
    ),
    row(ClaudeCode, &[803], All, CLAUDE_OLDEST, Tolerated, "all read invalid UTF-8 as U+FFFD"),
    row(
        ClaudeCode,
        &[702, 703],
        LastMessage,
        CLAUDE_2_1_112,
        HidesHistory,
        "2.1.112 and 2.1.325 begin at the last message without a child, and lose the turns after \
        the one it belongs to",
    ),
    row(
        ClaudeCode,
        &[703],
        NothingHidden,
        CLAUDE_OLDEST,
        Tolerated,
        "all read a repeated record once",
    ),
    row(
        ClaudeCode,
        &[701, 702, 704],
        All,
        CLAUDE_2_1_325,
        Tolerated,
        "2.1.325 handles a missing parent, a cycle, and results that are not on the path",
    ),
    row(
        ClaudeCode,
        &[701, 702],
        All,
        CLAUDE_OLDEST,
        HidesHistory,
        "1.0.128 to 2.1.112 lose everything before a missing parent",
    ),
    row(
        ClaudeCode,
        &[704],
        WholeCycle,
        CLAUDE_OLDEST,
        Blocks,
        "2.1.112 finds no conversation in the file, older ones hang",
    ),
    row(
        ClaudeCode,
        &[704],
        All,
        CLAUDE_2_1_39,
        HidesHistory,
        "2.1.39 to 2.1.112 leave a cycle, but lose everything before it",
    ),
    row(ClaudeCode, &[704], All, CLAUDE_OLDEST, Blocks, "1.0.128 to 2.1.4 hang"),
    row(
        Codex,
        &[101],
        All,
        CODEX_OLDEST,
        Tolerated,
        "0.50.0 to 0.166.0 add the result `aborted` to open calls when they send the history",
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
        "0.50.0 to 0.166.0 reject a file that does not start with its session_meta",
    ),
    row(
        Codex,
        &[801, 802],
        FirstLine,
        CODEX_0_155,
        Blocks,
        "0.155.0 and 0.166.0 reject a file whose first line is torn; 0.140.0 leaves out the line",
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
        "0.50.0 and 0.80.0 append the next record to the line",
    ),
    row(
        Codex,
        &[801, 802],
        HidesContent,
        CODEX_OLDEST,
        HidesHistory,
        "0.80.0 and 0.166.0 leave out a record that shares its line",
    ),
    row(Codex, &[803], All, CODEX_0_155, HidesHistory, "0.155.0 and 0.166.0 leave out the line"),
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
    row(GeminiCli, &[801, 802], NothingHidden, GEMINI, Tolerated, "0.61.0 leaves out the line"),
    row(
        GeminiCli,
        &[801, 802],
        OpenLine,
        GEMINI,
        Tolerated,
        "0.61.0 rewrites the history when it resumes",
    ),
    row(
        GeminiCli,
        &[801, 802],
        HidesContent,
        GEMINI,
        HidesHistory,
        "0.61.0 leaves out a message that shares its line, and a history that was torn while it was \
        rewritten",
    ),
    row(GeminiCli, &[803], All, GEMINI, Tolerated, "0.61.0 reads invalid UTF-8 as U+FFFD"),
    row(
        CopilotCli,
        &[101],
        All,
        COPILOT,
        Tolerated,
        "1.0.102 adds a result that says the tool was interrupted",
    ),
    row(
        CopilotCli,
        &[102],
        All,
        COPILOT,
        HidesHistory,
        "1.0.102 leaves out results without a call",
    ),
    row(
        CopilotCli,
        &[103],
        SameTurn,
        COPILOT,
        Tolerated,
        "1.0.102 puts results before a message that the user sent meanwhile",
    ),
    row(
        CopilotCli,
        &[103],
        All,
        COPILOT,
        HidesHistory,
        "1.0.102 adds its own result and leaves out the real one",
    ),
    row(CopilotCli, &[104], All, COPILOT, Tolerated, "1.0.102 leaves out second results"),
    row(
        CopilotCli,
        &[801, 802, 803],
        FirstRecord,
        COPILOT,
        Blocks,
        "1.0.102 rejects a file that does not start with its session.start event",
    ),
    row(
        CopilotCli,
        &[801, 802],
        FirstLine,
        COPILOT,
        Blocks,
        "1.0.102 rejects a file whose first line is torn",
    ),
    row(
        CopilotCli,
        &[801, 802],
        NothingHidden,
        COPILOT,
        Tolerated,
        "1.0.102 leaves out a line that is not JSON",
    ),
    row(
        CopilotCli,
        &[801, 802],
        OpenLine,
        COPILOT,
        Tolerated,
        "1.0.102 removes the torn end when it resumes",
    ),
    row(
        CopilotCli,
        &[801, 802],
        HidesContent,
        COPILOT,
        HidesHistory,
        "1.0.102 leaves out an event that shares its line with a torn one",
    ),
    row(CopilotCli, &[803], All, COPILOT, HidesHistory, "1.0.102 leaves out the line"),
    row(CopilotCli, &[805], All, COPILOT, Blocks, "1.0.102 rejects a file with such an event"),
    row(KimiCode, &[101], All, KIMI, Tolerated, "2.1.0 adds an error result to open calls"),
    row(KimiCode, &[102], All, KIMI, HidesHistory, "2.1.0 leaves out results without a call"),
    row(
        KimiCode,
        &[103],
        All,
        KIMI,
        HidesHistory,
        "2.1.0 adds its own result and leaves out the real one",
    ),
    row(KimiCode, &[104], All, KIMI, Tolerated, "2.1.0 leaves out second results"),
    row(KimiCode, &[801, 802], FirstRecord, KIMI, Blocks, "2.1.0 stops if the first line is torn"),
    row(KimiCode, &[801, 802], FirstLine, KIMI, Blocks, "2.1.0 stops if the first line is torn"),
    row(KimiCode, &[801, 802], OpenLine, KIMI, Tolerated, "2.1.0 removes a torn end"),
    row(
        KimiCode,
        &[801, 802],
        All,
        KIMI,
        HidesHistory,
        "2.1.0 leaves out a torn line and everything after it",
    ),
    row(KimiCode, &[803], All, KIMI, Tolerated, "2.1.0 reads invalid UTF-8 as U+FFFD"),
    row(Pi, &[101], All, PI, Tolerated, "1.5.0 adds the result `No result provided`"),
    row(
        Pi,
        &[801, 802],
        FirstRecord,
        PI,
        Blocks,
        "1.5.0 rejects a file that does not start with its header",
    ),
    row(Pi, &[801, 802], FirstLine, PI, Tolerated, "1.5.0 leaves out a line that is not JSON"),
    row(Pi, &[801, 802], NothingHidden, PI, Tolerated, "1.5.0 leaves out a line that is not JSON"),
    row(Pi, &[801, 802], OpenLine, PI, Tolerated, "1.5.0 ends the line when it opens the file"),
    row(
        Pi,
        &[801, 802],
        HidesContent,
        PI,
        HidesHistory,
        "1.5.0 leaves out a record that shares its line with a torn one",
    ),
    row(Pi, &[803], All, PI, Tolerated, "1.5.0 reads invalid UTF-8 as U+FFFD"),
    row(Pi, &[703], LastMessage, PI, HidesHistory, "1.5.0 begins at the last record"),
    row(Pi, &[703], NothingHidden, PI, Tolerated, "1.5.0 reads a repeated record once"),
    row(
        Pi,
        &[701, 702, 703],
        All,
        PI,
        HidesHistory,
        "1.5.0 loses everything before a missing parent",
    ),
    row(Pi, &[704], All, PI, Blocks, "1.5.0 ends with an error"),
    row(QwenCode, &[101], All, QWEN, Tolerated, "0.24.4 adds an error result to open calls"),
    row(QwenCode, &[102], All, QWEN, HidesHistory, "0.24.4 leaves out results without a call"),
    row(
        QwenCode,
        &[103],
        All,
        QWEN,
        HidesHistory,
        "0.24.4 adds its own result and leaves out the real one",
    ),
    row(QwenCode, &[104], All, QWEN, Tolerated, "0.24.4 leaves out second results"),
    row(QwenCode, &[801], NothingHidden, QWEN, Tolerated, "0.24.4 leaves out the line"),
    row(
        QwenCode,
        &[801],
        All,
        QWEN,
        HidesHistory,
        "0.24.4 loses a record that follows a torn one, also one that it appends itself",
    ),
    row(QwenCode, &[802], All, QWEN, Tolerated, "0.24.4 finds a record behind zeros"),
    row(QwenCode, &[803], All, QWEN, Tolerated, "0.24.4 reads invalid UTF-8 as U+FFFD"),
    row(QwenCode, &[703], LastMessage, QWEN, HidesHistory, "0.24.4 begins at the last record"),
    row(QwenCode, &[703], NothingHidden, QWEN, Tolerated, "0.24.4 joins a record and its copy"),
    row(
        QwenCode,
        &[703],
        All,
        QWEN,
        HidesHistory,
        "0.24.4 goes on at the first record with the id, and loses those between the two",
    ),
    row(
        QwenCode,
        &[701, 702, 704],
        All,
        QWEN,
        HidesHistory,
        "0.24.4 loses everything before a missing parent and before a cycle, and does not look beside \
        the path",
    ),
    row(
        Opencode,
        &[101],
        All,
        OPENCODE,
        Tolerated,
        "1.18 sends a call that is pending or running as failed: `[Tool execution was interrupted]`",
    ),
    row(Opencode, &[201], All, OPENCODE, Blocks, "1.18.34 sends both calls under one id"),
    row(Opencode, &[302], All, OPENCODE, Blocks, "1.18.34 sends it as it is, and it is refused"),
    row(Opencode, &[801], All, OPENCODE, Blocks, "1.18.34 ends with `Unexpected server error`"),
    row(Opencode, &[805], All, OPENCODE, Blocks, "1.18.34 fails, or its server: `Missing key`"),
    row(Goose, &[101], OpenEnd, GOOSE, Tolerated, "1.52.0 leaves out the open call"),
    row(Goose, &[101], All, GOOSE, HidesHistory, "1.52.0 leaves out the call"),
    row(Goose, &[102], All, GOOSE, HidesHistory, "1.52.0 leaves out a result without a call"),
    row(Goose, &[103], All, GOOSE, Blocks, "1.52.0 sends a late result where it is stored"),
    row(Goose, &[104], All, GOOSE, Tolerated, "1.52.0 leaves out second results"),
    row(Goose, &[801], All, GOOSE, Blocks, "1.52.0 ends with an error"),
    RatedRow {
        evidence: EffectEvidence::Source,
        ..row(
            SessionAgent::ReadOnly(ReadOnlyAgent::Zed),
            &[101],
            All,
            ZED,
            HidesHistory,
            "1.18.0 leaves out a call without a result",
        )
    },
];

/// A row whose behavior was observed.
const fn row(
    agent: SessionAgent,
    codes: &'static [u16],
    part: FindingPart,
    since: AgentVersion,
    effect: FindingEffect,
    behavior: &'static str,
) -> RatedRow {
    let evidence = EffectEvidence::Observed;
    RatedRow { agent, codes, part, since, effect, evidence, behavior }
}
