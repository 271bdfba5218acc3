//! The language that people are spoken to in.

/// A language that the screens, the findings and the narrations of scenarios are in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    /// English.
    #[default]
    English,
    /// Chinese.
    Chinese,
}

impl Lang {
    /// The language of a locale, such as `zh_CN.UTF-8`; English for those that nothing is told in.
    pub fn of_locale(locale: &str) -> Self {
        let is_chinese = locale.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("zh"));
        if is_chinese { Self::Chinese } else { Self::English }
    }

    /// Of a text in both languages the one to read; English where the other is empty.
    pub const fn of<'a>(self, en: &'a str, zh: &'a str) -> &'a str {
        match self {
            Self::Chinese if !zh.is_empty() => zh,
            Self::Chinese | Self::English => en,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_that_is_not_chinese_is_read_in_english() {
        for (locale, lang) in [
            ("zh_CN.UTF-8", Lang::Chinese),
            ("zh", Lang::Chinese),
            ("ZH-TW", Lang::Chinese),
            ("en_GB.UTF-8", Lang::English),
            ("C", Lang::English),
            ("", Lang::English),
            ("日本", Lang::English),
        ] {
            assert_eq!(Lang::of_locale(locale), lang, "{locale}");
        }
    }

    #[test]
    fn what_is_not_told_in_chinese_is_told_in_english() {
        assert_eq!(
            (Lang::Chinese.of("lock", "锁"), Lang::Chinese.of("lock", ""), Lang::English.of("lock", "锁")),
            ("锁", "lock", "lock")
        );
    }
}
