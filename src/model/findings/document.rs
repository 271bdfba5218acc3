//! The rules as `docs/findings.md`.

use std::fmt::Write as _;

use super::{RULES, Rule, Severity};

/// The whole of `docs/findings.md`: every rule, under the worst it can find.
pub fn document() -> String {
    let mut text = String::from(
        "# Findings\n\n\
         What `lockscope` calls wrong, on the Locks screen, in `ls`, in `show` and in `doctor`. Made from the\n\
         rules by `lockscope doctor --list > docs/findings.md`; a test keeps it so.\n\n\
         Each finding has a code, a severity, the evidence with its numbers, why it matters, and a command\n\
         that helps. From when on a hold or a time counts as long is set in the section `[findings]` of the\n\
         configuration file.\n",
    );
    for severity in [Severity::Error, Severity::Warn, Severity::Info] {
        let (title, means) = match severity {
            Severity::Error => ("Errors", "Something does not work, or never will by itself."),
            Severity::Warn => ("Warnings", "Something is about to go wrong, or may."),
            Severity::Info => ("Information", "Worth knowing; nothing has to be done."),
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "\n## {title}\n\n{means}\n");
        for rule in RULES.iter().filter(|rule| rule.severities.first() == Some(&severity)) {
            section(&mut text, rule);
        }
    }
    text
}

fn section(text: &mut String, rule: &Rule) {
    let severities: Vec<_> = rule.severities.iter().map(|severity| severity.name()).collect();
    let _ = write!(
        text,
        "\n### {}\n\n\
         - Severity: {}\n\
         - When: {}.\n\
         - Why it matters: {}\n\
         - What to do: {}\n\
         - Source: {}.\n",
        rule.code,
        severities.join(", "),
        rule.when,
        rule.why,
        rule.advice,
        rule.source,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_findings_are_the_rules() {
        let documented = include_str!("../../../docs/findings.md");
        assert_eq!(documented, document(), "run `lockscope doctor --list > docs/findings.md`");
    }

    #[test]
    fn every_rule_is_documented_once() {
        let text = document();
        for rule in RULES {
            assert_eq!(text.matches(&format!("\n### {}\n", rule.code)).count(), 1, "{}", rule.code);
            assert!(rule.severities.is_sorted_by(|a, b| a > b), "{}: the worst comes first", rule.code);
            assert!(
                !rule.when.ends_with('.') && rule.why.ends_with('.') && rule.advice.ends_with('.'),
                "{}",
                rule.code
            );
        }
    }
}
