//! What a source file reaches for: other modules of the crate, and other crates.
//!
//! Reads the syntax tree, so that a path counts wherever it stands: in a `use` with braces, in
//! an expression, in an attribute, inside a macro's parentheses. Code under `#[cfg(test)]`
//! does not count: it is not part of what is shipped. What is allowed is not known here.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

/// What one file names outside itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Top-level modules of the crate, the file's own among them when it names that.
    pub modules: BTreeSet<String>,
    /// First segments of all other paths. Some are crates; others are local names.
    pub crates: BTreeSet<String>,
}

/// Reads one file. `place` is where its code lives: `["view", "widget"]` for
/// `src/view/widget.rs`, empty for `lib.rs` and `main.rs`. `own_name` is the crate's name, by
/// which `main.rs` speaks of the library.
///
/// # Errors
/// When the text is not Rust.
pub fn reach(text: &str, place: &[&str], own_name: &str) -> syn::Result<Reach> {
    let file = syn::parse_file(text)?;
    let place = place.iter().map(|&module| module.to_owned()).collect();
    let mut reader = Reader { place, own_name, reach: Reach::default() };
    reader.visit_file(&file);
    Ok(reader.reach)
}

/// The names of modules that a file declares for tests only and that live in files of their own.
///
/// # Errors
/// When the text is not Rust.
pub fn test_modules(text: &str) -> syn::Result<Vec<String>> {
    let modules = syn::parse_file(text)?.items.into_iter().filter_map(|item| match item {
        Item::Mod(module) if module.content.is_none() && module.attrs.iter().any(is_test) => {
            Some(module.ident.to_string())
        }
        _ => None,
    });
    Ok(modules.collect())
}

struct Reader<'a> {
    place: Vec<String>,
    own_name: &'a str,
    reach: Reach,
}

impl Reader<'_> {
    /// Takes in a path by its segments.
    fn path(&mut self, segments: &[String]) {
        let Some((first, rest)) = segments.split_first() else { return };
        match first.as_str() {
            "crate" => self.module(&[], rest),
            "self" => self.module(&self.place.clone(), rest),
            "super" => {
                let ups = segments.iter().take_while(|segment| *segment == "super").count();
                let base = self.place[..self.place.len().saturating_sub(ups)].to_vec();
                self.module(&base, &segments[ups..]);
            }
            name if name == self.own_name => self.module(&[], rest),
            // One segment alone is a local name, a macro or a derive.
            _ if rest.is_empty() => {}
            name => {
                self.reach.crates.insert(name.to_owned());
            }
        }
    }

    /// Takes in a path below the module `base`: the top level is what counts.
    fn module(&mut self, base: &[String], rest: &[String]) {
        if let Some(top) = base.first().or(rest.first()) {
            self.reach.modules.insert(top.clone());
        }
    }

    /// Takes in each path of a `use` by itself.
    fn uses(&mut self, before: &mut Vec<String>, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.uses(before, &path.tree);
                before.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.uses(before, tree);
                }
            }
            UseTree::Name(name) => self.leaf(before, &name.ident.to_string()),
            UseTree::Rename(rename) => self.leaf(before, &rename.ident.to_string()),
            UseTree::Glob(_) => self.leaf(before, "*"),
        }
    }

    fn leaf(&mut self, before: &[String], last: &str) {
        // `use tokio;` names a crate by a single segment.
        let mut segments = before.to_vec();
        segments.extend([last.to_owned(), String::new()]);
        self.path(&segments);
    }

    /// Finds `a::b` in tokens that no one has parsed: macro arguments, derives.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut segments = Vec::new();
        // Colons seen since the last name: two of them continue its path.
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.path(&std::mem::take(&mut segments));
                    }
                    segments.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                other => {
                    self.path(&std::mem::take(&mut segments));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.path(&segments);
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !attributes(item).iter().any(is_test) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.place.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.place.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.uses(&mut Vec::new(), &item.tree);
    }

    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        self.reach.crates.insert(item.ident.to_string());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.path(&segments);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        self.tokens(mac.tokens.clone());
        visit::visit_macro(self, mac);
    }

    fn visit_meta_list(&mut self, list: &'ast syn::MetaList) {
        self.tokens(list.tokens.clone());
        visit::visit_meta_list(self, list);
    }
}

/// Whether an attribute says that its item is compiled for tests only.
fn is_test(attribute: &Attribute) -> bool {
    let mut test = false;
    if attribute.path().is_ident("cfg") {
        // An item under another condition fails to parse here and counts as shipped.
        let _ = attribute.parse_nested_meta(|meta| {
            test |= meta.path.is_ident("test");
            Ok(())
        });
    }
    test
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
