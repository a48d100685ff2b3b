//! Starts a conversation from its options.

use std::{
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::SystemTime,
};

use anyhow::Context;
use foxwedge_agent_loop::tool_loop;
use foxwedge_gateway::config::{self, ConfigFlags, LocalEnvironment};
use foxwedge_local::signals::ProcessSignals;
use foxwedge_tools::Toolbox;
use foxwedge_upstream::http::NetworkConfig;

use super::{
    ChatAgent, ChatSetup,
    allow_rules::AllowRules,
    approval::{AllowedTools, UnattendedApprover},
    instructions,
    line_printer::{ChatVerbosity, ReplyDestination},
    models::{self, EndpointFlags, ModelChoice, ModelLookup},
    once::{self, PromptSource, ReplyPrintOptions},
    pipe,
    sessions::{self, ChatSessionEntry},
    setup,
    setup::ChatToolOptions,
    terminal,
};
use crate::{ChatOptions, ReplyFormat, SessionChoice};
use foxwedge_local::{
    language::localize,
    output::{self, BOLD, HELP, HelpfulError, clean, format_help, paint, pluralize},
    runs::{self, OpenStore, StoreLookup},
    screen,
};

/// Maximum number of sessions to pick from.
const MAX_OFFERED_SESSIONS: usize = 20;
/// The file of rules that the user keeps.
const RULE_FILE: &str = "chat-allow.json";
/// Size limit of a file that lists MCP servers.
const MAX_SERVER_FILE_BYTES: u64 = 1 << 20;

/// How the conversation reads and writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ChatMode {
    /// One prompt, one reply.
    Once(ReplyFormat),
    /// Lines in, lines out.
    Pipe,
    /// An interactive terminal.
    Terminal,
}

impl ChatMode {
    fn of(options: &ChatOptions) -> ChatMode {
        match (options.print, terminal::is_available()) {
            (Some(format), _) => ChatMode::Once(format),
            (None, true) => ChatMode::Terminal,
            (None, false) => ChatMode::Pipe,
        }
    }
}

/// Runs the conversation to its end.
pub(crate) async fn run(options: ChatOptions) -> anyhow::Result<ExitCode> {
    let (models, choice, network) = choose_model(&options)?;
    let mode = ChatMode::of(&options);
    let verbosity = if options.quiet { ChatVerbosity::Errors } else { ChatVerbosity::All };
    let own = options.instructions.as_deref().map(instructions::read).transpose()?;
    let root = resolve_root(options.root.as_deref())?;
    let model = setup::build_model(&choice, &network)?;
    // Environment variables contain API keys. Commands that tools start must not read them.
    foxwedge_tools::hide_variables();
    let is_attended = mode == ChatMode::Terminal;
    let tool_options = ChatToolOptions { is_attended, ..tool_options(&options)? };
    let mut tool_set = setup::build_tools(&root, &tool_options, &network).await?;
    tool_set.notes.extend(setup::left_out_tools_note(&tool_set.tools, model.about()));
    let tools = tool_set.tools.clone();
    let allowed = allowed_tools(&options, &tools, &root)?;
    let open_store = connect_store(&options).await?;
    let entry = session_to_resume(&options, &open_store, &root).await?;
    // Without a terminal there is no user to ask for approval.
    let (approver, questions): (Arc<dyn tool_loop::ToolApprover>, _) = match mode {
        ChatMode::Once(_) | ChatMode::Pipe => (Arc::new(UnattendedApprover(allowed.clone())), None),
        ChatMode::Terminal => {
            let (rule, workspace) = (allowed.clone(), tool_set.workspace.clone());
            let (approver, questions) = terminal::approver(
                allowed.rules.clone(),
                move |request| rule.needs_approval(request),
                move |tool, input| workspace.preview(tool, input),
            );
            (approver, Some(questions))
        }
    };
    let mut chat = ChatAgent::new(ChatSetup {
        open_store,
        models,
        network,
        model,
        tools,
        workspace: tool_set.workspace.clone(),
        journal: Arc::clone(&tool_set.journal),
        shell: tool_set.shell.clone(),
        allowed,
        approver,
        folder: root.to_string_lossy().into_owned(),
        instructions: instructions::instructions(own.as_deref(), &root),
        turns: options.max_turns,
        store: options.store.clone(),
    });
    if let Some(entry) = &entry {
        chat.resume(entry).await?;
        if options.fork {
            chat.fork().await?;
        }
    }
    // Whoever reads the first line may already send a signal.
    let listen = || ProcessSignals::listen().context("the handler for Ctrl-C cannot be installed");
    let signals = if mode == ChatMode::Terminal { None } else { Some(listen()?) };
    let hint = scripted_model_hint(&options, &choice);
    if let Some(hint) =
        hint.as_ref().filter(|_| verbosity == ChatVerbosity::All && mode != ChatMode::Terminal)
    {
        output::write_stderr(&hint.iter().map(|line| format!("{line}\n")).collect::<String>());
    }
    if verbosity == ChatVerbosity::All {
        tool_set.notes.iter().for_each(|note| output::print_note(note));
    }
    let reader = if io::stdout().is_terminal() {
        ReplyDestination::Terminal
    } else {
        ReplyDestination::Pipe
    };
    let code = match (mode, questions) {
        (ChatMode::Once(format), _) => {
            let signals = signals.map_or_else(listen, Ok)?;
            let source = match io::stdin().is_terminal() {
                true => PromptSource::Typed(options.prompt),
                false => PromptSource::Piped(options.prompt),
            };
            once::run(chat, source, &root, ReplyPrintOptions { format, reader, verbosity }, signals)
                .await
        }
        (ChatMode::Terminal, Some(questions)) => {
            let mut greeting = greeting_lines(&chat, &root);
            greeting.extend(hint.unwrap_or_default());
            let start = chat.terminal_start(greeting, options.prompt).await?;
            terminal::run(&mut chat, questions, start).await
        }
        (ChatMode::Pipe | ChatMode::Terminal, _) => {
            let signals = signals.map_or_else(listen, Ok)?;
            pipe::run(chat, options.prompt, reader, verbosity, signals).await
        }
    };
    tool_set.close().await;
    code
}

/// The model lookup, the chosen model, and how the network is reached.
pub(crate) type ChosenModel = (ModelLookup, ModelChoice, NetworkConfig);

/// Chooses the model.
pub(crate) fn choose_model(options: &ChatOptions) -> anyhow::Result<ChosenModel> {
    let flags = EndpointFlags {
        api: options.api,
        upstream: options.upstream.as_deref(),
        key_env: options.key_env.as_deref(),
    };
    let direct = models::direct_endpoint(flags, &LocalEnvironment)?;
    let (config, upstream) = (options.config.clone(), options.upstream.clone());
    let flags = ConfigFlags { config, upstream, ..ConfigFlags::default() };
    let (models, network) = match direct {
        Some(direct) => {
            (ModelLookup::Direct(direct), config::read_network(&flags, &LocalEnvironment)?)
        }
        None => {
            let loaded = config::read(&flags, &LocalEnvironment)?;
            let network = loaded.config.network.clone();
            (ModelLookup::Routes(Box::new(loaded)), network)
        }
    };
    let choice = models.choose(options.model.as_deref(), &LocalEnvironment)?;
    Ok((models, choice, network))
}

/// A hint for users who get the scripted model without having selected it.
fn scripted_model_hint(options: &ChatOptions, choice: &ModelChoice) -> Option<Vec<String>> {
    let selected = options.model.is_some() || options.api.is_some() || options.upstream.is_some();
    (choice.is_scripted() && !selected).then(|| {
        vec![
            format!(
                "{}: {}",
                paint(HELP, localize("note")),
                localize(
                    "no model is configured: using the built-in `scripted` model, which only \
                     repeats and calls tools on command"
                )
            ),
            format_help(
                "set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or DEEPSEEK_API_KEY; \
                 `--model NAME` selects another model than the default",
            )
            .trim_end()
            .to_owned(),
        ]
    })
}

pub(crate) fn resolve_root(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let folder = named.unwrap_or(Path::new("."));
    let shown = clean(&folder.to_string_lossy());
    let real = std::fs::canonicalize(folder).map_err(|error| {
        HelpfulError::new(format!("`{shown}` cannot be used as a folder: {error}"))
            .help("choose an existing folder with `--root FOLDER`")
    })?;
    if !real.is_dir() {
        let error = HelpfulError::new(format!("`{shown}` is not a folder"));
        return Err(error.help("choose a folder with `--root FOLDER`").into());
    }
    Ok(real)
}

pub(crate) fn tool_options(options: &ChatOptions) -> anyhow::Result<ChatToolOptions> {
    let mcp_config = options.mcp_config.as_deref().map(read_server_file).transpose()?;
    let (names, read_only) = (options.tools.clone(), options.read_only);
    let pass_env = options.pass_env.iter().map(|name| name.trim().to_owned()).collect();
    let (mcp, client_servers) = (options.mcp.clone(), None);
    let is_attended = false;
    Ok(ChatToolOptions { names, read_only, mcp, mcp_config, client_servers, pass_env, is_attended })
}

pub(crate) fn read_server_file(path: &Path) -> anyhow::Result<String> {
    use std::io::Read;
    let shown = clean(&path.to_string_lossy());
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_SERVER_FILE_BYTES + 1).read_to_string(&mut text))
        .with_context(|| format!("`{shown}` cannot be read"))?;
    if text.len() as u64 > MAX_SERVER_FILE_BYTES {
        return Err(
            HelpfulError::new(format!("`{shown}` is too large for a list of MCP servers")).into()
        );
    }
    Ok(text)
}

pub(crate) fn allowed_tools(
    options: &ChatOptions,
    tools: &Toolbox,
    root: &Path,
) -> Result<AllowedTools, HelpfulError> {
    let names = options.allow.iter().map(|name| name.trim().to_owned());
    let allowed = AllowedTools::new(names.filter(|name| !name.is_empty()));
    allowed.check(tools)?;
    // Next to the configuration of the user, never in the folder: a repository allows nothing.
    let file = config::token_file(&LocalEnvironment).map(|file| file.with_file_name(RULE_FILE));
    Ok(allowed.with_rules(AllowRules::of_folder(file, root)))
}

/// Opens the store and closes runs whose process no longer exists.
pub(crate) async fn connect_store(options: &ChatOptions) -> anyhow::Result<OpenStore> {
    let open_store = runs::connect(runs::locate(options.store.as_deref())?).await?;
    let open_store = match options.quiet {
        true => open_store.sweep().await.map(|_| open_store)?,
        false => open_store.sweep_and_report().await?,
    };
    // A killed process could not end the commands that its tools had started.
    let ended =
        tokio::task::spawn_blocking(foxwedge_process::end_orphans).await.unwrap_or_default();
    if !ended.is_empty() && !options.quiet {
        let names = output::clean(&ended.join(", "));
        output::print_note(&format!("ended commands that a killed run left running: {names}"));
    }
    Ok(open_store)
}

/// The session to resume, if any.
async fn session_to_resume(
    options: &ChatOptions,
    open_store: &OpenStore,
    root: &Path,
) -> anyhow::Result<Option<ChatSessionEntry>> {
    let Some(choice) = &options.resume else { return Ok(None) };
    let all = sessions::list_all(open_store).await?;
    let entry = match choice {
        SessionChoice::Newest => sessions::newest_of(&all, &root.to_string_lossy())?,
        SessionChoice::Id(typed) => sessions::pick(&all, typed)?,
        SessionChoice::Picked => ask_for_session(&all)?,
    };
    Ok(Some(entry.clone()))
}

/// Asks the user to pick a session.
fn ask_for_session(all: &[ChatSessionEntry]) -> anyhow::Result<&ChatSessionEntry> {
    let shown = all.get(..MAX_OFFERED_SESSIONS).unwrap_or(all);
    if shown.is_empty() {
        return Err(HelpfulError::new("there are no sessions yet")
            .help("`foxwedge chat` starts one")
            .into());
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(HelpfulError::new("picking a session needs a terminal")
            .help("give its id: `--resume ID`; `foxwedge chat --list` lists them")
            .into());
    }
    let table =
        sessions::table(shown, SystemTime::now(), screen::terminal_columns().map(|it| it - 4));
    for (number, line) in table.lines().enumerate() {
        output::write_stderr(&format!(
            "{} {line}\n",
            paint(BOLD, format_args!("{:>2}.", number + 1))
        ));
    }
    output::write_stderr(&localize(format!("which one? [1-{}] ", shown.len())));
    io::stderr().flush().ok();
    let mut typed = String::new();
    io::stdin().read_line(&mut typed).context("stdin cannot be read")?;
    let number: Option<usize> = typed.trim().parse().ok();
    let one = number.and_then(|number| shown.get(number.checked_sub(1)?));
    one.ok_or_else(|| {
        HelpfulError::new(format!("`{}` is not a number in the list", clean(typed.trim())))
            .help("nothing was changed; try again")
            .into()
    })
}

/// Lists the sessions of a store, newest first.
pub(crate) async fn list_sessions(store: Option<&str>) -> anyhow::Result<ExitCode> {
    let open_store = match runs::open(store).await? {
        StoreLookup::Found(open_store) => open_store.sweep_and_report().await?,
        StoreLookup::Absent(url) => {
            let text = localize(format!("There are no sessions yet: no store at {url}.\n"));
            output::write_stderr(&text);
            return Ok(ExitCode::SUCCESS);
        }
    };
    let all = sessions::list_all(&open_store).await?;
    output::write_stdout(&sessions::table(&all, SystemTime::now(), screen::terminal_columns()))?;
    output::write_stderr(&localize(match all.len() {
        0 => "There are no sessions yet.\n".to_owned(),
        number => {
            format!("{}; `foxwedge chat --resume ID` resumes one.\n", pluralize(number, "session"))
        }
    }));
    Ok(ExitCode::SUCCESS)
}

/// The first lines on a terminal.
fn greeting_lines(chat: &ChatAgent, root: &Path) -> Vec<String> {
    let home = foxwedge_local::agents::home_folder();
    let folder = screen::abbreviate_home(&root.to_string_lossy(), home.as_deref());
    let heading = format!("foxwedge chat: {} in {}", clean(chat.model()), clean(&folder));
    vec![
        localize(heading).into_owned(),
        localize("Enter sends, Esc stops, Ctrl-D leaves, ? shows more").into_owned(),
    ]
}
