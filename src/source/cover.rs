//! Which ranges to watch so that every lock is seen, told from the keys of leases alone.
//!
//! A lock's keys share everything before their last slash, its group; around the group may be
//! keys that belong to it and have no lease. So what is watched is the directory that holds
//! the group: `/jobs/reindex/1f` leads to `/jobs/`. A group at the root leads to itself,
//! because its directory would be everything. A directory that was not counted yet, or has very
//! many keys, is left for the groups in it. What turns out to hold no key twice running is
//! forgotten, because locks named by job would pile up for ever. Pure: it is told keys and counts.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{Key, KeyRange};

/// How many ranges are watched at most. Each is a watch in the server and a list on start.
pub const MOST_RANGES: usize = 256;

/// A directory with more keys than this is left for the groups in it that have leases.
pub const MANY_KEYS: i64 = 20_000;

/// Where Kubernetes keeps its leases. They hang on no lease of etcd, so no lease leads there.
pub const KUBERNETES_LEASES: &[u8] = b"/registry/leases/";

/// Directories whose leased keys are data that expires, and no locks.
const DATA: [&[u8]; 2] = [b"/registry/events/", b"/registry/masterleases/"];

/// The ranges found so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cover {
    /// Each directory with the groups in it that have leases; none once it is known to be small.
    directories: BTreeMap<Vec<u8>, Directory>,
    /// Keys that stand alone.
    singles: BTreeSet<Vec<u8>>,
    /// Places that held no key when they were last looked at.
    empty: BTreeSet<KeyRange>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Directory {
    groups: BTreeSet<Vec<u8>>,
    size: Size,
}

/// What is known of how many keys a directory has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Size {
    #[default]
    Unknown,
    Fine,
    Many,
}

/// Where a key belongs.
enum Home {
    Nowhere,
    Alone,
    In { directory: Vec<u8>, group: Vec<u8> },
}

impl Cover {
    /// Takes in a key that hangs on a lease; whether the ranges may have changed.
    pub fn add(&mut self, key: &[u8]) -> bool {
        match home(key) {
            Home::Nowhere => false,
            Home::Alone => {
                self.empty.remove(&KeyRange::single(key));
                self.singles.insert(key.to_vec())
            }
            Home::In { directory, group } => {
                if !self.empty.is_empty() {
                    self.empty.remove(&KeyRange::prefix(&directory));
                    self.empty.remove(&KeyRange::prefix(&group));
                }
                let known = self.directories.entry(directory).or_default();
                known.size != Size::Fine && known.groups.insert(group)
            }
        }
    }

    /// Takes in a directory to be watched whatever it holds; whether it is new.
    pub fn add_directory(&mut self, directory: &[u8]) -> bool {
        let fine = Directory { groups: BTreeSet::new(), size: Size::Fine };
        self.directories.insert(directory.to_vec(), fine).is_none()
    }

    /// The directories whose keys should be counted, so that a huge one is not watched for the
    /// sake of a few locks.
    pub fn uncounted(&self) -> Vec<Vec<u8>> {
        let uncounted = self.directories.iter().filter(|(_, directory)| directory.size == Size::Unknown);
        uncounted.map(|(path, _)| path.clone()).collect()
    }

    /// Takes in how many keys a directory has.
    pub fn counted(&mut self, directory: &[u8], keys: i64) {
        if let Some(found) = self.directories.get_mut(directory) {
            found.size = if keys > MANY_KEYS { Size::Many } else { Size::Fine };
            if found.size == Size::Fine {
                found.groups.clear();
            }
        }
    }

    /// The places that lead to ranges, before these are joined.
    pub fn places(&self) -> Vec<KeyRange> {
        let mut places: Vec<_> = self.singles.iter().map(|key| KeyRange::single(key)).collect();
        for (path, directory) in &self.directories {
            if directory.size == Size::Fine {
                places.push(KeyRange::prefix(path));
            } else {
                places.extend(directory.groups.iter().map(|group| KeyRange::prefix(group)));
            }
        }
        places
    }

    /// How many places there are.
    pub fn len(&self) -> usize {
        let in_directories = self.directories.values().map(|directory| directory.groups.len().max(1)).sum::<usize>();
        self.singles.len() + in_directories
    }

    /// Takes in which of these places hold no key now. One that held none the last time either
    /// is forgotten: a lock between two holders is empty for a moment only.
    pub fn looked_at(&mut self, places: Vec<(KeyRange, bool)>) {
        let mut gone = BTreeSet::new();
        for (place, is_empty) in places {
            if !is_empty {
                self.empty.remove(&place);
            } else if self.empty.remove(&place) {
                gone.insert(place);
            } else {
                self.empty.insert(place);
            }
        }
        if gone.is_empty() {
            return;
        }
        self.singles.retain(|key| !gone.contains(&KeyRange::single(key)));
        self.directories.retain(|path, directory| {
            if directory.size == Size::Fine {
                return !gone.contains(&KeyRange::prefix(path));
            }
            directory.groups.retain(|group| !gone.contains(&KeyRange::prefix(group)));
            !directory.groups.is_empty()
        });
    }

    /// The ranges: disjoint, in key order, no more than [`MOST_RANGES`].
    pub fn ranges(&self) -> Vec<KeyRange> {
        let mut prefixes = BTreeSet::new();
        for (path, directory) in &self.directories {
            if directory.size == Size::Fine {
                prefixes.insert(path.clone());
            } else {
                prefixes.extend(directory.groups.iter().cloned());
            }
        }
        let prefixes = outermost(&prefixes);
        let covered = |key: &[u8]| innermost_before(&prefixes, key).is_some_and(|prefix| key.starts_with(prefix));
        let singles: BTreeSet<_> = self.singles.iter().filter(|key| !covered(key)).cloned().collect();
        let (prefixes, singles) = at_most(MOST_RANGES, prefixes, singles);
        let mut ranges: Vec<_> = prefixes.iter().map(|prefix| KeyRange::prefix(prefix)).collect();
        ranges.extend(singles.iter().map(|key| KeyRange::single(key)));
        ranges.sort();
        ranges
    }
}

/// The ranges with nothing twice: sorted, those inside others dropped, overlaps joined.
pub fn disjoint(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.sort();
    let mut kept: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match kept.last_mut() {
            Some(last) if last.contains(&range.start) => {
                if bound(&range) > bound(last) {
                    last.end = range.end;
                }
            }
            _ => kept.push(range),
        }
    }
    kept
}

/// Which of these items, whose ranges are disjoint and sorted, holds `key`.
pub fn holder_of<T>(items: &[T], range: impl Fn(&T) -> &KeyRange, key: &[u8]) -> Option<usize> {
    let behind = items.partition_point(|item| range(item).start.as_bytes() <= key);
    let at = behind.checked_sub(1)?;
    range(&items[at]).contains(key).then_some(at)
}

/// The smallest range around all of these.
pub fn hull(ranges: &[KeyRange]) -> Option<KeyRange> {
    let start = ranges.iter().map(|range| &range.start).min()?.clone();
    let end = match ranges.iter().map(bound).max()? {
        Bound::Before(key) => key,
        Bound::Open => Key::from("\0"),
    };
    Some(KeyRange { start, end })
}

/// Where a range ends, in an order that fits etcd's special values.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Bound {
    Before(Key),
    Open,
}

fn bound(range: &KeyRange) -> Bound {
    match range.end.as_bytes() {
        [] => Bound::Before(range.start.successor()),
        [0] => Bound::Open,
        _ => Bound::Before(range.end.clone()),
    }
}

fn home(key: &[u8]) -> Home {
    if DATA.iter().any(|directory| key.starts_with(directory)) {
        return Home::Nowhere;
    }
    let Some(last_slash) = key.iter().rposition(|&byte| byte == b'/') else { return Home::Alone };
    // A lock's name may end in slashes: `ekkacl/lock//1f` is in the group `ekkacl/lock/`.
    let group = trim_slashes(&key[..last_slash]);
    if group.is_empty() {
        return Home::Alone;
    }
    let directory = match parent(group) {
        parent if trim_slashes(parent).is_empty() => [group, b"/"].concat(),
        parent => parent.to_vec(),
    };
    Home::In { directory, group: key[..=last_slash].to_vec() }
}

/// The directory around a path, with its closing slash; empty when there is none.
fn parent(path: &[u8]) -> &[u8] {
    let path = trim_slashes(path);
    path.iter().rposition(|&byte| byte == b'/').map_or(&[], |slash| &path[..=slash])
}

fn trim_slashes(mut path: &[u8]) -> &[u8] {
    while let [rest @ .., b'/'] = path {
        path = rest;
    }
    path
}

fn depth(path: &[u8]) -> usize {
    trim_slashes(path).split(|&byte| byte == b'/').count() - 1
}

/// The prefixes that lie in no other.
fn outermost(prefixes: &BTreeSet<Vec<u8>>) -> BTreeSet<Vec<u8>> {
    let mut kept: Vec<&Vec<u8>> = Vec::new();
    for prefix in prefixes {
        // Sorted, a prefix stands right before all that start with it.
        if kept.last().is_none_or(|last| !prefix.starts_with(last)) {
            kept.push(prefix);
        }
    }
    kept.into_iter().cloned().collect()
}

fn innermost_before<'a>(prefixes: &'a BTreeSet<Vec<u8>>, key: &[u8]) -> Option<&'a Vec<u8>> {
    prefixes.range::<[u8], _>((std::ops::Bound::Unbounded, std::ops::Bound::Included(key))).next_back()
}

/// Joins ranges to the directories around them until there are few enough: the deepest first,
/// of these the directories that hold the most, the root last of all.
fn at_most(
    limit: usize,
    mut prefixes: BTreeSet<Vec<u8>>,
    mut singles: BTreeSet<Vec<u8>>,
) -> (BTreeSet<Vec<u8>>, BTreeSet<Vec<u8>>) {
    while prefixes.len() + singles.len() > limit {
        let all = || prefixes.iter().chain(&singles);
        let Some(deepest) = all().map(|path| depth(path)).max() else { break };
        let mut parents: BTreeMap<&[u8], usize> = BTreeMap::new();
        for path in all().filter(|path| depth(path) == deepest) {
            *parents.entry(parent(path)).or_default() += 1;
        }
        let mut parents: Vec<_> = parents.into_iter().map(|(path, members)| (members, path.to_vec())).collect();
        parents.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut excess = prefixes.len() + singles.len() - limit;
        for (members, path) in parents {
            if excess == 0 {
                break;
            }
            prefixes.insert(path);
            excess = excess.saturating_sub(members - 1);
        }
        prefixes = outermost(&prefixes);
        singles.retain(|key| innermost_before(&prefixes, key).is_none_or(|prefix| !key.starts_with(prefix)));
    }
    (prefixes, singles)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn cover(keys: &[&str]) -> Vec<String> {
        let mut cover = Cover::default();
        for key in keys {
            cover.add(key.as_bytes());
        }
        labels(&cover)
    }

    /// The ranges when no directory is large but those that are known to be.
    fn labels(cover: &Cover) -> Vec<String> {
        let mut cover = cover.clone();
        for directory in cover.uncounted() {
            cover.counted(&directory, 1);
        }
        let name = |range: &KeyRange| {
            let star = if range.end.is_empty() { "" } else { "*" };
            format!("{}{star}", String::from_utf8_lossy(range.label()))
        };
        cover.ranges().iter().map(name).collect()
    }

    #[test]
    fn a_lock_leads_to_the_directory_that_holds_its_group() {
        assert_eq!(cover(&["/jobs/reindex/1f"]), ["/jobs/*"]);
        assert_eq!(cover(&["by-dev/meta/session/proxy-7"]), ["by-dev/meta/*"]);
        assert_eq!(cover(&["/ekkacl/lock//1f"]), ["/ekkacl/*"]);
    }

    #[test]
    fn a_group_at_the_root_leads_to_itself() {
        assert_eq!(cover(&["/mylock/1f"]), ["/mylock/*"]);
        assert_eq!(cover(&["mylock/1f"]), ["mylock/*"]);
        assert_eq!(cover(&["//mylock/1f"]), ["//mylock/*"]);
    }

    #[test]
    fn a_key_without_a_group_stands_alone() {
        assert_eq!(cover(&["lock", "/lock", "//lock"]), ["//lock", "/lock", "lock"]);
    }

    #[test]
    fn ranges_inside_others_are_dropped() {
        assert_eq!(cover(&["/jobs/a/b/c/1f", "/jobs/a/2f", "/jobs", "/jobs/x"]), ["/jobs", "/jobs/*"]);
    }

    #[test]
    fn expiring_data_of_kubernetes_leads_nowhere() {
        assert_eq!(cover(&["/registry/events/default/x", "/registry/masterleases/10.0.0.1"]), Vec::<String>::new());
    }

    #[test]
    fn a_directory_with_very_many_keys_is_left_for_the_groups() {
        let mut cover = Cover::default();
        cover.add(b"/data/locks/a/1f");
        cover.add(b"/data/locks/b/2f");
        assert_eq!(cover.uncounted(), [b"/data/locks/"]);
        cover.counted(b"/data/locks/", MANY_KEYS + 1);
        assert_eq!(labels(&cover), ["/data/locks/a/*", "/data/locks/b/*"]);
        assert!(cover.add(b"/data/locks/c/3f"), "a new group is a new range now");
        assert!(!cover.add(b"/data/locks/c/4f"));
        assert_eq!(cover.uncounted(), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn a_directory_that_was_not_counted_is_left_for_its_groups() {
        let mut cover = Cover::default();
        cover.add(b"/data/locks/a/1f");
        assert_eq!(cover.ranges(), [KeyRange::prefix(b"/data/locks/a/")]);
        cover.counted(b"/data/locks/", 1);
        assert_eq!(cover.ranges(), [KeyRange::prefix(b"/data/locks/")]);
        assert!(!cover.add(b"/data/locks/b/2f"));
        assert_eq!(cover.len(), 1, "groups are kept of large directories only");
    }

    #[test]
    fn what_holds_no_key_twice_running_is_forgotten() {
        let mut cover = Cover::default();
        for key in ["/jobs/7/lock/1f", "/large/a/1f", "/large/b/1f", "alone"] {
            cover.add(key.as_bytes());
        }
        for (directory, keys) in [("/jobs/7/", 1), ("/large/", MANY_KEYS + 1)] {
            cover.counted(directory.as_bytes(), keys);
        }
        let all = ["/jobs/7/*", "/large/a/*", "/large/b/*", "alone"];
        let look = |cover: &mut Cover, held: &[&[u8]]| {
            let places = cover.places().into_iter();
            let looked = places.map(|place| (place.clone(), !held.contains(&place.label()))).collect();
            cover.looked_at(looked);
        };
        assert_eq!((labels(&cover), cover.len()), (all.map(String::from).to_vec(), 4));
        look(&mut cover, &[b"/large/a/"]);
        look(&mut cover, &[b"/jobs/7/", b"/large/a/", b"/large/b/", b"alone"]);
        look(&mut cover, &[b"/large/a/"]);
        assert_eq!(labels(&cover), all, "not twice running");
        cover.add(b"/jobs/7/lock/2f");
        look(&mut cover, &[b"/large/a/"]);
        assert_eq!(labels(&cover), ["/jobs/7/*", "/large/a/*"], "a new key counts");
        look(&mut cover, &[]);
        look(&mut cover, &[]);
        assert_eq!((cover.len(), cover), (0, Cover::default()));
    }

    #[test]
    fn too_many_ranges_are_joined_where_most_of_them_are() {
        let mut cover = Cover::default();
        for n in 0..300 {
            cover.add(format!("/apps/{n}/locks/l/1f").as_bytes());
        }
        cover.add(b"/jobs/reindex/1f");
        cover.add(b"alone");
        assert_eq!(labels(&cover), ["/apps/*", "/jobs/*", "alone"]);
        for n in 0..300 {
            cover.add(format!("/root{n}/1f").as_bytes());
        }
        assert_eq!(labels(&cover), ["/*", "alone"]);
        for n in 0..300 {
            cover.add(format!("root{n}").as_bytes());
        }
        assert_eq!(cover.ranges(), [KeyRange::prefix(b"")]);
    }

    #[test]
    fn overlapping_prefixes_become_disjoint() {
        let prefixes = ["/b/", "/a/", "/a/x/", "/b/", "/a/"].map(|prefix| KeyRange::prefix(prefix.as_bytes()));
        assert_eq!(disjoint(prefixes.to_vec()), [KeyRange::prefix(b"/a/"), KeyRange::prefix(b"/b/")]);
        let all = vec![KeyRange::prefix(b"/a/"), KeyRange::prefix(b""), KeyRange::single(b"z")];
        assert_eq!(disjoint(all), [KeyRange::prefix(b"")]);
        let twice = vec![KeyRange::single(b"k"), KeyRange::prefix(b"k")];
        assert_eq!(disjoint(twice), [KeyRange::prefix(b"k")]);
    }

    #[test]
    fn a_hull_reaches_around_all_ranges() {
        let ranges = [KeyRange::prefix(b"/a/"), KeyRange::single(b"/z")];
        let hull = hull(&ranges).unwrap();
        assert!(hull.contains(b"/a/") && hull.contains(b"/m") && hull.contains(b"/z") && !hull.contains(b"/z\0"));
        assert!(super::hull(&[KeyRange::prefix(b"\xff"), KeyRange::single(b"a")]).unwrap().contains(b"\xff\xff\xff"));
        assert_eq!(super::hull(&[]), None);
    }

    /// Keys of few, short segments, so that they meet.
    fn key() -> impl Strategy<Value = Vec<u8>> {
        let segment = prop_oneof![
            Just(""),
            Just("a"),
            Just("b"),
            Just("locks"),
            Just("registry"),
            Just("events"),
            Just("\u{ff}")
        ];
        vec(segment, 1..6)
            .prop_map(|segments| segments.join("/").into_bytes())
            .prop_filter("etcd has no empty key", |key| !key.is_empty())
    }

    /// Enough different directories to need joining.
    fn many_keys() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let wide = (0..400_u32, 0..3_u32).prop_map(|(n, depth)| match depth {
            0 => format!("/top{n}/1f"),
            1 => format!("/apps/{n}/locks/1f"),
            _ => format!("single{n}"),
        });
        vec(prop_oneof![key(), wide.prop_map(String::into_bytes)], 0..600)
    }

    proptest! {
        #[test]
        fn every_key_is_in_exactly_one_of_few_ranges(keys in many_keys(), many in any::<bool>()) {
            let mut cover = Cover::default();
            for key in &keys {
                cover.add(key);
            }
            for directory in cover.uncounted() {
                cover.counted(&directory, if many { MANY_KEYS + 1 } else { 1 });
            }
            let ranges = cover.ranges();
            prop_assert!(ranges.len() <= MOST_RANGES);
            prop_assert_eq!(&disjoint(ranges.clone()), &ranges, "disjoint and sorted");
            for key in keys.iter().filter(|key| !DATA.iter().any(|data| key.starts_with(data))) {
                let holders = ranges.iter().filter(|range| range.contains(key)).count();
                prop_assert_eq!(holders, 1);
                prop_assert!(ranges[holder_of(&ranges, |range| range, key).unwrap()].contains(key));
                // whoever else queues there is seen as well
                if let Home::In { group, .. } = home(key) {
                    let neighbour = [&group[..], b"neighbour"].concat();
                    prop_assert!(holder_of(&ranges, |range| range, &neighbour).is_some());
                }
            }
        }

        #[test]
        fn the_order_of_keys_does_not_matter(keys in many_keys()) {
            let (mut forth, mut back) = (Cover::default(), Cover::default());
            for key in &keys {
                forth.add(key);
            }
            for key in keys.iter().rev() {
                back.add(key);
            }
            prop_assert_eq!(forth.ranges(), back.ranges());
        }

        #[test]
        fn a_key_that_changes_nothing_says_so(keys in vec(key(), 0..40)) {
            let mut cover = Cover::default();
            for key in &keys {
                let before = cover.ranges();
                if !cover.add(key) {
                    prop_assert_eq!(cover.ranges(), before);
                }
            }
        }

        #[test]
        fn joined_ranges_hold_what_they_held(prefixes in vec(key(), 0..12), probe in key()) {
            let ranges: Vec<_> = prefixes.iter().map(|prefix| KeyRange::prefix(prefix)).collect();
            let held = ranges.iter().any(|range| range.contains(&probe));
            prop_assert_eq!(holder_of(&disjoint(ranges), |range| range, &probe).is_some(), held);
        }
    }
}
