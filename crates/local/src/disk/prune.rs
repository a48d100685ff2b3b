//! Chooses old backups to remove, but never the newest one of a file.

use std::{
    collections::HashSet,
    time::{SystemTime, UNIX_EPOCH},
};

use super::backup::Backup;

/// Limits beyond which backups are removed.
#[derive(Clone, Copy, Debug)]
pub struct PruneRule {
    /// Age in seconds. Older backups are removed.
    pub age: u64,
    /// Total size of all backups. The oldest ones beyond it are removed.
    pub bytes: u64,
}

const DAY: u64 = 86400;

impl Default for PruneRule {
    /// 90 days and one gibibyte.
    fn default() -> PruneRule {
        PruneRule { age: 90 * DAY, bytes: 1 << 30 }
    }
}

impl PruneRule {
    /// The backups to remove, from a list that is sorted oldest first. Never the newest one of a
    /// file, and for the size limit only those older than a day.
    pub fn choose(self, backups: &[Backup]) -> Vec<Backup> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        self.choose_at(backups, now)
    }

    fn choose_at(self, backups: &[Backup], now: u64) -> Vec<Backup> {
        let mut files = HashSet::new();
        let mut others: Vec<&Backup> = backups
            .iter()
            .rev()
            .filter(|backup| !files.insert(backup.manifest.path.as_str()))
            .collect();
        others.reverse();
        let mut bytes: u64 = backups.iter().map(|backup| backup.manifest.before.bytes).sum();
        let mut chosen = Vec::new();
        for backup in others {
            let age = now.saturating_sub(backup.manifest.created);
            if age > self.age || bytes > self.bytes && age > DAY {
                bytes = bytes.saturating_sub(backup.manifest.before.bytes);
                chosen.push(backup.clone());
            }
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Backups as (file, age in days, bytes), the oldest first.
    fn chosen(rule: PruneRule, backups: &[(&str, u64, u64)]) -> Vec<usize> {
        const NOW: u64 = 10_000 * DAY;
        let example = |&(path, days, bytes): &(&str, u64, u64)| {
            Backup::example(path, NOW - days * DAY, bytes)
        };
        let backups: Vec<Backup> = backups.iter().map(example).collect();
        let removed = rule.choose_at(&backups, NOW);
        let is_removed = |backup: &Backup| {
            removed.iter().any(|removed| {
                let (removed, manifest) = (&removed.manifest, &backup.manifest);
                (&removed.path, removed.created) == (&manifest.path, manifest.created)
            })
        };
        (0..backups.len()).filter(|index| is_removed(&backups[*index])).collect()
    }

    #[test]
    fn the_newest_backup_of_a_file_is_never_pruned() {
        let rule = PruneRule::default();
        let none: &[usize] = &[];
        assert_eq!(chosen(rule, &[("a", 5000, 1 << 40), ("b", 400, 1)]), none);
        assert_eq!(chosen(rule, &[("a", 400, 1), ("b", 300, 1), ("a", 200, 1)]), [0]);
        assert_eq!(chosen(rule, &[("a", 89, 1), ("a", 88, 1), ("a", 1, 1)]), none);
        let everything = PruneRule { age: 0, bytes: 0 };
        assert_eq!(chosen(everything, &[("a", 9, 1), ("b", 8, 1), ("b", 7, 1)]), [1]);
    }

    #[test]
    fn oldest_backups_beyond_the_size_limit_are_pruned() {
        let rule = PruneRule { age: 90 * DAY, bytes: 100 };
        let many: Vec<(&str, u64, u64)> = (0..20).map(|day| ("a", 30 - day, 20)).collect();
        // Five backups of 20 bytes stay.
        assert_eq!(chosen(rule, &many), Vec::from_iter(0..15));
        // Today's backups stay, whatever their size.
        assert_eq!(chosen(rule, &[("a", 2, 10), ("a", 1, 500), ("a", 0, 500)]), [0]);
    }
}
