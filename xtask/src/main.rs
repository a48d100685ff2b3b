//! What a contributor runs: `cargo xtask ci | tidy | generate | …`.

mod options;
mod workspace;
mod tokens;
mod postgres;
mod ci;
mod tidy;
mod generate;
mod laws;
mod growth;
mod chaos;
mod bench;
mod transcript;
mod picture;
mod manual;
mod acceptance;
mod release;
mod suite;

use std::process::ExitCode;

use acceptance::AcceptanceSuite;

const USAGE: &str = "\
usage: cargo xtask <task>

  ci [--all]          format, lints, tests, documentation, tidy; with --all also PostgreSQL and the acceptance suites
                      (SDKs, clients, a browser, real agents, MCP servers): everything a change must pass
  tidy                the checks that no compiler makes: arrows, purity, rules, generated files
  generate [--check]  writes docs/rules and docs/catalogue.md from the rules; or says if they are old
  suite [--check | --write]
                      says whether the vectors of the integrity suite are current and our engine passes them; or writes them
  suite model [--cases N] [--seed S] [--threads T]
                      compares our engine with the small specification in crates/testkit/src/model, on N vectors
  suite page FOLDER   writes the suite as a static page, with the runner as WebAssembly
  suite report FOLDER [--foxwedge BINARY]
                      runs the engines that suite/adapters/install.sh put into FOLDER, and writes suite/REPORT.md
  transcript [--write]
                      runs the terminal sessions in the READMEs and the manual again, and draws the picture of the
                      README; or writes them anew
  manual              builds the manual as a site with search in target/manual, and checks its links
  sdks [--foxwedge BINARY]
                      official SDKs read what foxwedge converted; FOXWEDGE_SDKS=required fails where they are missing
  clients [--logs N] [--seed S]
                      the TypeScript package is built and tested, and its reducer compared with ours on N random logs
  console [--write]   the page of the gateway is built, compared with the committed build, and opened in a browser;
                      or the new build is kept
  uis [--random N]    official clients of AG-UI, the AI SDK and ACP read the runs that foxwedge encodes
  gateway [--foxwedge BINARY]
                      SDKs and agents of others talk to `foxwedge serve`, across formats; see docs/gateway/clients.md
  live [--claude-code CLI] [--foxwedge BINARY] [--story PART]
                      the real Claude Code as a live agent behind `foxwedge serve`; see docs/gateway/agents.md
  mcp                 real MCP servers answer our client; see docs/chat/mcp.md
  postgres -- COMMAND
                      runs a command with a PostgreSQL server for its tests
  laws --cases N [--of repair|compaction|conversion|streams|runs|session-files|mutations|own-results] [--seed S] [--dialect D] [--profile P] [--agent A] [--threads T] [--show N]
                      the laws of repair, or of something else, on N random histories, in release, on all cores
  growth [--shape PART] [--megabytes N] [--debug]
                      hostile documents and session files, each four times as large: what a check and a repair compute
                      has to grow with the bytes
  chaos [kills|cuts|flips|power|faults|cluster|gateway|streams]… [--rounds N] [--seed S]
                      processes killed, files damaged, power cuts, disk errors, failing clusters, gateways killed under
                      load; see README.md in tests/chaos of the crates store and gateway
  bench gateway [--scenario NAME]… [--seconds S] [--rounds R] [--foxwedge BINARY]
                      what the gateway costs compared with a bare relay, on this machine; see crates/bench/RESULTS.md
  bench agents [--real] [--claude-code CLI] [--sessions N] [--conversations N] [--rounds N] [--starts N] [--foxwedge BINARY]
                      what a live agent behind the gateway costs compared with the same agent on its bare pipe
  bench peers [--peers FOLDER] [--only NAME…] [--foxwedge BINARY]
                      what the gateway and others do with histories that a provider refuses; see crates/bench/RESULTS.md
  bench list [--sessions N] [--megabytes N] [--rounds R] [--foxwedge BINARY] [--keep FOLDER]
                      how soon `foxwedge list` shows something, over many files and a large database
  dist --target TRIPLE… [--binary FILE] [--finish --repository URL] [--try]
                      archives and npm packages with the binary, in target/release-files; --finish completes the
                      templates in packaging/ with their checksums, --try installs and runs them; see docs/install.md
  agents [--claude-code CLI…] [--codex CLI…] [--gemini-cli CLI…] [--keep FOLDER] [--foxwedge BINARY]
                      real agents, killed, damaged, repaired and resumed; see acceptance/agents.md
  drift [--only NAME…] [--no-trials] [--write] [--keep FOLDER] [--foxwedge BINARY]
                      the newest packages of agents and SDKs: names in them that nobody looked at yet, and the trials
                      of `agents`; --write adds the names to acceptance/drift.json
";

/// The result of a task: done, or an error message.
pub(crate) type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = given.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["ci"] => ci::run(ci::TestScope::Developer),
        ["ci", "--all"] => ci::run(ci::TestScope::All),
        ["tidy"] => tidy::run(),
        ["generate"] => generate::write(),
        ["generate", "--check"] => generate::check(),
        ["transcript"] => transcript::check().and_then(|()| picture::check()),
        ["transcript", "--write"] => transcript::write().and_then(|()| picture::write()),
        ["manual"] => manual::build(),
        ["postgres", rest @ ..] => postgres::run(rest),
        ["laws", rest @ ..] => laws::run(rest),
        ["growth", rest @ ..] => growth::run(rest),
        ["chaos", rest @ ..] => chaos::run(rest),
        ["bench", rest @ ..] => bench::run(rest),
        ["dist", rest @ ..] => release::run(rest),
        ["suite", rest @ ..] => suite::run(rest),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        [name, rest @ ..] if AcceptanceSuite::find(name).is_some() => {
            AcceptanceSuite::find(name).map_or(Ok(()), |suite| suite.run(rest))
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
