//! Whether the catalogue of the other languages (`src/lang.rs`, `assets/lang/`) is whole: every
//! text that the code says is in it, with the same values, and nothing that nobody says.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use lockscope::domain::play::{Belief, Step, order};
use lockscope::domain::raft::fault;
use lockscope::input::Screen;
use lockscope::input::command::COMMANDS;
use lockscope::input::keymap::{BINDINGS, Context};
use lockscope::lang;
use lockscope::model::cluster::Role;
use lockscope::model::findings::RULES;
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// Functions and constants of `view` whose texts are looked up where they are drawn.
const LOOKED_UP: [&str; 9] =
    ["cause_word", "FIRST", "LEGEND", "PLAY", "PLAYED", "PLAYGROUND", "REAL", "TOLD", "UNTOLD"];

/// The texts of a source file, and its other string literals.
#[derive(Default)]
struct Texts {
    /// What is said: it has to be in the catalogue.
    said: BTreeSet<String>,
    /// Those of [`LOOKED_UP`] that it has.
    looked_up: BTreeSet<String>,
    /// All literals: what is in the catalogue has to be one of these.
    literals: BTreeSet<String>,
}

impl Texts {
    fn of(source: &str) -> Self {
        let mut texts = Self::default();
        texts.visit_file(&syn::parse_file(source).unwrap());
        texts
    }

    /// The literals of something that is looked up are said.
    fn look_up(&mut self, name: &syn::Ident, visit: impl FnOnce(&mut Self)) {
        let name = name.to_string();
        if !LOOKED_UP.contains(&name.as_str()) {
            return visit(self);
        }
        let mut own = Self::default();
        visit(&mut own);
        self.looked_up.insert(name);
        self.said.extend(own.literals.iter().cloned().chain(own.said));
        self.literals.extend(own.literals);
    }

    fn say(&mut self, argument: Option<&syn::Expr>) {
        self.said.extend(argument.and_then(literal));
    }

    /// The literals in the arguments of a macro, which are not parsed.
    fn take(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.take(group.stream()),
                TokenTree::Literal(token) => {
                    if let Ok(text) = syn::parse2::<syn::LitStr>(TokenTree::from(token).into()) {
                        self.literals.insert(text.value());
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }

    /// The macros that are called among the arguments of another one.
    fn said_within(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            let TokenTree::Group(group) = token else { continue };
            let called =
                |name: &str| at >= 2 && tokens[at - 1].to_string() == "!" && tokens[at - 2].to_string() == name;
            if called("say") {
                let first = group.stream().into_iter().next().map(TokenStream::from);
                let text = first.and_then(|first| syn::parse2::<syn::LitStr>(first).ok());
                self.said.extend(text.map(|text| text.value()));
            }
            self.said_within(group.stream());
        }
    }
}

fn literal(expression: &syn::Expr) -> Option<String> {
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = expression else { return None };
    Some(text.value())
}

/// Whether something is compiled for tests only.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
    })
}

impl<'a> Visit<'a> for Texts {
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        self.look_up(&function.sig.ident, |texts| visit::visit_item_fn(texts, function));
    }

    fn visit_item_const(&mut self, constant: &'a syn::ItemConst) {
        self.look_up(&constant.ident, |texts| visit::visit_item_const(texts, constant));
    }

    fn visit_attribute(&mut self, _: &'a syn::Attribute) {}

    fn visit_lit_str(&mut self, text: &'a syn::LitStr) {
        self.literals.insert(text.value());
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        let name = call.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        let whole: TokenStream =
            format!("{name}!({})", call.tokens).parse().expect("what was parsed can be parsed again");
        self.said_within(whole);
        self.take(call.tokens.clone());
        // What is called in a list of expressions, such as the columns of a table.
        let list = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        for argument in syn::parse::Parser::parse2(list, call.tokens.clone()).into_iter().flatten() {
            self.visit_expr(&argument);
        }
    }

    fn visit_expr_call(&mut self, call: &'a syn::ExprCall) {
        if let syn::Expr::Path(function) = &*call.func {
            let path: Vec<_> = function.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            match path[..] {
                [.., "lang", "text"] | [.., "Value", "Word"] | [.., "Column", "new"] => self.say(call.args.first()),
                [.., "Value", "Count"] | [.., "quantity"] => self.say(call.args.get(1)),
                [.., "Sentence", "new"] => {
                    let words = call.args.first().and_then(literal);
                    self.said.extend(words.filter(|words| !is_command(words)));
                }
                _ => {}
            }
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        if call.method == "with" && call.args.len() == 2 {
            self.say(call.args.get(1));
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// Commands are the same in every language.
fn is_command(words: &str) -> bool {
    ["etcdctl ", "lockscope ", "{reach}", "{compact}", "printf ", "kubectl "]
        .iter()
        .any(|start| words.starts_with(start))
}

/// All of what ships, file by file.
fn sources() -> Vec<(String, Texts)> {
    fn walk(folder: &Path, files: &mut Vec<(String, Texts)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_for_tests =
                ["tests.rs", "testing.rs", "sample.rs", "bench.rs", "scene.rs", "document.rs", "snapshots"]
                    .iter()
                    .any(|end| name.ends_with(end));
            match path.is_dir() {
                _ if is_for_tests => {}
                true => walk(&path, files),
                false => files.push((path.display().to_string(), Texts::of(&fs::read_to_string(&path).unwrap()))),
            }
        }
    }
    let mut files = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    files
}

/// The texts of tables, which are looked up where they are drawn.
fn of_tables() -> BTreeSet<&'static str> {
    let help = BINDINGS.iter().map(|row| row.help);
    let hints = BINDINGS.iter().filter_map(|row| Some(row.hint?.text));
    let titles = Context::ALL.into_iter().map(Context::title);
    let tabs = Screen::ALL.into_iter().flat_map(|screen| [screen.name(), screen.short_name()]);
    let commands = COMMANDS.iter().map(|command| command.help);
    let faults = fault::WORDS.iter().map(|word| word.help);
    let orders = order::WORDS.iter().map(|word| word.help);
    let reasons = RULES.iter().map(|rule| rule.why);
    let roles = [Role::Leader, Role::Follower, Role::Learner, Role::Unreachable, Role::Unknown].map(Role::name);
    let beliefs = [Belief::Idle, Belief::Waiting, Belief::Holding, Belief::Lost].map(Belief::name);
    let steps = [Step::Prepare, Step::Heartbeat, Step::Put, Step::Compare, Step::Watch, Step::Work, Step::Release];
    let words = roles.into_iter().chain(beliefs).chain(steps.map(Step::name));
    let tables = help.chain(hints).chain(titles).chain(tabs).chain(commands).chain(faults).chain(orders);
    tables.chain(reasons).chain(words).collect()
}

/// The values of a text: the names in braces.
fn values(text: &str) -> BTreeSet<&str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect()
}

/// Whether a text says anything: signs and numbers alone are the same everywhere.
fn has_words(text: &str) -> bool {
    let mut outside = String::new();
    let mut depth = 0;
    for letter in text.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ if depth == 0 => outside.push(letter),
            _ => {}
        }
    }
    outside.chars().any(char::is_alphabetic)
}

#[test]
fn every_text_is_in_the_catalogue() {
    let known: BTreeSet<String> = lang::entries().map(|(_, english, _)| english).collect();
    let mut missing: Vec<String> = Vec::new();
    let mut looked_up = BTreeSet::new();
    // What commands print is for scripts, too: only what they `say!` is in other languages.
    for (file, texts) in sources().into_iter().filter(|(file, _)| !file.contains("/src/cli/")) {
        // Fields of a value are decoded for whoever reads the value, on screens and in JSON alike.
        let is_decoded = file.contains("/src/layout/value/");
        looked_up.extend(texts.looked_up);
        let of_rules = file.contains("/model/findings/") || file.ends_with("/model/verdict.rs");
        // A rule chooses among sentences before it makes one of them.
        let chosen = texts.literals.iter().filter(|text| of_rules && text.contains('{') && !text.contains("{}"));
        let said = texts.said.iter().chain(chosen.filter(|text| !is_command(text)));
        let wanted = said.filter(|text| !is_decoded && has_words(text) && !known.contains(*text));
        missing.extend(wanted.map(|text| format!("{file}: {text:?}")));
    }
    missing
        .extend(of_tables().into_iter().filter(|text| !known.contains(*text)).map(|text| format!("table: {text:?}")));
    assert_eq!(looked_up, BTreeSet::from(LOOKED_UP.map(String::from)), "all of them are in the sources");
    missing.sort();
    missing.dedup();
    assert!(missing.is_empty(), "assets/lang/zh/ lacks {} texts:\n{}", missing.len(), missing.join("\n"));
}

#[test]
fn every_entry_has_the_values_of_its_text_and_stands_once() {
    let mut files: BTreeMap<String, &str> = BTreeMap::new();
    for (file, english, chinese) in lang::entries() {
        assert_eq!(values(&english), values(&chinese), "{file}.toml: {english:?}");
        assert!(!chinese.is_empty(), "{file}.toml: {english:?} is said with nothing");
        if let Some(other) = files.insert(english.clone(), file) {
            panic!("{english:?} is in {other}.toml and in {file}.toml");
        }
    }
}

#[test]
fn no_entry_is_left_of_a_text_that_nobody_says_any_more() {
    let mut said: BTreeSet<String> = of_tables().into_iter().map(String::from).collect();
    said.extend(sources().into_iter().flat_map(|(_, texts)| texts.literals));
    let left: Vec<_> = lang::entries().filter(|(_, english, _)| !said.contains(english)).collect();
    assert!(left.is_empty(), "nobody says: {left:#?}");
}

/// Where a Chinese text is not set as Chinese is: without a space between Chinese and Latin, with
/// punctuation of half a width beside Chinese, or with a space beside punctuation of full width.
/// What stands between backticks is one Latin word.
fn ill_set(text: &str) -> Vec<String> {
    let is_chinese = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    let is_latin = |c: char| c.is_ascii_alphanumeric() || c == '`';
    let is_half = |c: char| ",;:?!(".contains(c);
    let is_full = |c: char| "，。：；？！、（）「」".contains(c);
    let mut is_code = false;
    let mut plain = text.to_owned();
    plain.retain(|c| {
        is_code ^= c == '`';
        c == '`' || !is_code
    });
    let signs: Vec<char> = plain.chars().collect();
    let ill = signs.windows(2).filter(|pair| match **pair {
        [one, other] => {
            (is_chinese(one) && (is_latin(other) || is_half(other)))
                || (is_chinese(other) && (is_latin(one) || is_half(one)))
                || (is_full(one) && other == ' ')
                || (is_full(other) && one == ' ')
        }
        _ => false,
    });
    ill.map(|pair| pair.iter().collect()).collect()
}

#[test]
fn chinese_is_set_as_chinese_is() {
    // In a table, where each cell counts.
    let spared = "(holder)";
    let of_catalogue = lang::entries().filter(|(_, english, _)| english != spared);
    let of_catalogue = of_catalogue.map(|(file, english, chinese)| (format!("{file}.toml, {english:?}"), chinese));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut scenarios: Vec<_> =
        fs::read_dir(root.join("demo/scenarios")).unwrap().map(|file| file.unwrap().path()).collect();
    scenarios.sort();
    let of_scenarios = scenarios.iter().flat_map(|file| {
        let scenario: toml::Table = fs::read_to_string(file).unwrap().parse().unwrap();
        let cues = scenario["at"].as_array().unwrap();
        let told = cues.iter().filter_map(|cue| cue.get("say")).map(|say| &say["zh"]).chain([&scenario["summary_zh"]]);
        told.map(|text| (file.display().to_string(), text.as_str().unwrap().to_owned())).collect::<Vec<_>>()
    });
    let ill: Vec<_> = of_catalogue.chain(of_scenarios).filter(|(_, text)| !ill_set(text).is_empty()).collect();
    assert!(ill.is_empty(), "{ill:#?}");
}

/// A line of a document without where its links lead and what makes letters bold.
fn shown(line: &str) -> String {
    let mut parts = line.split("](");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    shown.replace("![", "").replace(['*', '[', ']'], "")
}

#[test]
fn chinese_documents_are_set_as_chinese_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let demo = fs::read_dir(root.join("demo")).unwrap().map(|file| file.unwrap().path());
    let is_chinese = |path: &std::path::PathBuf| path.to_string_lossy().ends_with(".zh-CN.md");
    let documents: Vec<_> = demo.chain([root.join("README.zh-CN.md")]).filter(is_chinese).collect();
    assert_eq!(documents.len(), 4, "{documents:?}");
    let mut ill = Vec::new();
    for document in documents {
        let text = fs::read_to_string(&document).unwrap();
        let (mut is_code, mut before) = (false, String::new());
        for line in text.lines() {
            is_code ^= line.starts_with("```");
            let shown = shown(line);
            if !is_code {
                ill.extend(
                    ill_set(&shown).into_iter().filter(|pair| !pair.contains(' ')).map(|pair| (pair, shown.clone())),
                );
                // A line break is shown as a space.
                if !before.is_ascii() && shown.starts_with(|sign: char| !sign.is_ascii()) && !before.starts_with('#') {
                    ill.push(("line break".into(), shown.clone()));
                }
            }
            before = shown;
        }
    }
    assert!(ill.is_empty(), "{ill:#?}");
}

#[test]
fn ill_set_chinese_is_noticed() {
    for (text, ill) in [
        ("租约lease", "约l"),
        ("3个键", "3个"),
        ("`ls`列出", "`列"),
        ("锁,键", "锁,"),
        ("锁 (键)", "(键"),
        ("锁， 键", "， "),
    ] {
        assert!(ill_set(text).contains(&ill.to_owned()), "{text}: {:?}", ill_set(text));
    }
    assert!(ill_set("把 `a,b` 的 3 个键交给 client-1：{who}，（完）").is_empty());
}

#[test]
fn texts_are_found_where_they_are_said() {
    let texts = Texts::of(
        r#"
        fn shown() -> String {
            let all = vec![say!("one"), format!("{} {}", crate::say!("two {n}", n = 2), "no text")];
            let columns = vec![by(Column::new("EIGHT").right(), Sort::Name)];
            let words = if deep { "{a} chosen" } else { "{b} chosen" };
            Sentence::new("three {v}").with("v", "four").with("w", Value::Count(5, "five"));
            Sentence::new("lockscope show {lock}");
            quantity(all.len(), "six")
        }
        const TOLD: &str = "eight";
        fn cause_word() -> &'static str { match 1 { 1 => "nine", _ => "ten" } }
        #[cfg(test)]
        mod tests { fn left_out() { say!("seven"); } }
        "#,
    );
    let said: Vec<&str> = texts.said.iter().map(String::as_str).collect();
    assert_eq!(said, ["EIGHT", "eight", "five", "four", "nine", "one", "six", "ten", "three {v}", "two {n}"]);
    assert!(texts.literals.contains("{a} chosen") && !texts.literals.contains("seven"));
}
