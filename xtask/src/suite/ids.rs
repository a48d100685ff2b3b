//! Numbers of vectors. A number belongs to the place a vector was made from, for ever.

use std::collections::BTreeMap;

/// The file `suite/ids.tsv`.
pub(super) struct VectorIds {
    /// Number and source, in the order of numbers. Sources that are gone stay.
    lines: Vec<(u32, String)>,
    by_source: BTreeMap<String, u32>,
}

impl VectorIds {
    /// Reads the numbers that exist and gives new sources the next ones.
    pub(super) fn assign<'s>(
        text: &str,
        sources: impl Iterator<Item = &'s str>,
    ) -> Result<VectorIds, String> {
        let mut ids = VectorIds { lines: Vec::new(), by_source: BTreeMap::new() };
        for line in text.lines().filter(|line| !line.is_empty()) {
            let parsed = line.split_once('\t').and_then(|(id, source)| {
                Some((id.strip_prefix('V')?.parse::<u32>().ok()?, source.to_owned()))
            });
            let (number, source) = parsed.ok_or_else(|| format!("ids.tsv: `{line}`"))?;
            let expected = ids.lines.last().map_or(1, |(last, _)| last + 1);
            if number != expected || ids.by_source.contains_key(&source) {
                return Err(format!("ids.tsv: `{line}` is out of order or there twice"));
            }
            ids.add(number, source);
        }
        for source in sources {
            if !ids.by_source.contains_key(source) {
                let next = ids.lines.last().map_or(1, |(last, _)| last + 1);
                ids.add(next, source.to_owned());
            }
        }
        Ok(ids)
    }

    fn add(&mut self, number: u32, source: String) {
        self.by_source.insert(source.clone(), number);
        self.lines.push((number, source));
    }

    pub(super) fn get(&self, source: &str) -> Option<String> {
        self.by_source.get(source).map(|number| format!("V{number:04}"))
    }

    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|(number, source)| format!("V{number:04}\t{source}\n")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_when_sources_come_and_go() {
        let old = "V0001\ta\nV0002\tb\n";
        let ids = VectorIds::assign(old, ["b", "c"].into_iter()).expect("a valid file");
        assert_eq!(ids.text(), "V0001\ta\nV0002\tb\nV0003\tc\n");
        assert_eq!(ids.get("c").as_deref(), Some("V0003"));
        assert!(VectorIds::assign("V0002\ta\n", std::iter::empty()).is_err());
        assert!(VectorIds::assign("V0001\ta\nV0002\ta\n", std::iter::empty()).is_err());
    }
}
