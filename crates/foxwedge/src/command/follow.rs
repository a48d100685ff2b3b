//! `foxwedge follow`: what an agent prints, line by line, as a run with one outcome and one
//! truthful status for every call.

mod lines;
mod warnings;
mod sorter;
mod feed;
mod renew;
mod batch;
mod keeper;
mod text;
mod voice;
mod teller;
mod stop;
mod source_clock;
mod stream;

use std::process::ExitCode;

use anyhow::bail;
use foxwedge_run::{Id, Outcome, Settings, follow::Source};

use self::{
    feed::Feed,
    keeper::Keeper,
    lines::Input,
    stream::{End, Stream},
    teller::Teller,
};
use crate::{
    cli::{FollowArgs, From},
    runs,
    say::{self, DIM, HELP, Trouble, clean, paint},
};

/// Warnings that are told one by one.
const WARNINGS: usize = 5;

/// What becomes of a run that was left.
const GHOST: &str = "a run that was kept is closed by the next `foxwedge runs`";

/// Follows one stream to its end.
pub(crate) fn run(args: FollowArgs) -> anyhow::Result<ExitCode> {
    let input = Input::open(args.file.as_deref())?;
    runs::block_on(follow(args, input))
}

async fn follow(args: FollowArgs, input: Input) -> anyhow::Result<ExitCode> {
    let url = if args.no_store { None } else { runs::asked_for(args.store.as_deref())? };
    let run = match &args.run {
        Some(run) if !runs::is_safe(run) => {
            bail!(
                Trouble::new(format!("`{}` is no id of a run", clean(run)))
                    .help("an id is 1 to 128 of A-Z a-z 0-9 _ -")
            );
        }
        Some(run) => run.clone(),
        None => runs::fresh("run"),
    };
    let keeper = match url {
        Some(url) => {
            let kept = runs::connect(url).await?.swept().await?;
            Some(Keeper::new(kept, args.session.clone()))
        }
        None => None,
    };
    let settings = settings(&args);
    let feed = Feed::new(source(args.from), run.into(), settings.clone());
    let session = args.session.as_deref().map(Id::from);
    let teller = Teller::new(args.telling, args.frames, session.clone());
    let shown = input.shown.clone();
    let mut stream = Stream::new(feed, keeper, teller, session, settings)?;
    let demanded = stream.stop_requests().demanded();
    let end = tokio::select! {
        end = stream.run(input) => end,
        // Whatever it waits for, a store or a reader: three times is enough.
        () = demanded => {
            say::error(&Trouble::new("left before everything was told").help(GHOST).into());
            return Ok(ExitCode::from(130));
        }
    };
    let told = stream.finish().await;
    let end = end?;
    told?;
    tell(&args, &shown, &stream, end)
}

/// The usual settings, and the tools that ask a person here.
fn settings(args: &FollowArgs) -> Settings {
    let mut settings = Settings::default();
    settings.interactive.extend(args.interactive.iter().map(|tool| Id::from(tool.as_str())));
    settings
}

fn source(from: From) -> Option<Source> {
    match from {
        From::Auto => None,
        From::ClaudeCode => Some(Source::ClaudeCode),
        From::Codex => Some(Source::Codex),
        From::GeminiCli => Some(Source::GeminiCli),
        From::Events => Some(Source::Events),
    }
}

/// Says what is left to say, and how it went.
fn tell(args: &FollowArgs, shown: &str, stream: &Stream, end: End) -> anyhow::Result<ExitCode> {
    let tally = stream.tally();
    if let Some(unread) = tally.told_unread() {
        say::note(&unread);
    }
    if let Some(unknown) = tally.told_unknown().filter(|_| args.strict) {
        say::note(&clean(&unknown));
    }
    let (warnings, all) = stream.warnings();
    for warning in warnings.iter().take(WARNINGS) {
        say::note(&clean(warning));
    }
    if let Some(more @ 1..) = all.checked_sub(WARNINGS) {
        say::note(&format!("and {more} more of the kind"));
    }
    if let (Some(kept), Some(run)) = (stream.kept(), stream.ended.keys().next()) {
        say::talk(&format!("{}\n", paint(DIM, format_args!("kept in {}", clean(&kept)))));
        let (help, again) = (paint(HELP, "help"), runs::again(args.store.as_deref()));
        say::talk(&format!("  {help}: `foxwedge runs show {run}{again}` shows it again\n"));
    }
    match end {
        End::Stopped => return Ok(ExitCode::from(130)),
        End::Unheard => return Ok(ExitCode::SUCCESS),
        End::Taken(why) => {
            say::note(&clean(&why));
            return Ok(ExitCode::FAILURE);
        }
        End::Over => {}
    }
    if stream.ended.is_empty() {
        return Err(no_run(args, shown, stream).into());
    }
    let well = stream.ended.values().all(|outcome| *outcome == Outcome::Completed);
    let read = !args.strict || tally.is_clean();
    Ok(if well && read { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn no_run(args: &FollowArgs, shown: &str, stream: &Stream) -> Trouble {
    let what = match (args.from, stream.is_decided()) {
        (From::Auto, false) => "nobody that we know prints such lines",
        (_, _) => "there is no run in it",
    };
    Trouble::new(format!("{shown}: {what}")).help(
        "agents have to print JSON lines: `claude -p … --output-format stream-json --verbose`, \
         `codex exec --json …`, `gemini -p … --output-format stream-json`; --from says whose they are",
    )
}
