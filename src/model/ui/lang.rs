//! The language that a run's narrations are read in.

/// A language that scenarios are told in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

impl Lang {
    /// The language of a locale, such as `zh_CN.UTF-8`; English for those that nothing is told in.
    pub fn of_locale(locale: &str) -> Self {
        let is_chinese = locale.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("zh"));
        if is_chinese { Self::Zh } else { Self::En }
    }

    /// Of a text in both languages the one to read; English where the other is empty.
    pub const fn of<'a>(self, en: &'a str, zh: &'a str) -> &'a str {
        match self {
            Self::Zh if !zh.is_empty() => zh,
            Self::Zh | Self::En => en,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_that_is_not_chinese_is_read_in_english() {
        for (locale, lang) in [
            ("zh_CN.UTF-8", Lang::Zh),
            ("zh", Lang::Zh),
            ("ZH-TW", Lang::Zh),
            ("en_GB.UTF-8", Lang::En),
            ("C", Lang::En),
            ("", Lang::En),
            ("日本", Lang::En),
        ] {
            assert_eq!(Lang::of_locale(locale), lang, "{locale}");
        }
    }

    #[test]
    fn what_is_not_told_in_chinese_is_told_in_english() {
        assert_eq!(
            (Lang::Zh.of("lock", "锁"), Lang::Zh.of("lock", ""), Lang::En.of("lock", "锁")),
            ("锁", "lock", "lock")
        );
    }
}
