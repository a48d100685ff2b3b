//! What providers and agents demand, as data: one line each, with the rule that checks it.
//!
//! Numbers are positions: a new demand goes to the end of its family, and none is ever removed.

use Checked::{By, Not};

/// A family of demands.
pub(super) struct Facts {
    pub(super) letter: char,
    pub(super) title: &'static str,
    pub(super) facts: &'static [Fact],
}

/// One demand.
pub(super) struct Fact {
    pub(super) demand: &'static str,
    pub(super) checked: Checked,
}

/// Which rule checks a demand.
pub(super) enum Checked {
    /// The rule of this code.
    By(u16),
    /// None, and why.
    Not(&'static str),
}

const fn fact(demand: &'static str, checked: Checked) -> Fact {
    Fact { demand, checked }
}

pub(super) const FAMILIES: &[Facts] = &[
    Facts { letter: 'P', title: "Pairing", facts: PAIRING },
    Facts { letter: 'O', title: "Order and placement", facts: ORDER },
    Facts { letter: 'I', title: "Identifiers", facts: IDS },
    Facts { letter: 'C', title: "Content", facts: CONTENT },
    Facts { letter: 'R', title: "Roles", facts: ROLES },
    Facts { letter: 'T', title: "Reasoning", facts: REASONING },
    Facts { letter: 'X', title: "One provider only", facts: PECULIAR },
    Facts { letter: 'F', title: "Session files, as agents read them", facts: FILES },
];

const PAIRING: &[Fact] = &[
    fact("A call is answered before anybody speaks again.", By(101)),
    fact("An answer names a call that stands before it.", By(102)),
    fact("Of several parallel calls all are answered, not some; Gemini counts them.", By(101)),
    fact("A call has one answer and no second one.", By(104)),
    fact(
        "A request does not end on an open call (unless the policy says it is still running).",
        By(101),
    ),
    fact(
        "A cut through the history leaves both halves of a pair on one side.",
        Not("a bad cut is found as FW101 or FW102"),
    ),
    fact(
        "A call that the provider runs itself is finished inside its own assistant turn.",
        By(601),
    ),
    fact("An answer that carries a tool's name carries the name its call has.", By(107)),
];

const ORDER: &[Fact] = &[
    fact("Nothing stands between a calling message and its answers.", By(103)),
    fact("In the message behind a calling turn, answers come before everything else.", By(305)),
    fact("The answers to parallel calls share one message where answers are blocks.", By(105)),
    fact("The message that holds answers holds nothing else.", By(310)),
    fact(
        "Results of parallel calls may be in any order.",
        Not("nothing to refuse; a repair uses the order of the calls"),
    ),
    fact("An answer never stands before its call.", By(103)),
    fact(
        "Calls live in assistant messages, answers in user or tool messages, thinking in assistant messages.",
        By(304),
    ),
    fact("Gemini: a turn with calls comes directly after a user turn or after answers.", By(402)),
];

const IDS: &[Fact] = &[
    fact("Every call and every answer has a non-empty id (Gemini: optional).", By(204)),
    fact("No id occurs twice in one turn.", By(201)),
    fact("No id is used again by a later turn.", By(202)),
    fact("An id keeps to the provider's alphabet.", By(203)),
    fact("An id keeps to the provider's length.", By(203)),
    fact("Responses: the optional item id begins with the prefix of its type.", By(205)),
    fact("Responses: an item id that the server did not store is not sent.", By(206)),
    fact(
        "A program that replaces an id does so in the call and its result, always the same way.",
        Not("it is about repairs, which do so"),
    ),
    fact("Interactions: every call has an id, and every result names it in `call_id`.", By(204)),
];

const CONTENT: &[Fact] = &[
    fact("Arguments parse as JSON (strict servers look into the string).", By(302)),
    fact("Arguments are an object.", By(302)),
    fact("Arguments are a string in the OpenAI formats and an object in the others.", By(302)),
    fact("A message says something or calls something.", By(301)),
    fact("A text block is not empty (Bedrock: nor only white space).", By(308)),
    fact("Beside calls, an empty string is taken everywhere and null is not.", By(311)),
    fact("An answer has content.", By(303)),
    fact("A tool's name keeps to the provider's alphabet and length.", By(207)),
    fact("An empty list of calls is not sent at all.", By(309)),
    fact("OpenAI Chat: at most 128 calls in one message.", By(108)),
    fact("OpenAI Chat: an answer holds text parts only.", By(307)),
    fact("Anthropic: a final assistant message does not end in white space.", By(312)),
    fact(
        "Strict servers refuse message fields they do not know.",
        Not(
            "there is no list of allowed fields for each server yet; unknown fields are not touched",
        ),
    ),
    fact("Bedrock: a history with tool blocks comes with a tool declaration.", By(405)),
    fact("A request has at least one message.", By(314)),
    fact("Text is valid Unicode, without half characters.", By(313)),
];

const ROLES: &[Fact] = &[
    fact(
        "After the instructions the user speaks first (Gemini: a call cannot open the history).",
        By(401),
    ),
    fact("User and assistant alternate.", By(402)),
    fact(
        "A request ends with the user or with answers, where the model takes no prefill.",
        By(403),
    ),
    fact("Instructions stand only where the provider allows them.", By(406)),
    fact("Roles are known ones.", By(407)),
    fact("Mistral: a user message does not directly follow an answer.", By(404)),
];

const REASONING: &[Fact] = &[
    fact("Anthropic, manual thinking: the running tool turn begins with its thinking.", By(502)),
    fact("Signed thinking comes back with its signature, from the same provider.", By(503)),
    fact("An assistant turn does not end in thinking.", By(501)),
    fact(
        "Newer Claude models: signed thinking is valid only behind the exact history it was made on.",
        Not(
            "one request does not show that history; a repair in front of such a block removes it and reports that",
        ),
    ),
    fact(
        "Thinking is not switched on or off inside a tool loop.",
        Not("it needs the previous request"),
    ),
    fact(
        "Gemini 3: the first call of each step in the current turn carries its thought signature.",
        By(502),
    ),
    fact("Responses: a reasoning item is followed by the item it was made with.", By(501)),
    fact("Responses without storage: a reasoning item carries its encrypted content.", By(206)),
    fact(
        "DeepSeek, thinking mode: a message with calls carries `reasoning_content`, even an empty one.",
        By(502),
    ),
    fact(
        "Kimi, thinking models: a message with calls has `reasoning_content`, not an empty one.",
        Not("there is no Kimi profile yet; the deepseek profile writes an empty one"),
    ),
    fact(
        "Reasoning of one provider is not sent to another.",
        Not(
            "a history does not name its provider; `resume --to` leaves foreign reasoning out and reports that",
        ),
    ),
    fact(
        "Interactions without stored state: the signed thoughts before a call come back with it.",
        Not("a history does not show which thoughts a model had; those that are there are kept"),
    ),
];

const PECULIAR: &[Fact] = &[
    fact(
        "Anthropic: at most four cache marks, none on empty text or thinking.",
        Not("cache marks are not checked; empty text is found as FW308"),
    ),
    fact(
        "Anthropic: a paused turn is sent back last, and only the assistant goes on from it.",
        By(601),
    ),
    fact("Anthropic: calls and answers of MCP servers pair inside the assistant turn.", By(602)),
    fact(
        "Anthropic: a call that code made stays with the code; its answer names the toolset of the call.",
        By(601),
    ),
    fact(
        "Anthropic: a `fallback` block keeps its place; an open call before it is left out, and gets no answer.",
        By(101),
    ),
    fact(
        "OpenAI Responses: a program and its output, an agent's call and its output pair.",
        By(602),
    ),
    fact("OpenAI Responses: an `async` call may stay open.", By(101)),
    fact("A turn with a block of an unknown type is left as it is.", By(603)),
    fact("Anthropic: a `tool_reference` names a tool of the request.", By(604)),
    fact("OpenAI Responses: a `compaction_trigger` is the last item.", By(605)),
    fact(
        "OpenAI Responses: `additional_tools`, `configuration_update` and `compaction` items may be anywhere.",
        Not("no place is documented; they are not touched"),
    ),
    fact(
        "Anthropic: `tool_addition` and `tool_removal` are in a system message and name known tools.",
        Not("tools may come from MCP servers and earlier changes, which the request does not list"),
    ),
    fact(
        "Anthropic: calls that code made need the `container` of that code.",
        Not("the container is not part of the history; `explain` names the field"),
    ),
    fact(
        "Anthropic: a compaction block is first, unique and unchanged.",
        Not(
            "its place depends on the beta in the request's headers; its content is signed by the server",
        ),
    ),
    fact(
        "Anthropic: with context editing on the server, the client keeps sending the full history.",
        Not("a request does not show what is missing"),
    ),
    fact(
        "Anthropic: a thread is continued once, and stored fields do not differ.",
        Not("the state is on the server; a continued thread only switches off FW102 and FW401"),
    ),
    fact(
        "Responses: the `phase` of assistant messages comes back.",
        Not("its absence is not refused; it is not touched"),
    ),
    fact(
        "Llama 3 templates: one call per message.",
        Not("it depends on the template; there is no profile for it"),
    ),
    fact("Responses: every kind of call is answered by its own kind of output.", By(102)),
    fact(
        "DashScope: its Responses endpoint misreads correct calls.",
        Not("no history can avoid it; use the chat endpoint"),
    ),
    fact(
        "GLM: one opaque error for every malformed list.",
        Not("the strict profile finds the known causes"),
    ),
    fact("Perplexity and older gateways: user and assistant alternate strictly.", By(402)),
    fact(
        "Anthropic: a managed agent waits until every event that it names is answered.",
        Not("the log is on the server"),
    ),
    fact(
        "MCP: a sampling message with results has nothing else, and belongs to the message before it.",
        Not("sampling is deprecated; there is no profile for it"),
    ),
];

const FILES: &[Fact] = &[
    fact("The parent that a record names is in the file.", By(701)),
    fact("An answer lies where its agent finds it from the last message.", By(702)),
    fact("No two records share an id.", By(703)),
    fact("No record is among its own ancestors.", By(704)),
    fact("Every line is one whole record, and a list is closed.", By(801)),
    fact("No line holds bytes of zero.", By(802)),
    fact("Every line is UTF-8.", By(803)),
    fact("No record is larger than a whole request may be.", By(804)),
    fact("Every record has the fields that its agent requires.", By(805)),
    fact(
        "Codex: the numbers of records rise.",
        Not("a repair keeps them so; wrong numbers are not searched for"),
    ),
    fact(
        "Indexes and databases next to a session agree with it.",
        Not("they are neither read nor written"),
    ),
    fact(
        "Files that a record refers to, such as snapshots and long outputs, exist.",
        Not("only the session file is read"),
    ),
];
