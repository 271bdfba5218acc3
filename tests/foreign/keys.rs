//! Keys: written, read in every way, watched.

use crate::ctl::on_every_cluster;

/// What follows etcdctl's keys and values in `text`.
fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

#[test]
fn keys_are_put_read_and_deleted_at_every_member() {
    on_every_cluster("keys_are_put_read_and_deleted_at_every_member", |ctl, _| {
        assert_eq!(ctl.run(&["put", "a", "1"]), "OK\n");
        for n in 0..3 {
            let at = ctl.at(n);
            assert_eq!(at.run(&["put", "--prev-kv", "a", &format!("{}", n + 2)]), format!("OK\na\n{}\n", n + 1));
            // Whoever is asked next has it.
            assert_eq!(ctl.at((n + 1) % 3).run(&["get", "a", "--print-value-only"]), format!("{}\n", n + 2));
        }
        for (key, value) in [("b/1", "x"), ("b/2", "y"), ("c", "z")] {
            ctl.run(&["put", key, value]);
        }
        assert_eq!(lines(&ctl.run(&["get", "--prefix", "b/"])), ["b/1", "x", "b/2", "y"]);
        assert_eq!(lines(&ctl.run(&["get", "--from-key", "b/2", "--limit=1"])), ["b/2", "y"]);
        let backwards = ctl.run(&["get", "--prefix", "", "--order=DESCEND", "--sort-by=CREATE", "--print-value-only"]);
        assert_eq!(lines(&backwards), ["z", "y", "x", "4"]);
        assert_eq!(lines(&ctl.run(&["get", "a", "b/2"])), ["a", "4", "b/1", "x"]);
        let told = ctl.json(&["get", "a"]);
        let (header, kv) = (&told["header"], &told["kvs"][0]);
        assert_eq!(kv["version"], 4);
        assert_eq!(kv["mod_revision"].as_u64(), header["revision"].as_u64().map(|now| now - 3));
        assert_eq!(kv["create_revision"].as_u64(), header["revision"].as_u64().map(|now| now - 6));
        assert_eq!(ctl.run(&["del", "--prefix", "--prev-kv", "b/"]), "2\nb/1\nx\nb/2\ny\n");
        assert_eq!(ctl.run(&["del", "b/1"]), "0\n");
    });
}

#[test]
fn the_past_is_read_until_it_is_compacted() {
    on_every_cluster("the_past_is_read_until_it_is_compacted", |ctl, _| {
        for value in ["1", "2", "3"] {
            ctl.run(&["put", "a", value]);
        }
        let now = ctl.json(&["get", "a"])["header"]["revision"].as_u64().expect("a revision");
        let rev = |back: u64| format!("--rev={}", now - back);
        for n in 0..3 {
            assert_eq!(ctl.at(n).run(&["get", "a", &rev(2), "--print-value-only"]), "1\n");
            // The member itself may be behind, so that it is asked until it is not.
            ctl.at(n).until(&["get", "a", &rev(0), "--consistency=s"], |said| said == "a\n3\n");
        }
        assert_eq!(ctl.run(&["compaction", &(now - 1).to_string()]), format!("compacted revision {}\n", now - 1));
        for n in 0..3 {
            ctl.at(n).fails_with(&["get", "a", &rev(2)], "etcdserver: mvcc: required revision has been compacted");
            assert_eq!(ctl.at(n).run(&["get", "a", &rev(1), "--print-value-only"]), "2\n");
            let future = format!("--rev={}", now + 9);
            ctl.at(n).fails_with(&["get", "a", &future], "etcdserver: mvcc: required revision is a future revision");
        }
        let again = ["compaction", &(now - 1).to_string()];
        ctl.fails_with(&again, "etcdserver: mvcc: required revision has been compacted");
        ctl.fails_with(&["watch", "a", &rev(2)], "watch is canceled by the server");
    });
}

#[test]
fn a_transaction_writes_one_branch_at_one_revision() {
    on_every_cluster("a_transaction_writes_one_branch_at_one_revision", |ctl, _| {
        let create = "create(\"t/1\") = \"0\"\n\nput t/1 one\nput t/2 two\nget t/1\n\nget --prefix t/\n\n";
        assert_eq!(ctl.run_with(&["txn"], create), "SUCCESS\n\nOK\n\nOK\n\nt/1\none\n");
        assert_eq!(ctl.run_with(&["txn"], create), "FAILURE\n\nt/1\none\nt/2\ntwo\n");
        let keys = &ctl.json(&["get", "--prefix", "t/"])["kvs"];
        assert_eq!(keys[0]["create_revision"], keys[1]["create_revision"]);
        let swap = "val(\"t/1\") = \"one\"\nversion(\"t/2\") > \"0\"\nmod(\"t/none\") = \"0\"\n\ndel t/1\n\n\n";
        assert_eq!(ctl.run_with(&["txn"], swap), "SUCCESS\n\n1\n");
        assert_eq!(ctl.run(&["get", "--prefix", "t/", "--keys-only"]), "t/2\n\n");
    });
}

#[test]
fn a_watch_tells_of_old_and_new_changes_with_what_was_before() {
    on_every_cluster("a_watch_tells_of_old_and_new_changes_with_what_was_before", |ctl, _| {
        ctl.run(&["put", "p/a", "0"]);
        ctl.run(&["put", "q", "not watched"]);
        let start = ctl.json(&["get", "p/a"])["kvs"][0]["mod_revision"].as_u64().expect("a revision");
        let mut watch = ctl.at(1).start(&["watch", "--prefix", "--prev-kv", &format!("--rev={start}"), "p/"]);
        assert_eq!(watch.lines(), ["PUT", "p/a", "0"]);
        ctl.at(2).run(&["put", "p/a", "1"]);
        assert_eq!(watch.lines(), ["PUT", "p/a", "0", "p/a", "1"]);
        ctl.at(0).run(&["del", "p/a"]);
        assert_eq!(watch.lines(), ["DELETE", "p/a", "1", "p/a", ""]);
        ctl.run_with(&["txn"], "\nput p/x 1\nput q 2\nput p/y 2\n\n\n");
        assert_eq!(watch.lines(), ["PUT", "p/x", "1", "PUT", "p/y", "2"]);
    });
}

#[test]
fn progress_is_told_to_who_asks() {
    on_every_cluster("progress_is_told_to_who_asks", |ctl, _| {
        if !ctl.version.at_least(3, 5, 0) {
            return; // older ones cannot ask
        }
        let mut watch = ctl.at(2).start(&["watch", "--interactive"]);
        watch.say("watch --prefix --progress-notify p/ --rev=1");
        ctl.run(&["put", "p/a", "1"]);
        assert_eq!(watch.lines(), ["PUT", "p/a", "1"]);
        watch.say("progress");
        let now = ctl.json(&["get", "p/a"])["header"]["revision"].clone();
        assert_eq!(watch.line(), format!("progress notify: {now}"));
    });
}
