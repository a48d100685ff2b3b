//! Arguments of `foxwedge probe`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use foxwedge_suite::SuiteLevel;

use super::suite::level;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ProbeArgs {
    #[command(subcommand)]
    pub(crate) action: Option<ProbeAction>,
    /// Provider to ask
    #[arg(
        long,
        value_name = "PROVIDER",
        required = true,
        value_parser = ["openai-chat", "openai-responses", "anthropic", "gemini", "gemini-interactions", "mistral", "deepseek"]
    )]
    pub(crate) provider: Option<String>,
    /// Model to ask [default: the provider's smallest]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Address of the API [default: that of the provider]
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Environment variable that holds the key [default: the usual one of the provider]
    #[arg(long, value_name = "NAME")]
    pub(crate) key_variable: Option<String>,
    /// Only these vectors, separated by commas
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Only these levels: A pairing and order, B ids, content and roles, C reasoning and provider tools
    #[arg(long, value_name = "LEVELS", value_delimiter = ',', value_parser = level)]
    pub(crate) level: Vec<SuiteLevel>,
    /// All vectors of the provider, not only the shortest valid and invalid one of each clause
    #[arg(long)]
    pub(crate) all: bool,
    /// Most that the requests may cost, in US dollars
    #[arg(long, value_name = "USD", default_value = "0.10")]
    pub(crate) max_cost: f64,
    /// Price of a million input and output tokens in US dollars, such as 0.10,0.40
    #[arg(long, value_name = "IN,OUT", value_parser = price)]
    pub(crate) price: Option<(f64, f64)>,
    /// Send the requests; without it they are only listed
    #[arg(long)]
    pub(crate) send: bool,
    /// File for the verdicts [default: probe-PROVIDER-DATE.json]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ProbeAction {
    /// Turn verdict files into lines of evidence
    Merge {
        /// Files that `foxwedge probe` wrote
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// Table of evidence to update, suite/evidence.tsv [default: print the lines]
        #[arg(long, value_name = "FILE")]
        into: Option<PathBuf>,
    },
}

fn price(text: &str) -> Result<(f64, f64), String> {
    let parse =
        |text: &str| text.trim().parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0);
    let prices =
        text.split_once(',').and_then(|(input, output)| Some((parse(input)?, parse(output)?)));
    prices.ok_or_else(|| "two prices are needed, separated by a comma".to_owned())
}
