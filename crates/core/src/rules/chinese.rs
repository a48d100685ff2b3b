//! The documentation of the rules in Chinese: shorter than the English pages, with the same error
//! texts of providers. The command line, the console and the generated tables read it here.

use super::Rule;

const TEXTS: &str = page!("chinese.txt");

/// A rule in Chinese. Needs the feature `rule-pages`.
pub struct ChineseRule {
    /// What it finds, in one line.
    pub summary: &'static str,
    /// What it finds, in detail.
    pub finds: &'static str,
    /// What its repair does.
    pub repair: &'static str,
}

impl Rule {
    /// The texts of this rule in Chinese.
    pub fn chinese(&self) -> Option<ChineseRule> {
        let label = self.label();
        let mut lines = TEXTS.lines().skip_while(|line| *line != label).skip(1);
        let summary = lines.next()?.strip_prefix("摘要 ")?;
        let finds = lines.next()?.strip_prefix("发现 ")?;
        let repair = lines.next()?.strip_prefix("修复 ")?;
        Some(ChineseRule { summary, finds, repair })
    }

    /// The documentation of this rule in Chinese, in Markdown.
    pub fn chinese_page(&self) -> Option<String> {
        let label = self.label();
        let ChineseRule { summary, finds, repair } = self.chinese()?;
        let mut page =
            format!("# {label} {}\n\n{summary}。\n\n## 发现什么\n\n{finds}\n\n", self.name);
        let errors = section(self.explain, "## Who refuses it").map(examples).unwrap_or_default();
        if !errors.is_empty() {
            page.push_str(&format!("## 谁会拒绝\n\n见过的报错：\n\n{errors}\n"));
        }
        page.push_str(&format!("## 如何修复\n\n{repair}\n\n"));
        if let Some(profiles) = section(self.explain, "## Applies to") {
            page.push_str(&format!("## 适用范围\n\n{}\n\n", profiles.trim()));
        }
        page.push_str(&format!("更详细的英文说明：`foxwedge rule {label} --lang en`\n"));
        Some(page)
    }
}

/// The text below a heading, up to the next one.
fn section<'p>(page: &'p str, heading: &str) -> Option<&'p str> {
    let (_, rest) = page.split_once(heading)?;
    Some(rest.split_once("\n## ").map_or(rest, |(section, _)| section))
}

/// The code blocks of a section: what providers write.
fn examples(section: &str) -> String {
    let blocks = section.split("```").skip(1).step_by(2);
    blocks.map(|block| format!("```{block}```\n")).collect()
}
