//! The live rows below the scrollback: work in progress, queued prompts and the editor. They
//! always fit.

use anstyle::Style;

use super::{
    approval_prompt::ApprovalPromptStage,
    markdown::dim_row,
    row::StyledRow,
    screen::{MAX_OFFERED_FILES, ScreenWork, TerminalScreen},
};
use foxwedge_local::{
    language::localize,
    output::{BOLD, DIM, FRAME, WARNING, width as columns},
    runs::draw::SignSet,
};

/// Maximum rows of incomplete text in a small terminal.
const MIN_TEXT_ROWS: usize = 8;
/// Maximum rows of calls.
const MAX_CALL_ROWS: usize = 8;
/// Maximum rows of queued prompts.
const MAX_QUEUED_ROWS: usize = 3;
/// Maximum number of listed commands.
const MAX_COMMAND_ROWS: usize = 8;

/// The live rows and the position of the cursor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LiveArea {
    pub(super) rows: Vec<StyledRow>,
    pub(super) row: usize,
    pub(super) column: usize,
}

/// Lays out the live rows. `frame` is the frame of the spinner; `None` without animation.
pub(super) fn live_area(screen: &TerminalScreen, now: u64, frame: Option<usize>) -> LiveArea {
    // The last column stays free: a terminal may wrap a row that fills it.
    let width = screen.width.saturating_sub(1).max(1);
    let max = screen.height.saturating_sub(1).max(1);

    let prefix = match screen.stage {
        ApprovalPromptStage::TypingReason(_) => &*localize("why not? "),
        ApprovalPromptStage::New | ApprovalPromptStage::Shown(_) | ApprovalPromptStage::Focused => {
            "> "
        }
    };
    let prefix = if columns(prefix) * 2 > width { "" } else { prefix };
    let height = (max / 2).clamp(1, 12);
    let view = screen.editor.view(width.saturating_sub(columns(prefix)) + 1, height);
    let blank = " ".repeat(columns(prefix));
    let editor: Vec<StyledRow> = view
        .rows
        .iter()
        .enumerate()
        .map(|(at, row)| {
            let mark = if at == 0 { prefix } else { &blank };
            StyledRow::of(if screen.is_busy() { DIM } else { BOLD }, mark)
                .with(Style::new(), row)
                .fit(width)
        })
        .collect();

    let text = text_rows(screen, width);
    let calls = screen.calls.live_rows(screen.signs, width, MAX_CALL_ROWS, now);
    let question = question_rows(screen, width, max.saturating_sub(editor.len()), now);
    let queued = queued_rows(screen, width);
    let status = status_rows(screen, width, now, frame);
    let gap = |is: bool| vec![StyledRow::new(); usize::from(is)];
    let mut sections = [
        LiveSection::new(gap(!text.is_empty() && screen.separates_text()), SectionCut::Below),
        LiveSection::new(
            gap(!calls.is_empty() && (!text.is_empty() || screen.separates_calls())),
            SectionCut::Below,
        ),
        LiveSection::new(gap(!question.is_empty()), SectionCut::Below),
        LiveSection::new(gap(screen.has_rows()), SectionCut::Below),
        LiveSection::new(text, SectionCut::Above),
        LiveSection::new(calls, SectionCut::Below),
        LiveSection::new(question, SectionCut::Middle),
        LiveSection::new(queued, SectionCut::Below),
        LiveSection::new(status, SectionCut::Below),
        LiveSection::new(editor, SectionCut::Below),
        LiveSection::new(footer_rows(screen, width), SectionCut::Below),
    ];
    // Sections in the order in which they are dropped if there is no room. The editor always stays.
    const FIRST_TO_GO: [usize; 10] = [0, 1, 2, 3, 4, 10, 7, 5, 8, 6];
    let all: usize = sections.iter().map(|section| section.rows.len()).sum();
    let mut over = all.saturating_sub(max);
    for at in FIRST_TO_GO {
        over = sections[at].shrink(over);
    }
    const SHOWN: [usize; 11] = [0, 4, 1, 5, 2, 6, 3, 7, 8, 9, 10];
    let mut rows = Vec::new();
    let mut first = 0;
    for at in SHOWN {
        if at == 9 {
            first = rows.len();
        }
        rows.append(&mut sections[at].rows);
    }
    let column = columns(prefix) + view.column;
    LiveArea { rows, row: first + view.row, column: column.min(width) }
}

/// Where rows are omitted.
#[derive(Clone, Copy)]
enum SectionCut {
    Above,
    Middle,
    Below,
}

struct LiveSection {
    rows: Vec<StyledRow>,
    cut: SectionCut,
}

impl LiveSection {
    fn new(rows: Vec<StyledRow>, cut: SectionCut) -> LiveSection {
        LiveSection { rows, cut }
    }

    /// Drops up to `over` rows. Returns how many rows are still too many.
    fn shrink(&mut self, over: usize) -> usize {
        let cut = over.min(self.rows.len());
        match self.cut {
            SectionCut::Above => drop(self.rows.drain(..cut)),
            SectionCut::Below => self.rows.truncate(self.rows.len() - cut),
            SectionCut::Middle => {
                // The first row shows the call, the last ones the keys.
                let from = usize::from(cut < self.rows.len());
                drop(self.rows.drain(from..from + cut));
            }
        }
        over - cut
    }
}

fn text_rows(screen: &TerminalScreen, width: usize) -> Vec<StyledRow> {
    let thoughts = match screen.thought.shown {
        true => screen.thought.flow.live_rows(screen.thought_page()),
        false => Vec::new(),
    };
    let mark = format!("{} ", screen.signs.thought());
    let mut rows: Vec<StyledRow> =
        thoughts.iter().map(|row| dim_row(&mark, row).fit(width)).collect();
    rows.extend(screen.flow.live_rows(screen.page()));
    // An open block, such as a table, is shown as far as the terminal has room.
    let skip = rows.len().saturating_sub(MIN_TEXT_ROWS.max(screen.height / 2));
    rows.split_off(skip)
}

fn question_rows(screen: &TerminalScreen, width: usize, max: usize, now: u64) -> Vec<StyledRow> {
    let Some(prompt) = screen.asks.front() else { return Vec::new() };
    // Below the call are the keys, and how many questions follow.
    let below = 1 + usize::from(screen.asks.len() > 1);
    let mut rows = prompt.rows(screen.signs, width, max.saturating_sub(below));
    match &screen.stage {
        ApprovalPromptStage::TypingReason(_) => {
            rows.push(StyledRow::localized(WARNING, "  Enter denies, Esc goes back").fit(width))
        }
        ApprovalPromptStage::New | ApprovalPromptStage::Shown(_) | ApprovalPromptStage::Focused => {
            if screen.accepts_answer(now) {
                rows.push(prompt.key_hint_row(screen.signs, width));
            } else if !screen.editor.is_empty() {
                let text = "  Tab focuses the question; your text is kept";
                rows.push(StyledRow::localized(WARNING, text).fit(width));
            } else {
                rows.push(StyledRow::localized(DIM, "  allow this call?").fit(width));
            }
        }
    }
    let waiting = screen.asks.len() - 1;
    if waiting > 0 {
        rows.push(
            StyledRow::localized(DIM, &format!("  and {waiting} more to approve")).fit(width),
        );
    }
    rows
}

fn queued_rows(screen: &TerminalScreen, width: usize) -> Vec<StyledRow> {
    let row = |text: &String| {
        let start: String = text.chars().take(400).collect();
        let line = start.split_whitespace().collect::<Vec<_>>().join(" ");
        StyledRow::localized(FRAME, "queued: ").with(DIM, &line).fit(width)
    };
    let mut rows: Vec<StyledRow> =
        screen.queued_prompts().iter().take(MAX_QUEUED_ROWS).map(row).collect();
    if let Some(more @ 1..) = screen.queued_prompts().len().checked_sub(MAX_QUEUED_ROWS) {
        rows.push(StyledRow::localized(DIM, &format!("  and {more} more")).fit(width));
    }
    rows
}

fn status_rows(
    screen: &TerminalScreen,
    width: usize,
    now: u64,
    frame: Option<usize>,
) -> Vec<StyledRow> {
    let dot = screen.signs.dot();
    if let Some((hint, until)) = &screen.hint
        && *until > now
    {
        return vec![StyledRow::of(WARNING, hint).fit(width)];
    }
    let row = match screen.work {
        ScreenWork::Idle if !screen.queued_prompts().is_empty() && !screen.editor.is_empty() => {
            StyledRow::localized(DIM, "press Enter on an empty line to send the queued prompt")
        }
        ScreenWork::Idle if !screen.queued_prompts().is_empty() => {
            StyledRow::localized(WARNING, "press Enter to send the queued prompt")
                .with(DIM, dot)
                .with(DIM, &localize("Up edits it"))
        }
        ScreenWork::Idle => return Vec::new(),
        ScreenWork::Busy { presses: 0, .. } if !screen.asks.is_empty() => return Vec::new(),
        ScreenWork::Busy { presses: 0, .. } if screen.waiting.is_some() => {
            let (until, why) = screen.waiting.clone().unwrap_or_default();
            let time = short_time(until.saturating_sub(now).div_ceil(1000));
            let why: String = why.split_whitespace().collect::<Vec<_>>().join(" ");
            StyledRow::of(FRAME, &format!("{} ", spinner_sign(screen.signs, frame)))
                .with(WARNING, &localize(format!("next attempt in {time}")))
                .with(DIM, &format!("{dot}{}{dot}{why}", localize("Esc stops it")))
        }
        ScreenWork::Busy { presses: 0, since } => {
            let (what, since) = match screen.thought.since {
                Some(since) => ("thinking", since),
                None => ("working", since),
            };
            let time = match now.saturating_sub(since) / 1000 {
                0 => String::new(),
                seconds => format!(" {}", short_time(seconds)),
            };
            let text = format!("{}{time}", localize(what));
            StyledRow::of(FRAME, &format!("{} ", spinner_sign(screen.signs, frame)))
                .with(Style::new(), &text)
                .with(DIM, &format!("{dot}{}", localize("Esc stops it")))
        }
        ScreenWork::Busy { presses: 1, .. } if screen.calls.is_running() => {
            StyledRow::localized(WARNING, "stopping: waiting for tools (press again to kill them)")
        }
        ScreenWork::Busy { presses: 1, .. } => StyledRow::localized(WARNING, "stopping"),
        ScreenWork::Busy { .. } => {
            StyledRow::localized(WARNING, "stopping by force (press Ctrl-C again to exit)")
        }
    };
    vec![row.fit(width)]
}

/// Seconds, or minutes and seconds.
fn short_time(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        _ => format!("{}m {:02}s", seconds / 60, seconds % 60),
    }
}

/// The current sign of the spinner.
fn spinner_sign(signs: SignSet, frame: Option<usize>) -> &'static str {
    const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
    const ASCII: [&str; 4] = ["|", "/", "-", "\\"];
    match (signs, frame) {
        (SignSet::Unicode, Some(frame)) => FRAMES[frame % FRAMES.len()],
        (SignSet::Ascii, Some(frame)) => ASCII[frame % ASCII.len()],
        (SignSet::Unicode, None) => "●",
        (SignSet::Ascii, None) => "*",
    }
}

/// What can be typed.
const KEY_HELP: [(&str, &str); 10] = [
    ("/", "lists commands"),
    ("@file", "adds a file or a picture to the prompt; Tab completes it"),
    ("!command", "runs a command; the next prompt tells the model"),
    ("Alt-Enter", "new line (also Ctrl-J)"),
    ("Esc", "stops; twice, clears the input"),
    ("Up, Down", "earlier prompts"),
    ("Ctrl-O", "shows or hides thoughts"),
    ("Ctrl-L", "draws the screen again"),
    ("Ctrl-Z", "suspends"),
    ("Ctrl-D", "leaves"),
];

fn help_row(name: &str, help: &str, columns_of_name: usize, width: usize) -> StyledRow {
    let space = " ".repeat(columns_of_name.saturating_sub(columns(name)));
    StyledRow::of(FRAME, &format!("  {name}"))
        .with(DIM, &format!("{space}{}", localize(help)))
        .fit(width)
}

/// The rows below the editor: commands while one is typed, otherwise the status line.
fn footer_rows(screen: &TerminalScreen, width: usize) -> Vec<StyledRow> {
    let mut rows = command_rows(screen, width);
    if screen.editor.text() == "?" {
        rows.extend(KEY_HELP.iter().map(|(keys, help)| help_row(keys, help, 12, width)));
    }
    let files = screen.matching_files();
    rows.extend(files.iter().take(MAX_OFFERED_FILES).map(|file| help_row(file, "", 0, width)));
    if let Some(more @ 1..) = files.len().checked_sub(MAX_OFFERED_FILES) {
        rows.push(StyledRow::localized(DIM, &format!("  and {more} more")).fit(width));
    }
    match (rows.is_empty(), screen.status.is_empty()) {
        (false, _) => rows,
        (true, false) => vec![StyledRow::of(DIM, &format!("  {}", screen.status)).fit(width)],
        (true, true) => Vec::new(),
    }
}

fn command_rows(screen: &TerminalScreen, width: usize) -> Vec<StyledRow> {
    let all: Vec<_> = screen.matching_commands().collect();
    let longest = all.iter().map(|(name, _)| columns(name)).max().unwrap_or(0);
    let mut rows: Vec<StyledRow> = Vec::new();
    for (name, help) in all.iter().take(MAX_COMMAND_ROWS) {
        let space = " ".repeat(longest - columns(name) + 2);
        rows.push(
            StyledRow::of(FRAME, &format!("  {name}"))
                .with(DIM, &format!("{space}{}", localize(help.as_str())))
                .fit(width),
        );
    }
    if let Some(more @ 1..) = all.len().checked_sub(MAX_COMMAND_ROWS) {
        rows.push(StyledRow::localized(DIM, &format!("  and {more} more")));
    }
    rows
}
