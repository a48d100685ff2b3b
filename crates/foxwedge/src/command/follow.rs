//! `foxwedge follow`: reads the output of an agent line by line as a run, with one outcome and one
//! correct status for every tool call.

mod input;
mod warnings;
mod sorter;
mod line_reader;
mod lease_renewal;
mod batch;
mod recorder;
mod text;
mod output_thread;
mod renderer;
mod stop;
mod source_clock;
mod follow_loop;

use std::process::ExitCode;

use anyhow::bail;
use foxwedge_run::{MachineSettings, Outcome, SharedId, follow::StreamSource};

use self::{
    follow_loop::{FollowEnd, FollowLoop},
    input::FollowInput,
    line_reader::FollowLineReader,
    recorder::FollowRecorder,
    renderer::FollowRenderer,
};
use crate::cli::{FollowArgs, FollowSource};
use foxwedge_local::{
    language::localize,
    output::{self, DIM, HELP, HelpfulError, clean, paint},
    runs,
};

/// Maximum number of warnings printed.
const MAX_SHOWN_WARNINGS: usize = 5;

/// Help text for a run that was not followed to its end.
const UNFINISHED_RUN_HELP: &str = "the next `foxwedge runs` closes a recorded run";

/// Follows one stream to its end.
pub(crate) fn run(args: FollowArgs) -> anyhow::Result<ExitCode> {
    let input = FollowInput::open(args.file.as_deref())?;
    runs::block_on(follow_input(args, input))
}

async fn follow_input(args: FollowArgs, input: FollowInput) -> anyhow::Result<ExitCode> {
    let url = if args.no_store { None } else { runs::named_store(args.store.as_deref())? };
    let run = match &args.run {
        Some(run) if !runs::is_store_id(run) => {
            bail!(
                HelpfulError::new(format!("`{}` is not a valid run id", clean(run)))
                    .help("an id has 1 to 128 characters of A-Z a-z 0-9 _ -")
            );
        }
        Some(run) => run.clone(),
        None => runs::new_id("run"),
    };
    let recorder = match url {
        Some(url) => {
            let open_store = runs::connect(url).await?.sweep_and_report().await?;
            Some(FollowRecorder::new(open_store, args.session.clone()))
        }
        None => None,
    };
    let settings = run_settings(&args);
    let line_reader = FollowLineReader::new(event_source(args.from), run.into(), settings.clone());
    let session = args.session.as_deref().map(SharedId::from);
    let renderer = FollowRenderer::new(args.telling, args.frames, session.clone());
    let display_name = input.display_name.clone();
    let mut stream = FollowLoop::new(line_reader, recorder, renderer, session, settings)?;
    let third_stop = stream.stop_requests().wait_for_third();
    let end = tokio::select! {
        end = stream.run(input) => end,
        // The third signal ends the program, even while a store or a reader blocks.
        () = third_stop => {
            let error = HelpfulError::new("stopped before all output was written");
            output::print_error(&error.help(UNFINISHED_RUN_HELP).into());
            return Ok(ExitCode::from(130));
        }
    };
    let finished = stream.finish().await;
    let end = end?;
    finished?;
    report_result(&args, &display_name, &stream, end)
}

/// The default settings, and the tools that need user input.
fn run_settings(args: &FollowArgs) -> MachineSettings {
    let mut settings = MachineSettings::default();
    settings.interactive.extend(args.interactive.iter().map(|tool| SharedId::from(tool.as_str())));
    settings
}

fn event_source(from: FollowSource) -> Option<StreamSource> {
    match from {
        FollowSource::Auto => None,
        FollowSource::ClaudeCode => Some(StreamSource::ClaudeCode),
        FollowSource::Codex => Some(StreamSource::Codex),
        FollowSource::GeminiCli => Some(StreamSource::GeminiCli),
        FollowSource::Events => Some(StreamSource::Events),
    }
}

/// Prints notes and warnings, and returns the exit code.
fn report_result(
    args: &FollowArgs,
    display_name: &str,
    stream: &FollowLoop,
    end: FollowEnd,
) -> anyhow::Result<ExitCode> {
    let tally = stream.tally();
    if let Some(unread) = tally.describe_unread() {
        output::print_note(&unread);
    }
    if let Some(unknown) = tally.describe_unknown().filter(|_| args.strict) {
        output::print_note(&clean(&unknown));
    }
    let (warnings, total) = stream.warnings();
    for warning in warnings.iter().take(MAX_SHOWN_WARNINGS) {
        output::print_note(&clean(warning));
    }
    if let Some(more @ 1..) = total.checked_sub(MAX_SHOWN_WARNINGS) {
        output::print_note(&format!("and {more} more warnings"));
    }
    if let (Some(location), Some(run)) = (stream.store_location(), stream.ended.keys().next()) {
        output::write_stderr(&localize(format!(
            "{}\n",
            paint(DIM, localize(format!("recorded in {}", clean(&location))))
        )));
        let (help, store_flag) =
            (paint(HELP, localize("help")), runs::repeat_store_flag(args.store.as_deref()));
        output::write_stderr(&localize(format!(
            "  {help}: `foxwedge runs show {run}{store_flag}` shows it again\n"
        )));
    }
    match end {
        FollowEnd::Stopped => return Ok(ExitCode::from(130)),
        FollowEnd::NoReader => return Ok(ExitCode::SUCCESS),
        FollowEnd::TakenOver(message) => {
            output::print_note(&clean(&message));
            return Ok(ExitCode::FAILURE);
        }
        FollowEnd::Finished => {}
    }
    if stream.ended.is_empty() {
        return Err(no_run_error(args, display_name, stream).into());
    }
    let completed = stream.ended.values().all(|outcome| *outcome == Outcome::Completed);
    let understood = !args.strict || tally.is_clean();
    Ok(if completed && understood { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn no_run_error(args: &FollowArgs, display_name: &str, stream: &FollowLoop) -> HelpfulError {
    let message = match (args.from, stream.knows_source()) {
        (FollowSource::Auto, false) => "unknown line format",
        (_, _) => "no run found",
    };
    HelpfulError::new(format!("{display_name}: {message}")).help(
        "the agent must print JSON lines: `claude -p … --output-format stream-json --verbose`, \
         `codex exec --json …`, `gemini -p … --output-format stream-json`; --from sets the agent",
    )
}
