//! What only the embedded backend can do: files, permissions, versions, damage, several processes.

mod files;
mod damage;
mod versions;
mod together;
