//! What the request readers and writers of all formats share.

pub(crate) mod chat_server;
pub(crate) mod claude;
pub(crate) mod field_writer;
pub(crate) mod fields;
pub(crate) mod openai;
pub(crate) mod openai_settings;
pub(crate) mod reasoning;
mod openai_efforts;
pub(crate) mod schema;
pub(crate) mod setting_losses;
pub(crate) mod tools;
