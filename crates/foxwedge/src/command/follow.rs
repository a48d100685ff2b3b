//! `foxwedge follow`: what an agent prints, line by line, as a run with one outcome and one
//! truthful status for every call.

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
use crate::{
    cli::{FollowArgs, FollowSource},
    cli_output::{self, CliError, DIM, HELP, clean, paint},
    runs,
};

/// Warnings that are told one by one.
const MAX_SHOWN_WARNINGS: usize = 5;

/// What becomes of a run that was left.
const UNFINISHED_RUN_HELP: &str = "a run that was kept is closed by the next `foxwedge runs`";

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
                CliError::new(format!("`{}` is no id of a run", clean(run)))
                    .help("an id is 1 to 128 of A-Z a-z 0-9 _ -")
            );
        }
        Some(run) => run.clone(),
        None => runs::new_id("run"),
    };
    let keeper = match url {
        Some(url) => {
            let kept = runs::connect(url).await?.sweep_and_report().await?;
            Some(FollowRecorder::new(kept, args.session.clone()))
        }
        None => None,
    };
    let settings = run_settings(&args);
    let feed = FollowLineReader::new(event_source(args.from), run.into(), settings.clone());
    let session = args.session.as_deref().map(SharedId::from);
    let teller = FollowRenderer::new(args.telling, args.frames, session.clone());
    let shown = input.display_name.clone();
    let mut stream = FollowLoop::new(feed, keeper, teller, session, settings)?;
    let demanded = stream.stop_requests().wait_for_third();
    let end = tokio::select! {
        end = stream.run(input) => end,
        // Whatever it waits for, a store or a reader: three times is enough.
        () = demanded => {
            cli_output::print_error(&CliError::new("left before everything was told").help(UNFINISHED_RUN_HELP).into());
            return Ok(ExitCode::from(130));
        }
    };
    let told = stream.finish().await;
    let end = end?;
    told?;
    report_result(&args, &shown, &stream, end)
}

/// The usual settings, and the tools that ask a person here.
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

/// Says what is left to say, and how it went.
fn report_result(
    args: &FollowArgs,
    shown: &str,
    stream: &FollowLoop,
    end: FollowEnd,
) -> anyhow::Result<ExitCode> {
    let tally = stream.tally();
    if let Some(unread) = tally.describe_unread() {
        cli_output::print_note(&unread);
    }
    if let Some(unknown) = tally.describe_unknown().filter(|_| args.strict) {
        cli_output::print_note(&clean(&unknown));
    }
    let (warnings, all) = stream.warnings();
    for warning in warnings.iter().take(MAX_SHOWN_WARNINGS) {
        cli_output::print_note(&clean(warning));
    }
    if let Some(more @ 1..) = all.checked_sub(MAX_SHOWN_WARNINGS) {
        cli_output::print_note(&format!("and {more} more of the kind"));
    }
    if let (Some(kept), Some(run)) = (stream.store_location(), stream.ended.keys().next()) {
        cli_output::write_stderr(&format!(
            "{}\n",
            paint(DIM, format_args!("kept in {}", clean(&kept)))
        ));
        let (help, again) = (paint(HELP, "help"), runs::repeat_store_flag(args.store.as_deref()));
        cli_output::write_stderr(&format!(
            "  {help}: `foxwedge runs show {run}{again}` shows it again\n"
        ));
    }
    match end {
        FollowEnd::Stopped => return Ok(ExitCode::from(130)),
        FollowEnd::NoReader => return Ok(ExitCode::SUCCESS),
        FollowEnd::TakenOver(why) => {
            cli_output::print_note(&clean(&why));
            return Ok(ExitCode::FAILURE);
        }
        FollowEnd::Finished => {}
    }
    if stream.ended.is_empty() {
        return Err(no_run_error(args, shown, stream).into());
    }
    let well = stream.ended.values().all(|outcome| *outcome == Outcome::Completed);
    let read = !args.strict || tally.is_clean();
    Ok(if well && read { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn no_run_error(args: &FollowArgs, shown: &str, stream: &FollowLoop) -> CliError {
    let what = match (args.from, stream.knows_source()) {
        (FollowSource::Auto, false) => "nobody that we know prints such lines",
        (_, _) => "there is no run in it",
    };
    CliError::new(format!("{shown}: {what}")).help(
        "agents have to print JSON lines: `claude -p … --output-format stream-json --verbose`, \
         `codex exec --json …`, `gemini -p … --output-format stream-json`; --from says whose they are",
    )
}
