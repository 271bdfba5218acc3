//! The languages that the program speaks to people.

/// A language of screens, help and findings. Names of fields, commands and settings are in none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    /// English.
    #[default]
    English,
    /// Chinese, in simplified characters.
    Chinese,
}

impl Lang {
    /// The languages by the words they are chosen with.
    pub const WORDS: [(&'static str, Self); 2] = [("en", Self::English), ("zh", Self::Chinese)];

    /// The language of a locale as POSIX writes it, such as `zh_CN.UTF-8`. Who has a locale that
    /// the program has no texts for reads English.
    pub fn of_locale(locale: &str) -> Self {
        let language = locale.split(['_', '-', '.', '@']).next().unwrap_or(locale);
        if language.eq_ignore_ascii_case("zh") { Self::Chinese } else { Self::English }
    }

    /// The word it is chosen with.
    pub const fn word(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// Of a text in both languages the one to read; English where the other is empty.
    pub const fn of<'a>(self, english: &'a str, chinese: &'a str) -> &'a str {
        match self {
            Self::Chinese if !chinese.is_empty() => chinese,
            Self::Chinese | Self::English => english,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_word() {
        for (word, lang) in Lang::WORDS {
            assert_eq!(lang.word(), word);
        }
    }

    #[test]
    fn a_locale_is_chinese_by_its_language_whatever_country_and_encoding() {
        for locale in ["zh", "zh_CN.UTF-8", "zh_TW", "zh-Hans", "ZH_CN", "zh.UTF-8", "zh@pinyin"] {
            assert_eq!(Lang::of_locale(locale), Lang::Chinese, "{locale}");
        }
        for locale in ["", "C", "POSIX", "C.UTF-8", "en_GB.UTF-8", "de_CH", "zha_CN", "en_ZH"] {
            assert_eq!(Lang::of_locale(locale), Lang::English, "{locale}");
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
