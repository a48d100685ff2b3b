//! From what was typed to a conversation that can begin.

use std::{
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::SystemTime,
};

use anyhow::Context;
use foxwedge_engine::{
    config::{self, Flags},
    tool_loop,
};
use foxwedge_tools::Toolbox;

use super::{
    Chat, Parts,
    approval::{ALL, Allowed, Unattended},
    instructions,
    lines::{Reader, Talk},
    models::{self, Choice, Models, Typed},
    once::{self, Asking, Printing},
    pipe,
    sessions::{self, Known},
    terminal, world,
    world::Wanted,
};
use crate::{
    cli::ChatArgs,
    command::serve::{complaints, machine::Machine},
    runs::{self, Kept, Missing},
    say::{self, BOLD, HELP, Trouble, clean, count, paint},
    screen,
};

/// Sessions that somebody can pick from.
const PICKED: usize = 20;
/// The most bytes of a file that lists MCP servers.
const SERVERS: u64 = 1 << 20;

/// Where a conversation takes place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// One prompt, one reply.
    Once,
    /// Lines in, lines out.
    Pipe,
    /// A person at a terminal.
    Terminal,
}

impl Place {
    fn of(args: &ChatArgs) -> Place {
        match (args.print, terminal::fits()) {
            (true, _) => Place::Once,
            (false, true) => Place::Terminal,
            (false, false) => Place::Pipe,
        }
    }
}

/// Talks until it is over.
pub(crate) async fn run(args: ChatArgs) -> anyhow::Result<ExitCode> {
    if args.list {
        return list(&args).await;
    }
    let (models, choice) = match choose(&args)? {
        Ok(chosen) => chosen,
        Err(code) => return Ok(code),
    };
    let place = Place::of(&args);
    let talk = if args.quiet { Talk::Errors } else { Talk::All };
    let own = args.instructions.as_deref().map(instructions::read).transpose()?;
    let root = root(args.root.as_deref())?;
    let model = world::model(&choice)?;
    // Keys are among our variables, and what tools start could read them.
    foxwedge_tools::hide_variables();
    let mut outside = world::tools(&root, &wanted(&args)?).await?;
    outside.notes.extend(world::left_out(&outside.tools, model.about()));
    let tools = outside.tools.clone();
    let allowed = allowed(&args, &tools)?;
    let kept = connect(&args).await?;
    let known = meant(&args, &kept, &root).await?;
    // Nobody else is asked where nobody sits.
    let (approver, questions): (Arc<dyn tool_loop::Approver>, _) = match place {
        Place::Once | Place::Pipe => (Arc::new(Unattended(allowed.clone())), None),
        Place::Terminal => {
            let rule = allowed.clone();
            let (approver, questions) = terminal::approver(move |asking| rule.asks(asking));
            (approver, Some(questions))
        }
    };
    let mut chat = Chat::new(Parts {
        kept,
        models,
        model,
        tools,
        allowed,
        approver,
        folder: root.to_string_lossy().into_owned(),
        instructions: instructions::instructions(own.as_deref(), &root),
        turns: args.max_turns,
        store: args.store.clone(),
    });
    if let Some(known) = &known {
        chat.resume(known).await?;
        if args.fork {
            chat.fork().await?;
        }
    }
    let hint = hint(&args, &choice);
    if let Some(hint) = hint.as_ref().filter(|_| talk == Talk::All && place != Place::Terminal) {
        say::talk(&hint.iter().map(|line| format!("{line}\n")).collect::<String>());
    }
    if talk == Talk::All {
        outside.notes.iter().for_each(|note| say::note(note));
    }
    let reader = if io::stdout().is_terminal() { Reader::Terminal } else { Reader::Pipe };
    let over = match (place, questions) {
        (Place::Once, _) => {
            let asking = match io::stdin().is_terminal() {
                true => Asking::Typed(args.prompt),
                false => Asking::Piped(args.prompt),
            };
            let format = args.output_format.unwrap_or_default();
            once::run(chat, asking, Printing { format, reader, talk }).await
        }
        (Place::Terminal, Some(questions)) => {
            let mut greeting = greeting(&chat, &root);
            greeting.extend(hint.unwrap_or_default());
            let start = chat.start(greeting, args.prompt).await?;
            terminal::run(&mut chat, questions, start).await
        }
        (Place::Pipe | Place::Terminal, _) => pipe::run(chat, args.prompt, reader, talk).await,
    };
    outside.close().await;
    over
}

/// Where models are looked up, and the one that is asked; the exit code if a configuration is wrong.
fn choose(args: &ChatArgs) -> anyhow::Result<Result<(Models, Choice), ExitCode>> {
    let typed = Typed {
        api: args.api,
        upstream: args.upstream.as_deref(),
        key_env: args.key_env.as_deref(),
    };
    let models = match models::direct(typed, &Machine)? {
        Some(direct) => Models::Direct(direct),
        None => {
            let (config, upstream) = (args.config.clone(), args.upstream.clone());
            match config::read(&Flags { config, upstream, ..Flags::default() }, &Machine) {
                Ok(loaded) => Models::Routes(Box::new(loaded)),
                Err(refused) => return Ok(Err(complaints::refused(&refused))),
            }
        }
    };
    let choice = models.choose(args.model.as_deref(), &Machine)?;
    Ok(Ok((models, choice)))
}

/// What somebody should know who did not ask for the built-in model.
fn hint(args: &ChatArgs, choice: &Choice) -> Option<Vec<String>> {
    let asked = args.model.is_some() || args.api.is_some() || args.upstream.is_some();
    (choice.is_scripted() && !asked).then(|| {
        vec![
            format!(
                "{}: no model is configured: the built-in `scripted` one answers, which only \
                 repeats and calls tools on command",
                paint(HELP, "note")
            ),
            format!(
                "  {}: set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or DEEPSEEK_API_KEY and \
                 say `--model NAME`",
                paint(HELP, "help")
            ),
        ]
    })
}

fn root(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let folder = named.unwrap_or(Path::new("."));
    let shown = clean(&folder.to_string_lossy());
    let real = std::fs::canonicalize(folder).map_err(|error| {
        Trouble::new(format!("`{shown}` is no folder to work in: {error}"))
            .help("`--root FOLDER` names one that is there")
    })?;
    if !real.is_dir() {
        let trouble = Trouble::new(format!("`{shown}` is no folder"));
        return Err(trouble.help("`--root FOLDER` names one").into());
    }
    Ok(real)
}

fn wanted(args: &ChatArgs) -> anyhow::Result<Wanted> {
    let mcp_config = args.mcp_config.as_deref().map(servers).transpose()?;
    let (names, read_only) = (args.tools.clone(), args.read_only);
    let pass_env = args.pass_env.iter().map(|name| name.trim().to_owned()).collect();
    Ok(Wanted { names, read_only, mcp: args.mcp.clone(), mcp_config, pass_env })
}

fn servers(path: &Path) -> anyhow::Result<String> {
    use std::io::Read;
    let shown = clean(&path.to_string_lossy());
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(SERVERS + 1).read_to_string(&mut text))
        .with_context(|| format!("`{shown}` cannot be read"))?;
    if text.len() as u64 > SERVERS {
        return Err(Trouble::new(format!("`{shown}` is too large to be a list of servers")).into());
    }
    Ok(text)
}

fn allowed(args: &ChatArgs, tools: &Toolbox) -> Result<Allowed, Trouble> {
    let names = args.allow.iter().map(|name| name.trim().to_owned());
    let names = names.filter(|name| !name.is_empty()).chain(args.yes.then(|| ALL.to_owned()));
    let allowed = Allowed::new(names);
    allowed.check(tools)?;
    Ok(allowed)
}

/// Opens the store, and closes runs whose process is gone.
async fn connect(args: &ChatArgs) -> anyhow::Result<Kept> {
    let kept = runs::connect(runs::locate(args.store.as_deref())?).await?;
    let kept = match args.quiet {
        true => kept.sweep().await.map(|_| kept)?,
        false => kept.swept().await?,
    };
    // Whoever was killed could not end what its tools had started.
    let ended = tokio::task::spawn_blocking(foxwedge_tools::end_orphans).await.unwrap_or_default();
    if !ended.is_empty() && !args.quiet {
        let names = say::clean(&ended.join(", "));
        say::note(&format!("ended what a killed run had left at work: {names}"));
    }
    Ok(kept)
}

/// The session that is gone on with, if one is.
async fn meant(args: &ChatArgs, kept: &Kept, root: &Path) -> anyhow::Result<Option<Known>> {
    let all = match (&args.resume, args.newest) {
        (None, false) => return Ok(None),
        (Some(_), _) | (None, true) => sessions::all(kept).await?,
    };
    let known = match &args.resume {
        None => sessions::newest_of(&all, &root.to_string_lossy())?,
        Some(Some(typed)) => sessions::pick(&all, typed)?,
        Some(None) => picked(&all)?,
    };
    Ok(Some(known.clone()))
}

/// Lets somebody pick one.
fn picked(all: &[Known]) -> anyhow::Result<&Known> {
    let shown = all.get(..PICKED).unwrap_or(all);
    if shown.is_empty() {
        return Err(Trouble::new("no session was kept yet")
            .help("`foxwedge chat` begins one")
            .into());
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Trouble::new("nobody is there to pick a session")
            .help("name one: `--resume ID`; `foxwedge chat --list` lists them")
            .into());
    }
    let table = sessions::table(shown, SystemTime::now(), screen::columns().map(|it| it - 4));
    for (number, line) in table.lines().enumerate() {
        say::talk(&format!("{} {line}\n", paint(BOLD, format_args!("{:>2}.", number + 1))));
    }
    say::talk(&format!("which one? [1-{}] ", shown.len()));
    io::stderr().flush().ok();
    let mut typed = String::new();
    io::stdin().read_line(&mut typed).context("stdin cannot be read")?;
    let number: Option<usize> = typed.trim().parse().ok();
    let one = number.and_then(|number| shown.get(number.checked_sub(1)?));
    one.ok_or_else(|| {
        Trouble::new(format!("`{}` is no number of the list", clean(typed.trim())))
            .help("nothing was done; try again")
            .into()
    })
}

/// `--list`.
async fn list(args: &ChatArgs) -> anyhow::Result<ExitCode> {
    let kept = match runs::open(args.store.as_deref()).await? {
        Missing::Found(kept) => kept.swept().await?,
        Missing::Nothing(url) => {
            say::talk(&format!("No session was kept yet: there is no {url}.\n"));
            return Ok(ExitCode::SUCCESS);
        }
    };
    let all = sessions::all(&kept).await?;
    say::out(&sessions::table(&all, SystemTime::now(), screen::columns()))?;
    say::talk(&match all.len() {
        0 => "No session was kept yet.\n".to_owned(),
        number => format!("{}; `foxwedge chat --resume ID` goes on.\n", count(number, "session")),
    });
    Ok(ExitCode::SUCCESS)
}

/// What stands above everything else on a terminal.
fn greeting(chat: &Chat, root: &Path) -> Vec<String> {
    let home = crate::agents::home();
    let folder = screen::tilde(&root.to_string_lossy(), home.as_deref());
    let about = format!("{} in {}", clean(chat.model()), clean(&folder));
    vec![
        format!("foxwedge chat: {about}"),
        "Enter sends, Esc stops, Ctrl-D leaves, / lists commands".to_owned(),
    ]
}
