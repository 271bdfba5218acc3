//! lockscope: an inspector and playground for etcd locks and Raft state.
#![forbid(unsafe_code)]

pub mod chance;
pub mod cli;
pub mod config;
pub mod control;
pub mod domain;
pub mod effect;
pub mod embedded;
pub mod engine;
pub mod event;
pub mod input;
pub mod lang;
pub mod layout;
pub mod model;
pub mod mvcc;
pub mod nearest;
pub mod operate;
pub mod pace;
pub mod playground;
pub mod port;
pub mod raft;
pub mod recipe;
pub mod record;
pub mod runtime;
pub mod server;
pub mod source;
pub mod update;
pub mod view;
pub mod wheel;
