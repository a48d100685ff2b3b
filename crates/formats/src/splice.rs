//! What the patch writers of all formats share: blocks, arguments, and quoted tool results.

mod blocks;
mod quoted_content;
mod arguments;
mod recoded_result;

pub(crate) use arguments::value_as_text;
pub use arguments::{ArgumentsEncoding, encode_arguments};
pub(crate) use blocks::write_answer;
pub use blocks::{
    BlockMessage, BlockSpliceFormat, write as write_blocks, write_parts as write_block_list,
};
pub(crate) use quoted_content::QuotedContent;
pub use quoted_content::{ElementQuoting, MediaType};
pub(crate) use recoded_result::{
    TextBlock, has_content, recode_result, recode_result_without, write_element,
};
