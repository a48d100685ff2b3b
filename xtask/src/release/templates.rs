//! Completes the templates of a release: the Homebrew formula and the install script.

use std::{fs, path::Path};

use super::{TARGETS, archive, version};
use crate::{Outcome, workspace};

/// Templates, and their names in a release.
pub(crate) const TEMPLATES: [(&str, &str); 2] =
    [("packaging/homebrew/foxwedge.rb", "foxwedge.rb"), ("packaging/install.sh", "install.sh")];

/// Writes the templates with the checksums of the archives in this folder, and `SHA256SUMS`.
pub(super) fn finish(files: &Path, repository: &str) -> Outcome {
    let mut sums = String::new();
    let mut checksums = Vec::new();
    for target in &TARGETS {
        let name = format!("{}.{}", target.archive(version()), target.ending());
        let path = files.join(&name);
        if path.is_file() {
            sums.push_str(&archive::checksum_line(&path)?);
            checksums.push((target.triple, archive::sha256(&path)?));
        } else {
            println!("note: {name} is missing");
        }
    }
    write(&files.join("SHA256SUMS"), &sums)?;
    for (template, name) in TEMPLATES {
        let text = fs::read_to_string(workspace::root().join(template))
            .map_err(|error| format!("{template}: {error}"))?;
        let text = fill(&text, repository, version(), &checksums);
        match open_place(&text) {
            Some(place) => println!("note: {name} is not written: `{place}` is unknown"),
            None => write(&files.join(name), &text)?,
        }
    }
    Ok(())
}

/// Fills in what is known.
pub(crate) fn fill(
    template: &str,
    repository: &str,
    version: &str,
    checksums: &[(&str, String)],
) -> String {
    let repository = repository.trim_end_matches('/');
    let releases = format!("{repository}/releases/download/v{version}");
    let mut text = template
        .replace("@REPOSITORY@", repository)
        .replace("@RELEASES@", &releases)
        .replace("@VERSION@", version);
    for (triple, checksum) in checksums {
        text = text.replace(&format!("@SHA256:{triple}@"), checksum);
    }
    text
}

/// The first place that is still open.
pub(crate) fn open_place(text: &str) -> Option<&str> {
    let names = ["@REPOSITORY@", "@RELEASES@", "@VERSION@"];
    let plain = names.iter().find(|name| text.contains(**name)).copied();
    plain.or_else(|| {
        let start = text.find("@SHA256:")?;
        text.get(start..)?.split('"').next()
    })
}

fn write(path: &Path, text: &str) -> Outcome {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_complete_once_every_archive_has_a_checksum() {
        let checksums = TARGETS.map(|target| (target.triple, "ab12".repeat(16)));
        for (template, _) in TEMPLATES {
            let text = fs::read_to_string(workspace::root().join(template)).expect(template);
            assert!(open_place(&text).is_some(), "{template} is a template");
            let filled = fill(&text, "https://forge.example/a/b/", "1.2.3", &checksums);
            assert_eq!(open_place(&filled), None, "{template}");
            assert!(filled.contains("https://forge.example/a/b/releases/download/v1.2.3"));
        }
        let formula =
            fs::read_to_string(workspace::root().join(TEMPLATES[0].0)).expect("a formula");
        let filled = fill(&formula, "https://forge.example/a/b", "1.2.3", &checksums[..1]);
        assert!(open_place(&filled).is_some_and(|place| place.starts_with("@SHA256:")));
    }
}
