//! What only the embedded backend can do: files, rights, versions, damage, several processes.

mod files;
mod damage;
mod versions;
mod together;
