//! Arguments of `foxwedge rpc`.

use clap::Args;
use foxwedge_local::size_limit;

/// What `foxwedge rpc --help` shows after the options.
const PROTOCOL: &str = "\
A request is one line:   {\"id\":1,\"operation\":\"fix\",\"options\":{},\"document\":{…}}
Its reply is one line:   {\"id\":1,\"report\":{…},\"document\":{…}}
or, if it failed:        {\"id\":1,\"error\":{\"kind\":\"…\",\"message\":\"…\",\"at\":null,\"line\":1}}

Operations: check, fix, convert, convert-response, compact, history, explain, rules,
            stream-open, stream-push, stream-finish
Replies come in the order of the requests. docs/rpc.md describes options and reports.";

#[derive(Args, Debug)]
#[command(after_help = PROTOCOL)]
pub(crate) struct RpcArgs {
    /// Maximum size of a line: bytes, or a number with K, M or G; at most 4G
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = line_size)]
    pub(crate) max_line: usize,
}

fn line_size(text: &str) -> Result<usize, String> {
    let size = size_limit::parse_size(text).filter(|size| *size > 0);
    let size = size.ok_or("a size is a number of bytes, or a number with K, M or G")?;
    usize::try_from(size.min(size_limit::HARD_LIMIT)).map_err(|error| error.to_string())
}
